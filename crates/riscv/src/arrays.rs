//! Arrays in a snapshot, in forms that serde does not have.

/// Arrays of any length, which serde does not have.
pub(crate) mod long_array {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer, const N: usize>(
        array: &[T; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(array)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<[T; N], D::Error> {
        let found = Vec::<T>::deserialize(deserializer)?;
        let len = found.len();
        found.try_into().map_err(|_| D::Error::invalid_length(len, &"the array's length"))
    }
}

/// The 32 registers that exist of a longer array.
pub(crate) mod registers {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(all: &[u64; 256], serializer: S) -> Result<S::Ok, S::Error> {
        let mut existing = [0; 32];
        existing.copy_from_slice(&all[..32]);
        existing.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<[u64; 256]>, D::Error> {
        let existing = <[u64; 32]>::deserialize(deserializer)?;
        let mut all = Box::new([0; 256]);
        all[..32].copy_from_slice(&existing);
        Ok(all)
    }
}
