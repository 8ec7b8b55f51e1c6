//! SIGBUS: raised by a touch beyond the end of the file, or of a page that the disk does not deliver.

use crate::plan::page_bytes;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, mem, ptr};

/// The first address that raised the signal.
static ADDRESS: AtomicUsize = AtomicUsize::new(0);

pub(super) fn address() -> Option<usize> {
    Some(ADDRESS.load(Ordering::Relaxed)).filter(|&address| address != 0)
}

/// Installs the handler.
pub(super) fn catch() -> io::Result<()> {
    // SAFETY: sigaction is plain data; the handler makes system calls and touches an atomic.
    let done = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Maps an empty page where the file has none, so that the touch completes and the scan can end.
extern "C" fn handler(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let page = page_bytes() as usize;
    // SAFETY: the kernel passes a valid siginfo_t, with an address for SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    let _ = ADDRESS.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    let place = (address & !(page - 1)) as *mut libc::c_void;
    // SAFETY: it replaces one page of the file's mapping, the only possible source of this signal.
    let made = unsafe { libc::mmap(place, page, libc::PROT_READ, flags, -1, 0) };
    if made == libc::MAP_FAILED {
        // SAFETY: no way to go on; exiting is allowed in a handler.
        unsafe { libc::_exit(1) };
    }
}
