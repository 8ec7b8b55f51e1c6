//! Protection keys: a page that only those may write to who have opened its key (pkeys(7)).

use super::taxed::taxed;
use crate::map::Map;
use crate::mechanism::{Mechanism, Opened, ROW};
use crate::syscall::raw;
use std::{io, mem, ptr};
use tollgate_measure::{Claim, Crossing, Meta, Refusal};
use tollgate_record::Per;

pub(super) static WRITE: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/pkey-write",
        what: "a protection key is opened (WRPKRU), a word of its page written, the key closed",
        per: Per::Operation,
        proof: &[Claim::exact("right-answers-per-operation")],
        ..ROW
    },
    open: |_, _| taxed(Key::new().and_then(|key| open(Some(key))), open(None), [1, 1]),
};

/// A protection key of this process, closed for writing on the calling thread.
struct Key(usize);

impl Key {
    fn new() -> Result<Self, Refusal> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Refusal::skip("protection keys are measured on x86-64 only", "an x86-64 machine"));
        }
        const DISABLE_WRITE: usize = 2;
        // SAFETY: integers only.
        match unsafe { raw::call2(libc::SYS_pkey_alloc, 0, DISABLE_WRITE) } {
            key @ 1.. => Ok(Self(key as usize)),
            error => Err(Refusal::skip(
                format!("there are no protection keys here: {}", io::Error::from_raw_os_error(-error as i32)),
                "a processor with protection keys (flag ospke in /proc/cpuinfo) that the hypervisor passes on, x86-64",
            )),
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: integers only; no page has the key any more.
        unsafe { raw::call2(libc::SYS_pkey_free, self.0, 0) };
    }
}

/// The rights of this thread for all keys, two bits each (Intel SDM volume 3, 4.6.2).
#[cfg(target_arch = "x86_64")]
mod rights {
    /// RDPKRU: ecx is zero, and edx becomes it.
    ///
    /// # Safety
    /// The kernel has switched protection keys on.
    #[inline(always)]
    pub(super) unsafe fn read() -> u32 {
        let rights: u32;
        // SAFETY: the caller's promise.
        unsafe {
            std::arch::asm!("rdpkru", in("ecx") 0, out("eax") rights, out("edx") _, options(nomem, nostack));
        }
        rights
    }

    /// WRPKRU. It is a barrier for the compiler, which must not move a write over it.
    ///
    /// # Safety
    /// As for [`read`]. No page that is used by this thread becomes inaccessible.
    #[inline(always)]
    pub(super) unsafe fn write(rights: u32) {
        // SAFETY: the caller's promise.
        unsafe { std::arch::asm!("wrpkru", in("eax") rights, in("ecx") 0, in("edx") 0, options(nostack)) };
    }
}

/// Other architectures have no key, so none of this is reached.
#[cfg(not(target_arch = "x86_64"))]
mod rights {
    pub(super) unsafe fn read() -> u32 {
        0
    }

    pub(super) unsafe fn write(_: u32) {}
}

fn open(key: Option<Key>) -> Opened {
    Ok(Box::new(Writes::new(key)?))
}

/// Writes to a page of its own, which has the key.
struct Writes {
    // Unmapped before the key is given back.
    map: Map,
    key: Option<Key>,
    right: u64,
}

impl Writes {
    fn new(key: Option<Key>) -> Result<Self, Refusal> {
        let map = Map::private(1)?;
        if let Some(Key(key)) = key {
            let (at, bytes, both) = (map.page(0), map.page_bytes(), libc::PROT_READ | libc::PROT_WRITE);
            // SAFETY: our own page, to which nobody refers.
            if unsafe { libc::syscall(libc::SYS_pkey_mprotect, at, bytes, both, key) } != 0 {
                return Err(Refusal::os("pkey_mprotect"));
            }
        }
        Ok(Self { map, key, right: 0 })
    }

    /// Writes a number and reads it back.
    #[inline]
    fn write(&self, number: u64) -> u64 {
        let at = self.map.page(0).cast::<u64>();
        // SAFETY: our own page, to which nobody refers; if its key is closed, the processor stops the write.
        unsafe {
            ptr::write_volatile(at, number);
            u64::from(ptr::read_volatile(at) == number)
        }
    }
}

impl Crossing for Writes {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let Some(Key(key)) = self.key else {
            self.right += (0..passes).map(|pass| self.write(pass)).sum::<u64>();
            return Ok(());
        };
        // SAFETY: the kernel gave the key, and only its own bits change.
        self.right += unsafe {
            let closed = rights::read();
            let opened = closed & !(0b11 << (2 * key));
            let write = |pass| {
                rights::write(opened);
                let right = self.write(pass);
                rights::write(closed);
                right
            };
            (0..passes).map(write).sum::<u64>()
        };
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        Ok(())
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::testing::{alone, ends_in_child};

    /// Where there are keys, a write without opening the key must be a fault (SIGSEGV), or the row would measure nothing.
    #[test]
    fn a_closed_key_stops_a_write() {
        let _alone = alone();
        let Ok(key) = Key::new() else { return };
        let mut open = Writes::new(Some(key)).unwrap();
        open.cross(10).unwrap();
        assert_eq!(open.right, 10);
        let status = ends_in_child(|| _ = open.write(1));
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:x}");
    }
}
