//! Vectors as the database holds them: numbers of 4 bytes, the lowest byte first.

/// The bytes of a vector.
pub(crate) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Puts the numbers of some bytes into a buffer. Bytes that are left over make no number.
pub(crate) fn from_bytes(bytes: &[u8], into: &mut Vec<f32>) {
    into.clear();
    let numbers = bytes.chunks_exact(4).filter_map(|four| four.first_chunk().copied());
    into.extend(numbers.map(f32::from_le_bytes));
}

/// Checks a model's vectors, one for each of `texts` texts. Returns their common length.
pub(crate) fn checked<V: AsRef<[f32]>>(vectors: &[V], texts: usize) -> Result<usize, String> {
    if vectors.len() != texts {
        return Err(format!("got {} vectors for {texts} texts", vectors.len()));
    }
    let mut lengths = vectors.iter().map(|vector| vector.as_ref().len());
    let first = lengths.next().unwrap_or_default();
    if let Some(other) = lengths.find(|length| *length != first) {
        return Err(format!("got vectors of {first} and of {other} numbers in one answer"));
    }
    if first == 0 || first > LONGEST {
        return Err(format!("got vectors of {first} numbers, expected 1 to {LONGEST}"));
    }
    if vectors.iter().any(|vector| vector.as_ref().iter().any(|number| !number.is_finite())) {
        return Err("got a vector with a number that is not finite".to_owned());
    }
    Ok(first)
}

/// The longest vector; a `vector` of PostgreSQL takes no more.
const LONGEST: usize = 16_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_back_from_their_bytes() {
        let vector = [0.1_f32, -2.5, f32::MIN_POSITIVE, 0.0, f32::MAX];
        let mut back = vec![9.0];
        from_bytes(&to_bytes(&vector), &mut back);
        assert_eq!(back, vector);
        assert_eq!(to_bytes(&[1.0]), [0, 0, 0x80, 0x3f]);
        from_bytes(&[1, 2, 3], &mut back);
        assert_eq!(back, [0.0; 0]);
    }

    #[test]
    fn vectors_that_are_none_are_refused_in_words() {
        for (vectors, texts, part) in [
            (vec![vec![1.0]], 2, "1 vectors for 2 texts"),
            (vec![vec![1.0], vec![1.0, 2.0]], 2, "of 1 and of 2 numbers"),
            (vec![vec![]], 1, "of 0 numbers"),
            (vec![vec![1.0; 16_001]], 1, "of 16001 numbers"),
            (vec![vec![1.0, f32::NAN]], 1, "not finite"),
            (vec![vec![f32::INFINITY]], 1, "not finite"),
        ] {
            let error = checked(&vectors, texts).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(checked(&[vec![1.0, 2.0], vec![0.0, 0.0]], 2), Ok(2));
    }
}
