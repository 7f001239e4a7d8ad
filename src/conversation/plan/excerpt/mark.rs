//! What stands where text was left out.

/// The mark of one excerpt.
pub(super) struct Mark {
    total: i64,
    hash: Option<u128>,
}

impl Mark {
    pub(super) fn new(text: &str, total: i64, hash: bool) -> Self {
        Self { total, hash: hash.then(|| hash_of(text)) }
    }

    /// The mark when so many tokens are shown.
    pub(super) fn write(&self, shown: i64) -> String {
        let left_out = grouped(self.total.saturating_sub(shown).max(0));
        let total = grouped(self.total);
        match self.hash {
            None => format!("[… {left_out} of {total} tokens left out …]"),
            Some(hash) => {
                format!("[… {left_out} of {total} tokens left out, the whole is {hash:032x} …]")
            }
        }
    }
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
        let mark = Mark::new("", 100_000, false).write(2_690);
        assert_eq!(mark, "[… 97,310 of 100,000 tokens left out …]");
        // The published value of FNV-1a 128 for no bytes and for "a".
        let empty = Mark::new("", 5, true).write(5);
        assert!(empty.contains("6c62272e07bb014262b821756295c58d"), "{empty}");
        let a = Mark::new("a", 5, true).write(5);
        assert!(a.contains("d228cb696f1a8caf78912b704e4a8964"), "{a}");
    }
}
