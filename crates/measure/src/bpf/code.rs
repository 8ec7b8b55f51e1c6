//! BPF programs assembled by hand, so that no compiler for BPF is needed (RFC 9669; helper numbers from linux/bpf.h).

/// One instruction as the kernel reads it: code, registers, offset, immediate (RFC 9669, section 3.1).
pub(crate) type Instruction = [u8; 8];

pub(crate) const R0: u8 = 0;
pub(crate) const R1: u8 = 1;
pub(crate) const R2: u8 = 2;
/// Kept over calls: the context, the map's value, the time, the address.
pub(crate) const R6: u8 = 6;
pub(crate) const R7: u8 = 7;
pub(crate) const R8: u8 = 8;
pub(crate) const R9: u8 = 9;
/// The frame, read only.
pub(crate) const R10: u8 = 10;

pub(crate) const LOAD_MAP: u8 = 0x18; // BPF_LD | BPF_IMM | BPF_DW, two instructions
pub(crate) const LOAD: u8 = 0x79; // BPF_LDX | BPF_MEM | BPF_DW
pub(crate) const STORE: u8 = 0x7b; // BPF_STX | BPF_MEM | BPF_DW
pub(crate) const STORE_WORD: u8 = 0x62; // BPF_ST | BPF_MEM | BPF_W
pub(crate) const MOVE: u8 = 0xbf; // BPF_ALU64 | BPF_MOV | BPF_X
pub(crate) const SET: u8 = 0xb7; // BPF_ALU64 | BPF_MOV | BPF_K
pub(crate) const ADD: u8 = 0x07; // BPF_ALU64 | BPF_ADD | BPF_K
pub(crate) const ADD_REGISTER: u8 = 0x0f; // BPF_ALU64 | BPF_ADD | BPF_X
pub(crate) const SHIFT_LEFT: u8 = 0x67; // BPF_ALU64 | BPF_LSH | BPF_K
pub(crate) const IF_EQUAL: u8 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
pub(crate) const IF_NOT_EQUAL: u8 = 0x55; // BPF_JMP | BPF_JNE | BPF_K
pub(crate) const ATOMIC: u8 = 0xdb; // BPF_STX | BPF_ATOMIC | BPF_DW; an immediate of 0 is an addition
/// Immediate of [`ATOMIC`]: an addition that leaves the value before it in the register (Linux 5.12).
pub(crate) const FETCH_ADD: i32 = 0x01;
pub(crate) const SUBTRACT_REGISTER: u8 = 0x1f; // BPF_ALU64 | BPF_SUB | BPF_X
pub(crate) const IF_NOT_BELOW_REGISTER: u8 = 0x3d; // BPF_JMP | BPF_JGE | BPF_X
pub(crate) const IF_NOT_BELOW: u8 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
pub(crate) const CALL: u8 = 0x85; // BPF_JMP | BPF_CALL
pub(crate) const EXIT: u8 = 0x95; // BPF_JMP | BPF_EXIT

pub(crate) const MAP_LOOKUP_ELEM: i32 = 1;
pub(crate) const KTIME_GET_NS: i32 = 5;
/// src of [`LOAD_MAP`] says that the immediate is a map's descriptor (BPF_PSEUDO_MAP_FD).
pub(crate) const MAP_FD: u8 = 1;
/// The same, and what is loaded is the address of the map's value (BPF_PSEUDO_MAP_VALUE, Linux 5.2).
pub(crate) const MAP_VALUE: u8 = 2;

pub(crate) fn op(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    let [o0, o1] = offset.to_ne_bytes();
    let [i0, i1, i2, i3] = immediate.to_ne_bytes();
    // The nibbles of the registers are in the order of the machine's bytes.
    let registers = if cfg!(target_endian = "little") { to | from << 4 } else { to << 4 | from };
    [code, registers, o0, o1, i0, i1, i2, i3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_are_laid_out_as_the_standard_says() {
        // RFC 9669, 3.1: opcode, then dst in the low nibble, a signed offset, a signed immediate.
        assert_eq!(op(0x7b, 7, 8, -8, 0), [0x7b, 0x87, 0xf8, 0xff, 0, 0, 0, 0]);
        assert_eq!(op(0xb7, 0, 0, 0, -2), [0xb7, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    }
}
