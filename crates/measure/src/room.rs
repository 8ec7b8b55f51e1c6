//! Memory that a run keeps for itself where a process may not have much.

use crate::refusal::Refusal;
use std::{io, ptr};

/// The bytes that a probe must leave free of the memory that this process may have: the yardsticks, batches and answers of
/// a whole run take less.
const ROOM: usize = 1 << 20;

/// Refuses if what this process may still have is too little for a run.
///
/// Asked where a probe takes much at once or starts a thread: later, the first allocation that fails would end the process,
/// and with it all probes.
///
/// # Errors
/// A skip that names the limit.
pub fn leave_room() -> Result<(), Refusal> {
    leave(ROOM)
}

fn leave(bytes: usize) -> Result<(), Refusal> {
    // Not from the allocator: what it keeps free is not free for the stacks of a thread.
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping where the kernel wants it.
    let at = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(Refusal::of("leave room for the run", &io::Error::last_os_error()));
    }
    // SAFETY: nothing has the address of this mapping.
    unsafe { libc::munmap(at, bytes) };
    Ok(())
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
