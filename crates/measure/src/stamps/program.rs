//! A BPF program that stamps events: two dozen instructions (the context of a raw tracepoint: linux/bpf.h).

use crate::bpf::code::{
    ADD, ADD_REGISTER, ATOMIC, CALL, EXIT, FETCH_ADD, IF_EQUAL, IF_NOT_BELOW, IF_NOT_BELOW_REGISTER,
    Instruction, KTIME_GET_NS, LOAD, LOAD_MAP, MAP_FD, MAP_LOOKUP_ELEM, MOVE, R0, R1, R2, R6, R7, R8, R9,
    R10, SET, SHIFT_LEFT, STORE, STORE_WORD, SUBTRACT_REGISTER, op,
};

/// Bytes of a stamp in the map: nanoseconds of CLOCK_MONOTONIC, then the address.
pub(super) const STAMP: usize = 16;
/// Bytes of the map before the first stamp: how many events were seen, then where the watched
/// memory begins and how long it is.
pub(super) const HEAD: usize = 24;

/// Stamps events whose address, the tracepoint's argument of this number, is within the bounds in the map, up to `room`
/// of them. The clock is read first, so that what follows is not in the stamp.
///
/// Addresses are watched and not threads, because a thread has another number in each namespace; whose event it
/// was is settled by the windows that stamps are matched with. Several CPUs may stamp at once, so each takes its place
/// by an atomic addition.
pub(super) fn stamp_events(map: i32, argument: i16, room: i32) -> Vec<Instruction> {
    let mut code = vec![
        op(MOVE, R6, R1, 0, 0),
        op(CALL, 0, 0, 0, KTIME_GET_NS),
        op(MOVE, R8, R0, 0, 0),
        op(LOAD, R9, R6, 8 * argument, 0),
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
        // Counted also when there is no room, so lost stamps are known.
        op(SET, R1, 0, 0, 1),
        op(ATOMIC, R7, R1, 0, FETCH_ADD),
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
    fn every_jump_ends_at_the_common_end() {
        let code = stamp_events(3, 2, 1024);
        let end = code.len() - 2;
        let jumps: Vec<usize> = (0..code.len())
            .filter(|&at| [IF_EQUAL, IF_NOT_BELOW_REGISTER, IF_NOT_BELOW].contains(&code[at][0]))
            .map(|at| at + 1 + usize::from(u16::from_ne_bytes([code[at][2], code[at][3]])))
            .collect();
        assert_eq!(jumps, [end, end, end]);
        assert_eq!(code[end + 1][0], EXIT);
        assert_eq!(code[3], op(LOAD, R9, R6, 16, 0), "the third argument");
    }
}
