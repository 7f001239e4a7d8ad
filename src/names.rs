//! Short names for the user's types, for messages.

/// The last segment of a type's path, without its parameters.
pub(crate) fn short_type_name<T: ?Sized>() -> &'static str {
    let full = std::any::type_name::<T>();
    let path = full.split('<').next().unwrap_or(full);
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_and_its_parameters_are_left_out() {
        assert_eq!(super::short_type_name::<std::collections::BTreeMap<String, u8>>(), "BTreeMap");
        assert_eq!(super::short_type_name::<u8>(), "u8");
    }
}
