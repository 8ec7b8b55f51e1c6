//! System calls with a cold TLB, or with cold first and second caches.
//!
//! The state is made cold before each crossing, outside the stamps. Then the stamping code runs once more, so that only
//! the kernel's side is cold.

use super::clock;
use crate::map::{Map, page_bytes};
use crate::mechanism::{Mechanism, Opened};
use crate::syscall::{self, INVALID_NUMBER, raw};
use std::{fs, mem, ptr};
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Term};
use tollgate_measure::stamps::Span;
use tollgate_measure::{Crossing, Facts, Meta, Refusal, Site};
use tollgate_record::family::{ProbeAsked, ProbeFound};

#[derive(Clone, Copy, PartialEq)]
enum Call {
    Invalid,
    Getppid,
    Int80,
    Clock,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// The TLB has no translations of this process.
    Tlb,
    /// More memory than the first two caches hold was read since.
    Swept,
}

macro_rules! cold {
    ($name:ident, $call:ident, $state:ident, id: $id:literal, $what:literal) => {
        pub(super) static $name: Mechanism = Mechanism {
            meta: &Meta { id: $id, what: $what, ..syscall::ROW },
            open: |_, site| open(Call::$call, State::$state, site),
        };
    };
}

cold!(INVALID_TLB, Invalid, Tlb, id: "syscall/invalid-after-flush", "invalid system call after a TLB flush");
cold!(GETPPID_TLB, Getppid, Tlb, id: "syscall/getppid-after-flush", "getppid after a TLB flush");
cold!(INT80_TLB, Int80, Tlb, id: "syscall/int80-after-flush", "getppid by int 0x80 after a TLB flush");
cold!(
    CLOCK_TLB,
    Clock,
    Tlb,
    id: "syscall/clock_gettime-after-flush",
    "system call clock_gettime after a TLB flush"
);
cold!(INVALID_SWEPT, Invalid, Swept, id: "syscall/invalid-after-sweep", "invalid system call, L1 and L2 swept");
cold!(GETPPID_SWEPT, Getppid, Swept, id: "syscall/getppid-after-sweep", "getppid, L1 and L2 swept");
cold!(INT80_SWEPT, Int80, Swept, id: "syscall/int80-after-sweep", "getppid by int 0x80, L1 and L2 swept");
cold!(
    CLOCK_SWEPT,
    Clock,
    Swept,
    id: "syscall/clock_gettime-after-sweep",
    "system call clock_gettime, L1 and L2 swept"
);

fn open(call: Call, state: State, site: &Site) -> Opened {
    if call == Call::Int80 {
        syscall::int80_available()?;
    }
    let open = ColdCalls { call, cooler: Cooler::new(state, site.cpu)?, right: 0 };
    if open.right_answer() {
        Ok(Box::new(open))
    } else {
        Err(Refusal::skip(
            "the call is not answered as the kernel answers it: something filters system calls",
            "run without the seccomp filter or emulator that answers in the kernel's place",
        ))
    }
}

/// Makes the state cold.
struct Cooler {
    state: State,
    region: Map,
    bytes: usize,
}

/// Pages whose access is changed in one call: more than the kernel invalidates one by one (33 on x86,
/// tlb_single_page_flush_ceiling), so that it flushes them all.
const FLUSHED: usize = 64;
/// The assumed size of the second cache, if the system does not report it.
const USUAL_L2: usize = 2 << 20;

impl Cooler {
    fn new(state: State, cpu: usize) -> Result<Self, Refusal> {
        let page = page_bytes();
        // Twice the second cache, and more than the first holds.
        let bytes = match state {
            State::Tlb => FLUSHED * page,
            State::Swept => 2 * l2_bytes(cpu).unwrap_or(USUAL_L2) + (128 << 10),
        };
        let region = Map::private(bytes.div_ceil(page))?;
        for index in 0..region.pages() {
            // SAFETY: the page is mapped and writable, and nobody refers to it.
            unsafe { ptr::write_volatile(region.page(index), 1) };
        }
        Ok(Self { state, region, bytes })
    }

    fn cool(&self) -> Result<(), Refusal> {
        match self.state {
            State::Tlb => {
                let (from, bytes) = (self.region.page(0), FLUSHED * self.region.page_bytes());
                // SAFETY: pages of our own region, which nobody refers to.
                let access = |to| match unsafe { libc::mprotect(from.cast(), bytes, to) } {
                    0 => Ok(()),
                    _ => Err(Refusal::os("change the access to pages")),
                };
                access(libc::PROT_READ | libc::PROT_WRITE)?;
                // The kernel flushes only pages whose write permission it removes.
                for index in 0..FLUSHED {
                    // SAFETY: the page is mapped and writable again.
                    unsafe { ptr::write_volatile(self.region.page(index), 1) };
                }
                access(libc::PROT_READ)
            }
            State::Swept => {
                let base = self.region.page(0);
                for offset in (0..self.bytes).step_by(64) {
                    // SAFETY: the offset is in the region.
                    unsafe { ptr::read_volatile(base.add(offset)) };
                }
                Ok(())
            }
        }
    }
}

/// Size of the CPU's second cache.
fn l2_bytes(cpu: usize) -> Option<usize> {
    (0..8).find_map(|index| {
        let read = |name: &str| {
            fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{name}")).ok()
        };
        (read("level")?.trim() == "2").then(|| kib(read("size")?.trim()))?
    })
}

/// `2048K` in bytes.
fn kib(text: &str) -> Option<usize> {
    text.strip_suffix('K')?.parse::<usize>().ok()?.checked_mul(1024)
}

struct ColdCalls {
    call: Call,
    cooler: Cooler,
    right: u64,
}

impl ColdCalls {
    /// Makes one call; true if its answer was right.
    #[inline(always)]
    fn right_answer(&self) -> bool {
        match self.call {
            // SAFETY: there is no such call.
            Call::Invalid => unsafe { raw::call0(INVALID_NUMBER) == -(libc::ENOSYS as isize) },
            // SAFETY: it has no arguments and changes nothing.
            Call::Getppid => unsafe { raw::call0(libc::SYS_getppid) >= 0 },
            // SAFETY: a child tried it when the probe was opened.
            Call::Int80 => unsafe { syscall::int80() >= 0 },
            Call::Clock => clock::stamped(|| 0).is_some(),
        }
    }
}

impl Crossing for ColdCalls {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        for _ in 0..passes {
            self.cooler.cool()?;
            self.right += u64::from(self.right_answer());
        }
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        Ok(())
    }

    /// Lanes: the whole, and for the clock the way in and the way out.
    fn dissection(&self) -> Option<Dissection> {
        let (parts, mapped) = match self.call {
            Call::Clock => (clock::parts(1), vec![(1, 1), (2, -1)]),
            _ => (Vec::new(), Vec::new()),
        };
        let lanes = 1 + parts.len();
        Some(Dissection { lanes, parts, total: Term::Lane(0), instrumented: Vec::new(), mapped })
    }

    fn dissect(&mut self, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        let Some((whole, cuts)) = lanes.split_first_mut() else { return Ok(()) };
        for _ in 0..count {
            self.cooler.cool()?;
            // Warms the stamping code.
            std::hint::black_box((now(), now()));
            if self.call == Call::Clock {
                let stamps =
                    clock::stamped(now).ok_or_else(|| Refusal::Failed("clock_gettime was refused".into()))?;
                whole.push(Span::user(stamps.0, stamps.2));
                clock::cut(stamps, cuts);
            } else {
                let before = now();
                let right = self.right_answer();
                let after = now();
                if !right {
                    return Err(Refusal::Failed("the call was answered wrongly".into()));
                }
                whole.push(Span::user(before, after));
            }
        }
        Ok(())
    }

    fn facts(&self) -> Facts {
        let asked = match self.cooler.state {
            State::Tlb => ProbeAsked {
                state: Some("tlb-flushed".into()),
                pages_flushed: Some(FLUSHED as u64),
                ..ProbeAsked::default()
            },
            State::Swept => ProbeAsked {
                state: Some("caches-swept".into()),
                bytes_swept: Some(self.cooler.bytes as u64),
                ..ProbeAsked::default()
            },
        };
        Facts::of_probe(asked, ProbeFound::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_measure::Probe;
    use tollgate_measure::clock::{Clock, Os};

    #[test]
    fn cache_sizes() {
        assert_eq!(kib("2048K"), Some(2 << 20));
        for wrong in ["", "K", "2M", "-1K", "99999999999999999999K"] {
            assert_eq!(kib(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_call_in_every_state_is_answered_and_stamped() {
        let now = Os.stamper().unwrap();
        for probe in [&INVALID_TLB, &GETPPID_TLB, &CLOCK_TLB, &INVALID_SWEPT, &GETPPID_SWEPT, &CLOCK_SWEPT] {
            let mut open = probe.open(&Site { cpu: 0, peer: None }).unwrap();
            let mut counts = [None];
            open.cross(3).unwrap();
            let count = open.dissection().unwrap().lanes;
            let mut lanes = vec![Vec::new(); count];
            open.dissect(5, now, &mut lanes).unwrap();
            assert!(lanes.iter().all(|lane| lane.len() == 5), "{}", probe.meta.id);
            open.prove(&mut counts).unwrap();
            assert_eq!(counts, [Some(3)], "{}", probe.meta.id);
        }
    }
}
