//! `spawn/posix_spawn`: a program started in a new process, and waited for.

use super::{ROW, exited_with, nursery, tiny_program};
use crate::mechanism::Mechanism;
use std::{
    ffi::CStr,
    io::{self, Write},
    os::fd::AsRawFd,
    ptr,
};
use tollgate_measure::{Claim, Crossing, Meta, Refusal};

pub(crate) static POSIX_SPAWN: Mechanism = Mechanism {
    meta: &Meta {
        id: "spawn/posix_spawn",
        what: "a static program of one page is started by posix_spawn, exits and is waited for",
        proof: &[Claim::exact("exits-per-crossing")],
        ..ROW
    },
    open: |_, site| {
        let program = tiny_program::in_memory()?;
        // The child has the program under the same descriptor number; the exec closes it after it has found the file.
        let path = Path::new(&program);
        let one = || start(path.text());
        // SAFETY: the path is in this frame, a few hundred bytes from `one`. The C library's posix_spawn takes memory
        // from the kernel and no lock that another thread could hold.
        let open = unsafe { nursery::Nursery::open("posix_spawn", site.cpu, Some(program.as_raw_fd()), one) };
        open.map(|open| Box::new(open) as Box<dyn Crossing>).map_err(explain)
    },
};

/// The name of an open file, without a heap.
struct Path([u8; 32]);

impl Path {
    fn new(file: &impl AsRawFd) -> Self {
        let mut text = [0; 32];
        // The longest number leaves room for the zero at the end.
        let _ = write!(&mut text[..31], "/proc/self/fd/{}", file.as_raw_fd());
        Self(text)
    }

    fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

/// Turns common failures into skips that name the remedy.
pub(crate) fn explain(refusal: Refusal) -> Refusal {
    let Refusal::Failed(text) = &refusal else { return refusal };
    let no_proc = io::Error::from_raw_os_error(libc::ENOENT).to_string();
    if text.ends_with(&no_proc) {
        return Refusal::skip(
            "the program in memory cannot be reached, because /proc is not mounted",
            "mount it: `mount -t proc proc /proc`",
        );
    }
    let no_format = io::Error::from_raw_os_error(libc::ENOEXEC).to_string();
    if text.ends_with(&no_format) {
        return Refusal::skip(
            "the system does not start programs of this architecture: this one is run by an emulator",
            "tell the kernel of it: `apt-get install qemu-user-binfmt`",
        );
    }
    refusal
}

#[inline]
fn start(path: &CStr) -> io::Result<bool> {
    let arguments = [path.as_ptr().cast_mut(), ptr::null_mut()];
    let environment = [ptr::null_mut()];
    let mut child = 0;
    // SAFETY: the path and both arrays end in zero and live through the call, which changes neither.
    let failed = unsafe {
        libc::posix_spawn(
            &mut child,
            path.as_ptr(),
            ptr::null(),
            ptr::null(),
            arguments.as_ptr(),
            environment.as_ptr(),
        )
    };
    match failed {
        0 => exited_with(child, tiny_program::STATUS),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}
