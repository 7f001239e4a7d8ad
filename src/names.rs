//! Short names for the user's types, and texts that differ only in case.

use std::cmp::Ordering;

/// The last segment of a type's path, without its parameters.
pub(crate) fn short_type_name<T: ?Sized>() -> &'static str {
    let full = std::any::type_name::<T>();
    let path = full.split('<').next().unwrap_or(full);
    path.rsplit("::").next().unwrap_or(path)
}

/// Orders texts without regard to ASCII case.
pub(crate) fn cmp_ignoring_case(a: &str, b: &str) -> Ordering {
    let a = a.bytes().map(|byte| byte.to_ascii_lowercase());
    a.cmp(b.bytes().map(|byte| byte.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_and_its_parameters_are_left_out() {
        assert_eq!(super::short_type_name::<std::collections::BTreeMap<String, u8>>(), "BTreeMap");
        assert_eq!(super::short_type_name::<u8>(), "u8");
    }
}
