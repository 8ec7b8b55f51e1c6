//! The stack of a task that a tracer has stopped.

use crate::rings::FRAMES;
use std::mem;

/// Its instruction, the return addresses that its frame pointer leads to, and the word on top of its stack.
pub(crate) fn stack_of(pid: libc::pid_t, instruction: u64, pointer: u64) -> (Vec<u64>, u64) {
    let top = words(pid, pointer).map_or(0, |[top, _]| top);
    let (mut frames, mut frame) = (vec![instruction], frame_pointer(pid).unwrap_or(0));
    while frames.len() < usize::from(FRAMES) {
        // A frame begins with the frame pointer of the caller and the return address, and callers are further up.
        let Some([next, address]) = words(pid, frame).filter(|[_, address]| *address != 0) else { break };
        frames.push(address);
        if next <= frame {
            break;
        }
        frame = next;
    }
    (frames, top)
}

#[cfg(target_arch = "x86_64")]
fn frame_pointer(pid: libc::pid_t) -> Option<u64> {
    // SAFETY: plain data that the call fills; the task is stopped, or the call fails.
    unsafe {
        let mut registers: libc::user_regs_struct = mem::zeroed();
        let done = libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers);
        (done == 0).then_some(registers.rbp)
    }
}

/// Elsewhere the place of the call alone is known.
#[cfg(not(target_arch = "x86_64"))]
fn frame_pointer(_: libc::pid_t) -> Option<u64> {
    None
}

/// Two words of the memory of a task, or the first if they are not both there.
fn words(pid: libc::pid_t, address: u64) -> Option<[u64; 2]> {
    let mut words = [0_u64; 2];
    let here = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: mem::size_of_val(&words) };
    let there = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: here.iov_len };
    // SAFETY: room for two words here; there the kernel only reads.
    let read = unsafe { libc::process_vm_readv(pid, &here, 1, &there, 1, 0) };
    (read >= 8).then_some(words)
}
