//! `spawn/thread`: a thread created and joined.

use super::{ROW, Spawner};
use crate::mechanism::Mechanism;
use std::{ffi::c_void, io, mem::MaybeUninit, ptr};
use tollgate_measure::{Claim, Meta};

/// Returns its argument, so that the join shows that it ran.
extern "C" fn body(argument: *mut c_void) -> *mut c_void {
    argument
}

pub(crate) static THREAD: Mechanism = Mechanism {
    meta: &Meta {
        id: "spawn/thread",
        what: "a thread is created and joined",
        proof: &[Claim::exact("joins-per-crossing")],
        ..ROW
    },
    open: |_, _| Ok(Box::new(Spawner::tried("thread creation", one)?)),
};

#[inline]
fn one() -> io::Result<bool> {
    let token = ptr::without_provenance_mut::<c_void>(1);
    let mut thread = MaybeUninit::uninit();
    // SAFETY: the body touches no memory, and the thread is joined below.
    match unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), body, token) } {
        0 => {}
        errno => return Err(io::Error::from_raw_os_error(errno)),
    }
    let mut returned = ptr::null_mut();
    // SAFETY: the thread was just created, and is joined only here.
    match unsafe { libc::pthread_join(thread.assume_init(), &mut returned) } {
        0 => Ok(returned == token),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}
