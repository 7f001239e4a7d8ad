//! Token counts as people read them.

use std::fmt;

/// A number in groups of three digits: `10,636`.
pub(super) struct Grouped(pub(super) i64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.unsigned_abs().to_string();
        let mut text = String::from(if self.0 < 0 { "-" } else { "" });
        for (position, digit) in digits.chars().enumerate() {
            if position > 0 && (digits.len() - position) % 3 == 0 {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::Grouped;

    #[test]
    fn digits_come_in_threes() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (-10_636, "-10,636"),
            (123_456_789, "123,456,789"),
            (i64::MIN, "-9,223,372,036,854,775,808"),
        ] {
            assert_eq!(Grouped(number).to_string(), text);
        }
        assert_eq!(format!("{:>7}", Grouped(1_000)), "  1,000");
    }
}
