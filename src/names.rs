//! Short names of types, texts without regard to case, and numbers as people read them.

use std::cmp::Ordering;
use std::fmt;

/// The last segment of a type's path, without its parameters.
pub(crate) fn short_type_name<T: ?Sized>() -> &'static str {
    let full = std::any::type_name::<T>();
    let path = full.split('<').next().unwrap_or(full);
    path.rsplit("::").next().unwrap_or(path)
}

/// Tells the type of a built-in scorer, slicer, placer or judge, for a policy that is written as data.
macro_rules! as_any {
    () => {
        fn as_any(&self) -> Option<&dyn std::any::Any> {
            Some(self)
        }
    };
}
pub(crate) use as_any;

/// Orders texts without regard to ASCII case.
pub(crate) fn cmp_ignoring_case(a: &str, b: &str) -> Ordering {
    let a = a.bytes().map(|byte| byte.to_ascii_lowercase());
    a.cmp(b.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// A number in groups of three digits: `10,636`.
pub(crate) struct GroupedNumber(pub(crate) i64);

impl fmt::Display for GroupedNumber {
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
    use super::GroupedNumber;

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
            assert_eq!(GroupedNumber(number).to_string(), text);
        }
        assert_eq!(format!("{:>7}", GroupedNumber(1_000)), "  1,000");
    }

    #[test]
    fn a_path_and_its_parameters_are_left_out() {
        assert_eq!(super::short_type_name::<std::collections::BTreeMap<String, u8>>(), "BTreeMap");
        assert_eq!(super::short_type_name::<u8>(), "u8");
    }
}
