//! Zcmp's operands (unprivileged specification, 28.13): lists of registers, by how much `sp` changes, and saved registers in three
//! bits.

/// The encoding of the shortest list, `{ra}`; smaller numbers are reserved.
pub(crate) const FEWEST: u8 = 4;
/// That of the longest list, `{ra, s0-s11}`. No list ends with `s10`.
pub(crate) const MOST: u8 = 15;

/// The registers of a list: `ra`, `s0` to `s11`.
const ALL: [u8; 13] = [1, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];

/// The registers of a list, from the lowest address up.
pub(crate) fn list(encoded: u8) -> &'static [u8] {
    let count = usize::from(encoded.saturating_sub(FEWEST - 1)) + usize::from(encoded == MOST);
    &ALL[..count.min(ALL.len())]
}

/// The bytes for the registers of a list of words of so many bytes, a multiple of 16.
pub(crate) fn room(encoded: u8, word: i64) -> i64 {
    (list(encoded).len() as i64 * word + 15) & !15
}

/// `s0` to `s7` by three bits.
pub(super) const fn saved(bits: u32) -> u8 {
    let n = (bits & 7) as u8;
    if n < 2 { 8 + n } else { 16 + n }
}

/// The three bits of a saved register.
pub(super) const fn bits(register: u8) -> u32 {
    register as u32 & 7
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unprivileged specification, 28.13.3: `stack_adj_base` for RV32I and RV64.
    #[test]
    fn lists_and_their_room_are_those_of_the_specification() {
        let lengths: Vec<_> = (FEWEST..=MOST).map(|encoded| list(encoded).len()).collect();
        assert_eq!(lengths, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13]);
        let rooms = |word| (FEWEST..=MOST).map(|encoded| room(encoded, word)).collect::<Vec<_>>();
        assert_eq!(rooms(4), [16, 16, 16, 16, 32, 32, 32, 32, 48, 48, 48, 64]);
        assert_eq!(rooms(8), [16, 16, 32, 32, 48, 48, 64, 64, 80, 80, 96, 112]);
        assert_eq!([0, 1, 2, 7].map(saved), [8, 9, 18, 23]);
    }
}
