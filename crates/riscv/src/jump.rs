//! The tables of jump targets.

pub(crate) const JUMP_ENTRIES: usize = 1 << 14;

/// An entry of the table of jump targets.
#[derive(Clone, Copy)]
pub(crate) struct Jump {
    pub(crate) pc: u64,
    pub(crate) context: u32,
    pub(crate) start: u16,
}

impl Jump {
    /// An entry that no address matches.
    pub(crate) const NOWHERE: Jump = Jump { pc: 1, context: 0, start: 0 };
}

#[inline(always)]
pub(crate) fn jump_index(pc: u64) -> usize {
    (pc >> 1) as usize & (JUMP_ENTRIES - 1)
}

/// An array that is made on the heap at once.
pub fn boxed<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
    match vec![value; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("the vector has N elements"),
    }
}
