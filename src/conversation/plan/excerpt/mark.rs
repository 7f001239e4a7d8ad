//! Notes that stand where text was left out.

/// The size of a text and, if it is wanted, the hash of it: for the first note of its excerpt.
pub(super) struct Mark {
    total: i64,
    hash: Option<u128>,
}

impl Mark {
    pub(super) fn new(text: &str, total: i64, hash: bool) -> Self {
        Self { total, hash: hash.then(|| hash_of(text)) }
    }

    /// The mark when so many tokens are shown, and `missing` names what is left out there.
    pub(super) fn write(&self, shown: i64, missing: &str) -> String {
        let comma = if missing.is_empty() { "" } else { ", " };
        let left_out = grouped(self.total.saturating_sub(shown).max(0));
        let total = grouped(self.total);
        let whole = self.hash.map(|hash| format!(", the whole is {hash:032x}"));
        let whole = whole.unwrap_or_default();
        format!("[… {missing}{comma}{left_out} of {total} tokens left out{whole} …]")
    }

    /// The mark alone, and short.
    pub(super) fn without_hash(&self) -> String {
        Self { hash: None, ..*self }.write(0, "")
    }
}

/// The notes of one excerpt, in their order.
pub(super) struct Notes<'a> {
    mark: Option<&'a Mark>,
    shown: i64,
}

impl<'a> Notes<'a> {
    pub(super) fn new(mark: &'a Mark, shown: i64) -> Self {
        Self { mark: Some(mark), shown }
    }

    /// Returns true if no note was written yet.
    pub(super) fn is_unused(&self) -> bool {
        self.mark.is_some()
    }

    /// The next note: the mark, and after it notes of what is missing where they stand.
    pub(super) fn next(&mut self, missing: &str) -> String {
        match self.mark.take() {
            Some(mark) => mark.write(self.shown, missing),
            None => format!("[… {missing} …]"),
        }
    }
}

/// A number of things that are left out.
pub(super) fn number_of(number: usize, things: &str) -> String {
    format!("{} {things}", grouped(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// FNV-1a: the same on every machine and in every version, which the hashers of maps are not.
fn hash_of(text: &str) -> u128 {
    let mix = |hash: u128, byte: u8| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    };
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, mix)
}

/// A number with a comma before each three digits.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let written = [0, 7, 999, 1_000, 97_310, 1_234_567].map(grouped);
        assert_eq!(written, ["0", "7", "999", "1,000", "97,310", "1,234,567"]);
    }

    #[test]
    fn the_mark_names_sizes_and_the_whole() {
        let mark = Mark::new("", 100_000, false).write(2_690, "");
        assert_eq!(mark, "[… 97,310 of 100,000 tokens left out …]");
        // The published value of FNV-1a 128 for no bytes and for "a".
        let empty = Mark::new("", 5, true).write(5, "");
        assert!(empty.contains("6c62272e07bb014262b821756295c58d"), "{empty}");
        let a = Mark::new("a", 5, true).write(5, "");
        assert!(a.contains("d228cb696f1a8caf78912b704e4a8964"), "{a}");
    }
}
