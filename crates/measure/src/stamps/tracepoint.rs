//! Page faults stamped where the kernel is entered, by a BPF program on its own tracepoint: earlier and with less
//! added than a software event, for processes that may load one (CAP_BPF and CAP_PERFMON).

use super::event::ahead;
use super::program::{HEAD, STAMP, stamp_faults};
use super::{Anchor, KernelStamp, Mapping, Stamper, Taken};
use crate::clock::monotonic_ns;
use crate::refusal::Refusal;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, ptr};

/// Stamps that fit between two calls of [`Stamper::take`].
const ROOM: usize = 1024;
const BYTES: usize = HEAD + ROOM * STAMP;
/// Just after the entry, with the address first (arch/x86/include/asm/trace/exceptions.h).
const TRACEPOINT: &CStr = c"page_fault_user";

/// Commands, types and flags of bpf(2), from linux/bpf.h.
mod abi {
    pub(super) const MAP_CREATE: libc::c_int = 0;
    pub(super) const PROG_LOAD: libc::c_int = 5;
    pub(super) const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
    pub(super) const MAP_TYPE_ARRAY: u32 = 2;
    pub(super) const F_MMAPABLE: u32 = 1 << 10;
    pub(super) const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
}

/// `union bpf_attr` for BPF_MAP_CREATE.
#[repr(C)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
}

/// `union bpf_attr` for BPF_PROG_LOAD.
#[repr(C)]
struct ProgLoad {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
}

/// `union bpf_attr` for BPF_RAW_TRACEPOINT_OPEN.
#[repr(C)]
struct RawTracepointOpen {
    name: u64,
    program: u32,
    /// The kernel requires zero in every field that it does not know, and in what would be padding.
    rest: u32,
}

/// Faults in a stretch of memory, stamped while it is on. Attaching waits for the kernel's readers, some ten
/// milliseconds, so switch it on seldom.
pub struct Tracepoint {
    program: OwnedFd,
    link: Option<OwnedFd>,
    shared: Shared,
    /// The kernel stamps with CLOCK_MONOTONIC: a moment known on both of its clocks, when it was switched on.
    since: Option<Anchor>,
    mapping: Option<Mapping>,
    /// Nanoseconds by which this time namespace is ahead of the kernel's own clock.
    ahead: i64,
}

impl Tracepoint {
    /// Loads the program for `bytes` bytes at `start`, switched off.
    ///
    /// # Errors
    /// A skip where the kernel refuses it.
    pub fn open(start: usize, bytes: usize) -> Result<Self, Refusal> {
        let create = MapCreate {
            kind: abi::MAP_TYPE_ARRAY,
            key_size: 4,
            value_size: BYTES as u32,
            max_entries: 1,
            flags: abi::F_MMAPABLE,
        };
        let map = bpf(abi::MAP_CREATE, &create).map_err(|error| refusal(&error))?;
        let shared = Shared::of(&map).map_err(|error| refusal(&error))?;
        shared.word(1).store(start as u64, Ordering::Relaxed);
        shared.word(2).store(bytes as u64, Ordering::Relaxed);
        let code = stamp_faults(map.as_raw_fd(), ROOM as i32);
        let load = ProgLoad {
            kind: abi::PROG_TYPE_RAW_TRACEPOINT,
            instructions: code.len() as u32,
            code: code.as_ptr().addr() as u64,
            license: c"GPL".as_ptr().addr() as u64,
            log_level: 0,
            log_size: 0,
            log: 0,
        };
        let program = bpf(abi::PROG_LOAD, &load).map_err(|error| refusal(&error))?;
        let mut open = Self { program, link: None, shared, since: None, mapping: None, ahead: ahead() };
        // A program may be loaded and yet find no tracepoint.
        open.attach()?;
        open.link = None;
        Ok(open)
    }

    fn attach(&mut self) -> Result<(), Refusal> {
        let open = RawTracepointOpen {
            name: TRACEPOINT.as_ptr().addr() as u64,
            program: self.program.as_raw_fd() as u32,
            rest: 0,
        };
        self.link = Some(bpf(abi::RAW_TRACEPOINT_OPEN, &open).map_err(|error| refusal(&error))?);
        Ok(())
    }
}

impl Stamper for Tracepoint {
    fn enable(&mut self) -> Result<(), Refusal> {
        self.attach()?;
        self.shared.word(0).store(0, Ordering::Relaxed);
        self.since = Anchor::now(monotonic_ns);
        Ok(())
    }

    fn disable(&mut self) -> Result<(), Refusal> {
        let until = Anchor::now(monotonic_ns);
        self.link = None;
        self.mapping = self.since.take().zip(until).and_then(|(since, until)| Mapping::between(since, until));
        Ok(())
    }

    fn take(&mut self) -> Taken {
        let seen = self.shared.word(0).swap(0, Ordering::Acquire) as usize;
        let Some(mapping) = self.mapping.take() else {
            return Taken { broken: seen > 0, ..Taken::default() };
        };
        let stamp = |at: usize| {
            let word = |offset| self.shared.word((HEAD + at * STAMP) / 8 + offset).load(Ordering::Relaxed);
            let ns = word(0).wrapping_add_signed(self.ahead);
            KernelStamp { ns: mapping.ns(ns).round() as u64, address: word(1) }
        };
        let stamps = (0..seen.min(ROOM)).map(stamp).collect();
        Taken { stamps, lost: seen.saturating_sub(ROOM) as u64, broken: false }
    }
}

/// The map's only value, which the program writes and we read.
struct Shared(*mut u8);

impl Shared {
    fn of(map: &OwnedFd) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), BYTES, access, libc::MAP_SHARED, map.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self(base.cast())) }
    }

    /// A word that kernel and user share.
    fn word(&self, at: usize) -> &AtomicU64 {
        assert!((at + 1) * 8 <= BYTES);
        // SAFETY: the mapping is BYTES long, aligned to a page and alive as long as self; the word is inside of
        // it, and it is used as an atomic only because the kernel writes it too.
        unsafe { AtomicU64::from_ptr(self.0.cast::<u64>().add(at)) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `of` made; nothing refers to it any more.
        unsafe { libc::munmap(self.0.cast(), BYTES) };
    }
}

/// bpf(2) for the commands that give a descriptor.
fn bpf<A>(command: libc::c_int, attributes: &A) -> io::Result<OwnedFd> {
    // SAFETY: the attributes are one of the structures above, valid for the size that is passed, and what they
    // point to outlives the call; the kernel only reads them.
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, command, ptr::from_ref(attributes), size_of::<A>() as libc::c_uint)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

/// Why there is no tracepoint, from the kernel's error.
fn refusal(error: &io::Error) -> Refusal {
    let why = |reason: &str, enable: &str| Refusal::skip(format!("{reason} ({error})"), enable);
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => why(
            "the kernel does not let this process load a BPF program",
            "run as root, or with CAP_BPF and CAP_PERFMON, outside of a filter that refuses bpf",
        ),
        Some(libc::ENOSYS) => why(
            "there is no bpf here: the kernel does not have it or a filter hides it",
            "a kernel with CONFIG_BPF_SYSCALL, and no filter that hides bpf",
        ),
        Some(libc::ENOENT) => why(
            "this kernel has no tracepoint page_fault_user",
            "a kernel for x86-64 or riscv64 with CONFIG_TRACEPOINTS",
        ),
        Some(libc::EINVAL | libc::E2BIG) => why("this kernel's BPF is too old", "Linux 5.5 or newer"),
        Some(libc::EMFILE | libc::ENFILE) => {
            why("no more files may be opened", "raise the limit on open files with `ulimit -n`")
        }
        Some(libc::ENOMEM) => {
            why("a BPF map does not fit into the memory that may be locked", "ulimit -l 1024")
        }
        _ => Refusal::Failed(format!("load a BPF program: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_would_help() {
        for (code, word) in [
            (libc::EPERM, "CAP_BPF"),
            (libc::EACCES, "CAP_PERFMON"),
            (libc::ENOSYS, "CONFIG_BPF_SYSCALL"),
            (libc::ENOENT, "CONFIG_TRACEPOINTS"),
            (libc::EINVAL, "5.5"),
            (libc::EMFILE, "ulimit -n"),
            (libc::ENOMEM, "ulimit -l"),
        ] {
            match refusal(&io::Error::from_raw_os_error(code)) {
                Refusal::Skip { enable, .. } => assert!(enable.contains(word), "{code}: {enable}"),
                Refusal::Failed(why) => panic!("{code}: {why}"),
            }
        }
        assert!(matches!(refusal(&io::Error::from_raw_os_error(libc::EIO)), Refusal::Failed(_)));
    }
}
