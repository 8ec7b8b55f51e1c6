//! A call into a shared library, as a dynamically linked program makes it.

use super::{ROW, magnitude};
use crate::mechanism::{Mechanism, Opened};
use std::ffi::{CStr, c_void};
use std::{hint::black_box, mem, ptr};
use tollgate_measure::{Crossing, Facts, Meta, Refusal, Site};
use tollgate_record::family::{ProbeAsked, ProbeFound};

unsafe extern "C" {
    /// C11 7.8.2.1. The compiler replaces `labs` by an instruction, but not this function.
    safe fn imaxabs(value: i64) -> i64;
}

pub(crate) static DYNAMIC: Mechanism = Mechanism {
    meta: &Meta {
        id: "call/dynamic",
        what: "call of a trivial function in a shared library, through the linkage table, and its return",
        ..ROW
    },
    open,
};

fn open(_: &'static Meta, _: &Site) -> Opened {
    if cfg!(target_feature = "crt-static") {
        return Err(statically_linked());
    }
    // SAFETY: the name is a C string; looking a symbol up calls no code of the library's.
    let callee = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"imaxabs".as_ptr()) };
    let (home, library) = object_of(callee).ok_or_else(statically_linked)?;
    if object_of(magnitude as *const c_void).is_none_or(|(own, _)| own == home) {
        return Err(statically_linked());
    }
    // Resolves the symbol, if the program was linked to do that at the first use.
    if through_linkage_table(-1) != 1 {
        return Err(Refusal::Failed("imaxabs(-1) is not 1".into()));
    }
    Ok(Box::new(LibraryCalls { library, counted: 0 }))
}

fn statically_linked() -> Refusal {
    Refusal::skip(
        "this program is statically linked: there is no shared library to call into",
        "build it dynamically linked (a target without crt-static)",
    )
}

/// The load address and the file name of the object that contains an address.
fn object_of(address: *const c_void) -> Option<(*mut c_void, String)> {
    let mut info = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: dladdr only compares the address, which may be anything, and fills `info` in.
    if address.is_null() || unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr succeeded, so the name is a C string that lives as long as the object is loaded.
    let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy();
    Some((info.dli_fbase, path.rsplit('/').next().unwrap_or_default().to_owned()))
}

/// Calls the library's function through the procedure linkage table, which jumps through the global
/// offset table (System V ABI, x86-64 supplement, 5.2; ELF for the Arm 64-bit Architecture, "Dynamic linking"; RISC-V
/// psABI, "Program Linkage Table"). By itself the compiler loads the address from the table once, before the loop, which
/// would be a second `call/indirect`. On another architecture it is called as the compiler would for any program.
#[inline(always)]
fn through_linkage_table(value: i64) -> i64 {
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
    let answer = imaxabs(value);
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
    let answer;
    // SAFETY: the callee is a safe C function of this signature, every register that it may change is
    // marked, and without `nostack` the stack is aligned for a call and the red zone is unused.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("call {callee}@PLT", callee = sym imaxabs,
            in("rdi") value, lateout("rax") answer, clobber_abi("C"));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("bl {callee}", callee = sym imaxabs,
            inlateout("x0") value => answer, clobber_abi("C"));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "riscv64")]
    unsafe {
        std::arch::asm!("call {callee}", callee = sym imaxabs,
            inlateout("a0") value => answer, clobber_abi("C"));
    }
    answer
}

struct LibraryCalls {
    library: String,
    counted: i64,
}

impl Crossing for LibraryCalls {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let argument = black_box(-1);
        let mut sum = 0;
        unrolled!(passes, sum += through_linkage_table(argument));
        self.counted += sum;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = u64::try_from(mem::take(&mut self.counted)).ok();
        Ok(())
    }

    fn facts(&self) -> Facts {
        let asked = ProbeAsked { function: Some("imaxabs".into()), ..ProbeAsked::default() };
        let found = ProbeFound { library: Some(self.library.clone()), ..ProbeFound::default() };
        Facts::of_probe(asked, found)
    }
}

#[cfg(test)]
mod tests {
    use super::{DYNAMIC, magnitude, object_of};
    use std::ffi::c_void;
    use tollgate_measure::{Probe, Refusal, Site};

    #[test]
    fn the_callee_is_in_another_object_or_the_probe_refuses() {
        match DYNAMIC.open(&Site { cpu: 0, peer: None }) {
            Ok(open) => {
                let (_, own) = object_of(magnitude as *const c_void).unwrap();
                let facts = open.facts();
                let library = facts.found.probe().and_then(|found| found.library.as_deref());
                assert!(library.is_some_and(|library| !library.is_empty() && library != own), "{facts:?}");
            }
            Err(refusal) => {
                let refused_for_a_reason =
                    cfg!(target_feature = "crt-static") && matches!(refusal, Refusal::Skip { .. });
                assert!(refused_for_a_reason, "{refusal}");
            }
        }
    }
}
