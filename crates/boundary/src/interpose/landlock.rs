//! Opening a file of a thread that Landlock confines.

use super::taxed::taxed;
use crate::mechanism::{Mechanism, Opened, ROW};
use crate::servant::{Servant, give_up_privileges};
use crate::syscall::raw;
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::{io, mem, ptr};
use tollgate_measure::{Claim, Facts, Meta, Refusal};
use tollgate_record::Per;

pub(super) static OPEN: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/landlock",
        what: "a file is opened and closed under a Landlock rule for the root directory",
        per: Per::Operation,
        proof: &[Claim::exact("right-answers-per-operation")],
        ..ROW
    },
    open: |_, _| taxed(opens(true), opens(false), [1, 1]),
};

const PATH: &CStr = c"/dev/null";

// linux/landlock.h
const CREATE_RULESET: libc::c_long = 444;
const ADD_RULE: libc::c_long = 445;
const RESTRICT_SELF: libc::c_long = 446;
const PATH_BENEATH: libc::c_int = 1;
const READ_FILE: u64 = 1 << 2;

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: RawFd,
}

/// A thread that opens and closes the file, confined or not.
fn opens(is_confined: bool) -> Opened {
    let servant = Servant::open(Facts::default(), move || {
        if is_confined {
            confine().map_err(|error| {
                Refusal::skip(
                    format!("Landlock cannot be used here: {error}"),
                    "Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK, and landlock among lsm= of the kernel's command line",
                )
            })?;
        }
        Ok(|passes: u64| (0..passes).map(|_| u64::from(open_and_close())).sum())
    })?;
    Ok(Box::new(servant))
}

/// Confines the calling thread to reading files below the root directory.
fn confine() -> io::Result<()> {
    let handled = READ_FILE;
    let checked = |returned: libc::c_long| match returned {
        0.. => Ok(returned as RawFd),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: eight bytes of a local are read; the descriptor is new and nobody else's.
    let ruleset = unsafe {
        let made = libc::syscall(CREATE_RULESET, &raw const handled, mem::size_of::<u64>(), 0);
        OwnedFd::from_raw_fd(checked(made)?)
    };
    let root = File::open("/")?;
    let rule = PathBeneath { allowed: READ_FILE, parent: root.as_raw_fd() };
    // SAFETY: the rule lives, and the kernel reads it.
    checked(unsafe { libc::syscall(ADD_RULE, ruleset.as_raw_fd(), PATH_BENEATH, &raw const rule, 0) })?;
    give_up_privileges()?;
    // SAFETY: integers only; it concerns the calling thread.
    checked(unsafe { libc::syscall(RESTRICT_SELF, ruleset.as_raw_fd(), 0) }).map(|_| ())
}

#[inline]
fn open_and_close() -> bool {
    let path = PATH.as_ptr().expose_provenance();
    let how = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the path is a C string; the descriptor is closed at once.
    unsafe {
        let fd = raw::call3(libc::SYS_openat, libc::AT_FDCWD as usize, path, how);
        fd >= 0 && raw::call2(libc::SYS_close, fd as usize, ptr::null::<u8>().expose_provenance()) == 0
    }
}
