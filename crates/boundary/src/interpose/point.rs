//! Calls of a function with a probe point: uprobe, uretprobe, kprobe, kretprobe, opened through perf events that count.

use super::taxed::taxed;
use crate::mechanism::{Mechanism, Opened, ROW};
use crate::syscall::{self, raw};
use perf_event_open_sys::bindings::perf_event_attr;
use std::ffi::{CStr, CString, c_void};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::{io, mem};
use tollgate_measure::{Claim, Crossing, Meta, Refusal};

const PROOF: &[Claim] = &[Claim::exact("right-answers-per-call"), Claim::exact("hits-per-call")];

/// A function of this program that does nothing; each row has its own, since a probe point stays while it is open.
macro_rules! function {
    ($name:ident, $($instruction:literal),+) => {
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        extern "C" fn $name() {
            core::arch::naked_asm!($($instruction),+, "ret")
        }

        #[cfg(not(target_arch = "x86_64"))]
        #[inline(never)]
        extern "C" fn $name() {
            black_box(stringify!($name));
        }
    };
}

function!(unprobed, "push rbp", "pop rbp");
function!(probed, "push rbp", "pop rbp");
function!(probed_nop, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
function!(unprobed_nop, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
function!(returned, "push rbp", "pop rbp");

macro_rules! uprobe {
    ($name:ident, id: $id:literal, $what:literal, $with:ident, $plain:ident, $kind:expr) => {
        pub(super) static $name: Mechanism = Mechanism {
            meta: &Meta { id: $id, what: $what, proof: PROOF, ..ROW },
            open: |_, _| {
                let hits = in_program($with as *const c_void, $kind);
                let with: Opened =
                    hits.map(|hits| Box::new(Calls { function: $with, hits: Some(hits), made: 0 }) as _);
                taxed(with, Ok(Box::new(Calls { function: $plain, hits: None, made: 0 })), [2, 2])
            },
        };
    };
}

uprobe!(UPROBE, id: "interpose/uprobe", "call of a function with a uprobe on its first instruction, a push",
    probed, unprobed, Kind::Entry);
uprobe!(UPROBE_NOP, id: "interpose/uprobe-nop", "call of a function with a uprobe on its first instruction, a nop of 5 bytes",
    probed_nop, unprobed_nop, Kind::Entry);
uprobe!(URETPROBE, id: "interpose/uretprobe", "call of a function with a uretprobe: its return is probed",
    returned, unprobed, Kind::Return);

macro_rules! kprobe {
    ($name:ident, id: $id:literal, $what:literal, $with:ident, $plain:ident, $symbol:literal, $kind:expr) => {
        pub(super) static $name: Mechanism = Mechanism {
            meta: &Meta { id: $id, what: $what, proof: PROOF, per: syscall::ROW.per, ..ROW },
            open: |_, _| {
                let hits = in_kernel($symbol, $kind);
                let with: Opened = hits.map(|hits| {
                    Box::new(KernelCalls { number: libc::$with, hits: Some(hits), right: 0 }) as _
                });
                taxed(with, Ok(Box::new(KernelCalls { number: libc::$plain, hits: None, right: 0 })), [2, 2])
            },
        };
    };
}

// No other probe makes these calls, on which the point stays while it is open. The plain call is the kernel's twin of it.
kprobe!(KPROBE, id: "interpose/kprobe", "getegid with a kprobe on the kernel's function; getgid is the plain call",
    SYS_getegid, SYS_getgid, "sys_getegid", Kind::Entry);
kprobe!(KRETPROBE, id: "interpose/kretprobe", "geteuid with a kretprobe on the kernel's function; getuid is the plain call",
    SYS_geteuid, SYS_getuid, "sys_geteuid", Kind::Return);

#[derive(Clone, Copy)]
enum Kind {
    Entry,
    Return,
}

/// A point in this program.
fn in_program(function: *const c_void, kind: Kind) -> Result<Hits, Refusal> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let offset = file_offset(&maps, function.addr() as u64)
        .ok_or_else(|| Refusal::skip("the program's own file is not known", "mount /proc"))?;
    Hits::open("uprobe", c"/proc/self/exe", offset, kind)
}

/// The place of an address in the file that is mapped there (proc(5), `maps`).
fn file_offset(maps: &str, address: u64) -> Option<u64> {
    maps.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (from, to, at) = (number(from)?, number(to)?, number(words.nth(1)?)?);
        (from..to).contains(&address).then_some(address - from + at)
    })
}

/// A point in the kernel's function for a system call.
fn in_kernel(call: &str, kind: Kind) -> Result<Hits, Refusal> {
    let prefix = match std::env::consts::ARCH {
        "x86_64" => "__x64_",
        "aarch64" => "__arm64_",
        "riscv64" => "__riscv_",
        _ => "",
    };
    let symbol =
        CString::new(format!("{prefix}{call}")).map_err(|error| Refusal::Failed(error.to_string()))?;
    Hits::open("kprobe", &symbol, 0, kind)
}

/// The counter behind a point, for calls of the thread that opened it.
struct Hits {
    counter: File,
    proved: u64,
}

impl Hits {
    fn open(unit: &str, place: &CStr, offset: u64, kind: Kind) -> Result<Self, Refusal> {
        let name = format!("/sys/bus/event_source/devices/{unit}/type");
        let number = fs::read_to_string(name).ok().and_then(|text| text.trim().parse().ok());
        let type_ = number.ok_or_else(|| {
            Refusal::skip(
                format!("the kernel has no perf events of kind {unit}, or /sys is not mounted"),
                format!("a kernel with CONFIG_{}_EVENTS", unit.to_uppercase()),
            )
        })?;
        let mut attr =
            perf_event_attr { type_, size: mem::size_of::<perf_event_attr>() as u32, ..Default::default() };
        attr.config = u64::from(matches!(kind, Kind::Return));
        attr.__bindgen_anon_3.config1 = place.as_ptr().expose_provenance() as u64;
        attr.__bindgen_anon_4.config2 = offset;
        let close_on_exec = libc::c_ulong::from(perf_event_open_sys::bindings::PERF_FLAG_FD_CLOEXEC);
        // SAFETY: the attributes and the text to which they point live; the calling thread is counted, on any CPU.
        match unsafe { perf_event_open_sys::perf_event_open(&mut attr, 0, -1, -1, close_on_exec) } {
            // SAFETY: the descriptor is new and nobody else's.
            counter @ 0.. => Ok(Self { counter: unsafe { File::from_raw_fd(counter) }, proved: 0 }),
            _ => {
                let error = io::Error::last_os_error();
                Err(match error.raw_os_error() {
                    Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => Refusal::skip(
                        format!("a {unit} is refused here: {error}"),
                        "run as root or with CAP_PERFMON, outside a sandbox that refuses perf_event_open",
                    ),
                    Some(libc::ENOENT | libc::EOPNOTSUPP | libc::EINVAL) => Refusal::skip(
                        format!("the kernel cannot put a {unit} there: {error}"),
                        "a kernel with probe events on this architecture",
                    ),
                    _ => Refusal::of("perf_event_open", &error),
                })
            }
        }
    }

    /// Hits since the last call.
    fn count(&mut self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.counter.read_exact(&mut bytes).ok()?;
        let now = u64::from_ne_bytes(bytes);
        Some(now - mem::replace(&mut self.proved, now))
    }
}

/// Calls of a function of this program.
struct Calls {
    function: extern "C" fn(),
    hits: Option<Hits>,
    made: u64,
}

impl Crossing for Calls {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let function = black_box(self.function);
        for _ in 0..passes {
            function();
        }
        self.made += passes;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.made));
        counts[1] = self.hits.as_mut().and_then(Hits::count);
        Ok(())
    }
}

/// System calls that return a number of this process.
struct KernelCalls {
    number: libc::c_long,
    hits: Option<Hits>,
    right: u64,
}

impl Crossing for KernelCalls {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let number = self.number;
        // SAFETY: the calls have no arguments and change nothing.
        let right = |_| u64::from(unsafe { raw::call0(number) } >= 0);
        self.right += (0..passes).map(right).sum::<u64>();
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        counts[1] = self.hits.as_mut().and_then(Hits::count);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_the_file_that_is_mapped_there() {
        let maps = "55d0c0000000-55d0c0004000 r--p 00000000 fd:00 42 /usr/bin/x\n\
                    55d0c0004000-55d0c0009000 r-xp 00003000 fd:00 42 /usr/bin/x\n";
        assert_eq!(file_offset(maps, 0x55d0_c000_4010), Some(0x3010));
        assert_eq!(file_offset(maps, 0x55d0_c000_9000), None);
        assert_eq!(file_offset("", 1), None);
    }
}
