//! Memory that a run keeps for itself where a process may not have much.

use crate::refusal::Refusal;
use std::io;

/// The bytes that a probe must leave free of the memory that this process may have: the yardsticks, batches and answers of
/// a whole run take less.
const ROOM: usize = 1 << 20;

/// Refuses if what this process may still have is too little for a run.
///
/// Asked where a probe takes much at once: later, the first allocation that fails would end the process, and with it all
/// probes.
///
/// # Errors
/// A skip that names the limit.
pub fn leave_room() -> Result<(), Refusal> {
    leave(ROOM)
}

fn leave(bytes: usize) -> Result<(), Refusal> {
    // An allocator gives so much as a mapping of its own, which goes back at once.
    Vec::<u8>::new()
        .try_reserve_exact(bytes)
        .map_err(|_| Refusal::of("leave room for the run", &io::Error::from_raw_os_error(libc::ENOMEM)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_is_a_skip_with_the_limit_to_raise() {
        assert_eq!(leave_room(), Ok(()));
        let refused = leave(isize::MAX as usize);
        assert!(
            matches!(&refused, Err(Refusal::Skip { enable, .. }) if enable.contains("ulimit -v")),
            "{refused:?}"
        );
    }
}
