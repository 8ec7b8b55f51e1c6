//! BPF programs on raw tracepoints, loaded by bpf(2) without a library (CAP_BPF and CAP_PERFMON).

mod calls;
pub(crate) mod code;

pub use calls::CallCounter;

use crate::refusal::Refusal;
use code::Instruction;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::AtomicU64;
use std::{io, ptr};

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

/// A program on a tracepoint, and the memory that it shares with this process. While it is attached, it taxes what passes
/// the tracepoint in all processes.
pub(crate) struct RawTracepoint {
    name: &'static CStr,
    program: OwnedFd,
    link: Option<OwnedFd>,
    shared: Shared,
}

impl RawTracepoint {
    /// Loads the program that `code` writes for the descriptor of a map with one value of `bytes` bytes; it is not
    /// attached.
    ///
    /// # Errors
    /// A skip where the kernel refuses it.
    pub(crate) fn load(
        name: &'static CStr,
        bytes: usize,
        code: impl FnOnce(RawFd) -> Vec<Instruction>,
    ) -> Result<Self, Refusal> {
        let refusal = |error| refusal(name, &error);
        let create = MapCreate {
            kind: abi::MAP_TYPE_ARRAY,
            key_size: 4,
            value_size: bytes as u32,
            max_entries: 1,
            flags: abi::F_MMAPABLE,
        };
        let map = bpf(abi::MAP_CREATE, &create).map_err(refusal)?;
        let shared = Shared::of(&map, bytes).map_err(refusal)?;
        let code = code(map.as_raw_fd());
        let load = ProgLoad {
            kind: abi::PROG_TYPE_RAW_TRACEPOINT,
            instructions: code.len() as u32,
            code: code.as_ptr().addr() as u64,
            license: c"GPL".as_ptr().addr() as u64,
            log_level: 0,
            log_size: 0,
            log: 0,
        };
        let program = bpf(abi::PROG_LOAD, &load).map_err(refusal)?;
        let mut open = Self { name, program, link: None, shared };
        // A program may be loaded and yet find no tracepoint.
        open.attach()?;
        open.detach();
        Ok(open)
    }

    /// Attaches the program, if it is not attached: some ten milliseconds, because the kernel waits for its readers.
    ///
    /// # Errors
    /// A skip where the kernel refuses it.
    pub(crate) fn attach(&mut self) -> Result<(), Refusal> {
        if self.link.is_none() {
            let open = RawTracepointOpen {
                name: self.name.as_ptr().addr() as u64,
                program: self.program.as_raw_fd() as u32,
                rest: 0,
            };
            let link = bpf(abi::RAW_TRACEPOINT_OPEN, &open).map_err(|error| refusal(self.name, &error))?;
            self.link = Some(link);
        }
        Ok(())
    }

    /// Detaches it.
    pub(crate) fn detach(&mut self) {
        self.link = None;
    }

    /// A word that the program and this process share.
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        self.shared.word(at)
    }
}

/// The map's only value, which the program writes and we read.
struct Shared {
    base: *mut u8,
    bytes: usize,
}

impl Shared {
    fn of(map: &OwnedFd, bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, map.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Self { base: base.cast(), bytes })
        }
    }

    /// A word that kernel and user share.
    fn word(&self, at: usize) -> &AtomicU64 {
        assert!((at + 1) * 8 <= self.bytes);
        // SAFETY: the mapping is so long, aligned to a page and alive as long as self; the word is inside of
        // it, and it is used as an atomic only because the kernel writes it too.
        unsafe { AtomicU64::from_ptr(self.base.cast::<u64>().add(at)) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `of` made; nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
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
fn refusal(tracepoint: &CStr, error: &io::Error) -> Refusal {
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
            &format!("this kernel has no tracepoint {}", tracepoint.to_string_lossy()),
            "a kernel for x86-64 or riscv64 with CONFIG_TRACEPOINTS",
        ),
        Some(libc::EINVAL | libc::E2BIG) => why("this kernel's BPF is too old", "Linux 5.12 or newer"),
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
            (libc::EINVAL, "5.12"),
            (libc::EMFILE, "ulimit -n"),
            (libc::ENOMEM, "ulimit -l"),
        ] {
            match refusal(c"page_fault_user", &io::Error::from_raw_os_error(code)) {
                Refusal::Skip { enable, .. } => assert!(enable.contains(word), "{code}: {enable}"),
                Refusal::Failed(why) => panic!("{code}: {why}"),
            }
        }
        assert!(matches!(
            refusal(c"page_fault_user", &io::Error::from_raw_os_error(libc::EIO)),
            Refusal::Failed(_)
        ));
    }
}
