//! A BPF program that stamps page faults: a dozen instructions, assembled by hand, so no compiler for
//! BPF is needed (RFC 9669; helper numbers and the context of a raw tracepoint from linux/bpf.h).

/// One instruction as the kernel reads it: code, registers, offset, immediate (RFC 9669, section 3.1).
pub(super) type Instruction = [u8; 8];

/// Bytes of a stamp in the map: nanoseconds of CLOCK_MONOTONIC, then the address.
pub(super) const STAMP: usize = 16;
/// Bytes of the map before the first stamp: how many faults were seen, then where the watched
/// memory begins and how long it is.
pub(super) const HEAD: usize = 24;

const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
/// Kept over calls: the context, the map's value, the time, the address.
const R6: u8 = 6;
const R7: u8 = 7;
const R8: u8 = 8;
const R9: u8 = 9;
/// The frame, read only.
const R10: u8 = 10;

const LOAD_MAP: u8 = 0x18; // BPF_LD | BPF_IMM | BPF_DW, two instructions
const LOAD: u8 = 0x79; // BPF_LDX | BPF_MEM | BPF_DW
const STORE: u8 = 0x7b; // BPF_STX | BPF_MEM | BPF_DW
const STORE_WORD: u8 = 0x62; // BPF_ST | BPF_MEM | BPF_W
const MOVE: u8 = 0xbf; // BPF_ALU64 | BPF_MOV | BPF_X
const SET: u8 = 0xb7; // BPF_ALU64 | BPF_MOV | BPF_K
const ADD: u8 = 0x07; // BPF_ALU64 | BPF_ADD | BPF_K
const ADD_REGISTER: u8 = 0x0f; // BPF_ALU64 | BPF_ADD | BPF_X
const SHIFT_LEFT: u8 = 0x67; // BPF_ALU64 | BPF_LSH | BPF_K
const IF_EQUAL: u8 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const SUBTRACT_REGISTER: u8 = 0x1f; // BPF_ALU64 | BPF_SUB | BPF_X
const IF_NOT_BELOW_REGISTER: u8 = 0x3d; // BPF_JMP | BPF_JGE | BPF_X
const IF_NOT_BELOW: u8 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const CALL: u8 = 0x85; // BPF_JMP | BPF_CALL
const EXIT: u8 = 0x95; // BPF_JMP | BPF_EXIT

const MAP_LOOKUP_ELEM: i32 = 1;
const KTIME_GET_NS: i32 = 5;
/// src of [`LOAD_MAP`] says that the immediate is a map's descriptor (BPF_PSEUDO_MAP_FD).
const MAP_FD: u8 = 1;

fn op(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    let [o0, o1] = offset.to_ne_bytes();
    let [i0, i1, i2, i3] = immediate.to_ne_bytes();
    // The nibbles of the registers are in the order of the machine's bytes.
    let registers = if cfg!(target_endian = "little") { to | from << 4 } else { to << 4 | from };
    [code, registers, o0, o1, i0, i1, i2, i3]
}

/// Stamps faults in the memory whose bounds are in the map, up to `room` of them. The context's first
/// argument is the address that faulted. The clock is read first, so that what follows is not in the stamp.
///
/// Memory is watched and not a thread, because a thread has another number in each namespace; whose fault it
/// was is settled by the windows that stamps are matched with.
pub(super) fn stamp_faults(map: i32, room: i32) -> Vec<Instruction> {
    let mut code = vec![
        op(MOVE, R6, R1, 0, 0),
        op(CALL, 0, 0, 0, KTIME_GET_NS),
        op(MOVE, R8, R0, 0, 0),
        op(LOAD, R9, R6, 0, 0),
        // The map's only element, number 0.
        op(STORE_WORD, R10, 0, -4, 0),
        op(MOVE, R2, R10, 0, 0),
        op(ADD, R2, 0, 0, -4),
        op(LOAD_MAP, R1, MAP_FD, 0, map),
        op(0, 0, 0, 0, 0),
        op(CALL, 0, 0, 0, MAP_LOOKUP_ELEM),
    ];
    let body = [
        op(MOVE, R7, R0, 0, 0),
        op(LOAD, R1, R7, 8, 0),
        op(MOVE, R2, R9, 0, 0),
        op(SUBTRACT_REGISTER, R2, R1, 0, 0),
        op(LOAD, R1, R7, 16, 0),
    ];
    let keep = [
        op(LOAD, R1, R7, 0, 0),
        op(MOVE, R2, R1, 0, 0),
        // Counted also when there is no room, so lost stamps are known.
        op(ADD, R2, 0, 0, 1),
        op(STORE, R7, R2, 0, 0),
    ];
    let write = [
        op(SHIFT_LEFT, R1, 0, 0, STAMP.trailing_zeros() as i32),
        op(ADD_REGISTER, R7, R1, 0, 0),
        op(STORE, R7, R8, HEAD as i16, 0),
        op(STORE, R7, R9, HEAD as i16 + 8, 0),
    ];
    // Each of the three jumps goes over everything up to the end.
    let to_end = |after: usize| after as i16;
    code.push(op(IF_EQUAL, R0, 0, to_end(body.len() + 1 + keep.len() + 1 + write.len()), 0));
    code.extend(body);
    code.push(op(IF_NOT_BELOW_REGISTER, R2, R1, to_end(keep.len() + 1 + write.len()), 0));
    code.extend(keep);
    code.push(op(IF_NOT_BELOW, R1, 0, to_end(write.len()), room));
    code.extend(write);
    code.extend([op(SET, R0, 0, 0, 0), op(EXIT, 0, 0, 0, 0)]);
    code
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

    #[test]
    fn every_jump_ends_at_the_common_end() {
        let code = stamp_faults(3, 1024);
        let end = code.len() - 2;
        let jumps: Vec<usize> = (0..code.len())
            .filter(|&at| [IF_EQUAL, IF_NOT_BELOW_REGISTER, IF_NOT_BELOW].contains(&code[at][0]))
            .map(|at| at + 1 + usize::from(u16::from_ne_bytes([code[at][2], code[at][3]])))
            .collect();
        assert_eq!(jumps, [end, end, end]);
        assert_eq!(code[end + 1][0], EXIT);
    }
}
