//! The crossings of our first process; `guests/riscv/programs/probe.c` makes them.

use serde::Deserialize;
use tollgate_record::Per;

/// Crossings after the caches were evicted.
pub(super) const EVICTED: usize = 12;

/// Whose system calls a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    /// Linux, whose first process is in an initial RAM disk.
    Linux,
    /// xv6 for RISC-V, whose first process is on its drive.
    Xv6,
    /// The proxy kernel, which runs one program that the host gives it.
    #[serde(rename = "riscv-pk")]
    Pk,
    /// seL4 without MCS, whose root task the host places in memory.
    Sel4,
}

impl System {
    /// The crossings of its first process.
    pub fn crossings(self) -> &'static [Kind] {
        match self {
            Self::Linux => &CROSSINGS,
            Self::Xv6 => &XV6,
            Self::Pk => &PK,
            Self::Sel4 => &SEL4,
        }
    }

    /// The call that the process begins with: `getppid`, or `getpid` of xv6, `seL4_Yield`.
    pub(super) fn first_call(self) -> u64 {
        match self {
            Self::Linux | Self::Pk => 173,
            Self::Xv6 => 11,
            Self::Sel4 => -7_i64 as u64,
        }
    }

    /// How much it reads to evict what caches contain.
    pub(super) fn evicts(self) -> &'static str {
        match self {
            Self::Linux | Self::Pk => "2 MiB",
            Self::Xv6 | Self::Sel4 => "256 KiB",
        }
    }
}

/// A kind of crossing.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// A description in a few words.
    pub about: &'static str,
    /// The number of the system call, if it is one.
    pub call: Option<u16>,
    /// The unit of one of them.
    pub(super) per: Per,
    /// Warm crossings that the process makes; of interrupts, which come as often as they come, the fewest for a bill.
    pub(super) warm: usize,
    /// The interrupt that it waits for, if it makes no crossing itself.
    pub(super) interrupt: Option<u64>,
    /// The harts that it needs.
    pub harts: usize,
}

const fn call(name: &'static str, number: u16, about: &'static str) -> Kind {
    Kind { call: Some(number), ..other(name, Per::Trap, 200, about) }
}

const fn other(name: &'static str, per: Per, warm: usize, about: &'static str) -> Kind {
    Kind { name, about, call: None, per, warm, interrupt: None, harts: 1 }
}

/// An interrupt of the supervisor, by its number.
const fn interrupt(name: &'static str, cause: u64, warm: usize, about: &'static str) -> Kind {
    Kind { interrupt: Some(cause), ..other(name, Per::Trap, warm, about) }
}

/// All of Linux; the first one's mark is 1.
pub static CROSSINGS: [Kind; 14] = [
    call("getpid", 172, "the number of the process"),
    call("read", 63, "a byte from /dev/zero"),
    call("write", 64, "a byte to /dev/null"),
    call("openat", 56, "an existing file"),
    other("fault-anonymous", Per::Trap, 200, "the first write to a page of anonymous memory"),
    other(
        "fault-file",
        Per::Trap,
        200,
        "a read of a page of a file in the page cache; maps the 16 pages around it",
    ),
    other("fault-copy", Per::Trap, 200, "a write to a page that is to be copied"),
    other("signal", Per::Signal, 200, "from kill to the handler and back"),
    other("switch-process", Per::Switch, 200, "from a write to a pipe until another process has read it"),
    other("switch-thread", Per::Switch, 200, "from a write to a pipe until another thread has read it"),
    other(
        "fork",
        Per::Task,
        60,
        "a process of 2 MiB is copied, the copy ends, and its parent waits for that",
    ),
    other("exec", Per::Task, 60, "as fork, and the copy executes a program that ends at once"),
    interrupt("tick", 5, 2, "a timer interrupt while the program computes"),
    Kind {
        harts: 2,
        ..interrupt("ipi", 1, 100, "an interrupt from another hart's membarrier while the program computes")
    },
];

/// Those of xv6, marked as Linux's of the same name.
static XV6: [Kind; 7] = [
    call("getpid", 11, "the number of the process"),
    call("read", 5, "a byte from a file in the buffer cache"),
    call("write", 16, "a byte to a pipe"),
    call("openat", 15, "open of an existing file"),
    other("switch-process", Per::Switch, 200, "from a write to a pipe until another process has read it"),
    other(
        "fork",
        Per::Task,
        12,
        "a process of 256 KiB is copied, the copy ends, and its parent waits for that",
    ),
    other("exec", Per::Task, 12, "as fork, and the copy executes a program of 256 KiB that ends at once"),
];

/// Those of riscv-pk, with Linux's numbers of calls. The host answers for files.
static PK: [Kind; 6] = [
    call("getpid", 172, "the number of the process"),
    call("read", 63, "a byte from a file of the host"),
    call("write", 64, "a byte to the host's console"),
    call("openat", 56, "an existing file of the host"),
    other("fault-anonymous", Per::Trap, 200, "the first write to a page of anonymous memory"),
    other("fault-file", Per::Trap, 200, "the first read of a page of a file, which the host reads"),
];

/// Those of seL4, marked behind Linux's. Each is one way: to another thread, which waits at a higher priority, or back.
static SEL4: [Kind; 11] = [
    other("yield", Per::Trap, 200, "seL4_Yield, and no other thread is ready"),
    other("call-process", Per::Switch, 200, "from seL4_Call until a thread in another address space has it"),
    other("reply-process", Per::Switch, 200, "from seL4_ReplyRecv there until the caller has the reply"),
    other("call-thread", Per::Switch, 200, "from seL4_Call until a thread in the same address space has it"),
    other("reply-thread", Per::Switch, 200, "from seL4_ReplyRecv there until the caller has the reply"),
    other("call-slow", Per::Switch, 200, "as call-process, of 5 words: more than the fast path passes on"),
    other("notify", Per::Switch, 200, "from seL4_Signal until a thread in another address space has waited"),
    other(
        "fault",
        Per::Switch,
        200,
        "from an illegal instruction until the handler in another address space has it",
    ),
    other("fault-reply", Per::Switch, 200, "from the handler's reply until the thread continues"),
    other(
        "fault-page",
        Per::Switch,
        200,
        "from a read of a page that is not mapped until the handler has it",
    ),
    interrupt("tick", 5, 2, "a timer interrupt while the thread computes"),
];

/// The crossings of all systems, each name once.
pub fn known() -> impl Iterator<Item = &'static Kind> {
    CROSSINGS.iter().chain(SEL4.iter().filter(|kind| CROSSINGS.iter().all(|other| other.name != kind.name)))
}

/// The crossing of a name, in the first system that has one.
pub fn crossing(name: &str) -> Option<&'static Kind> {
    known().find(|kind| kind.name == name)
}

/// The mark of the end of all crossings.
pub(super) const DONE: u16 = 99;

impl Kind {
    /// The number that marks it in the program.
    pub(super) fn mark(&self) -> u16 {
        known().position(|kind| kind.name == self.name).map_or(0, |n| n as u16 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program's own list must be in the same order.
    #[test]
    fn marks_are_the_program_s() {
        let source = include_str!("../../guests/riscv/programs/probe.c");
        let list = source.split_once("enum { END,").unwrap().1.split_once('}').unwrap().0;
        let names: Vec<String> =
            list.split(',').map(|name| name.trim().to_lowercase().replace('_', "-")).collect();
        let expected: Vec<&str> = CROSSINGS.iter().map(|kind| kind.name).chain(["crossings"]).collect();
        assert_eq!(names, expected);
        assert_eq!(crossing("getpid").unwrap().mark(), 1);
        assert!(XV6.iter().chain(&PK).all(|kind| kind.mark() == crossing(kind.name).unwrap().mark()));
        assert!(PK.iter().all(|kind| kind.call == crossing(kind.name).unwrap().call));
        let sel4 = include_str!("../../guests/riscv/programs/probe-sel4.c");
        for kind in &SEL4 {
            let name = kind.name.to_uppercase().replace('-', "_");
            assert!(sel4.contains(&format!("is_asked({name})")), "{name}");
        }
        let list = sel4.split_once(", YIELD = 15,").unwrap().1.split_once('}').unwrap().0;
        assert_eq!(["yield", "tick"].map(|name| crossing(name).unwrap().mark()), [15, 13]);
        for (mark, name) in (16..).zip(list.split(',')) {
            let name = name.trim().to_lowercase().replace('_', "-");
            assert_eq!(crossing(&name).unwrap().mark(), mark, "{name}");
        }
        assert!(
            sel4.contains("END, TICK = 13,")
                && sel4.contains(&format!("DONE = {DONE}, WARM = 200, EVICTED = 12,"))
        );
        let (begin, rest) = source.split_once("#ifdef XV6").unwrap();
        let (xv6, linux) = rest.split_once("#else").unwrap();
        assert!(begin.contains(&format!("DONE = {DONE} ")));
        for (part, constant, value) in [
            (rest, "WARM", "200"),
            (rest, "EVICTED", "12"),
            (xv6, "MEMORY", "256 << 10"),
            (xv6, "WARM_TASKS", "12"),
            (xv6, "FIRST_CALL", "CALL_GETPID"),
            (linux, "MEMORY", "2 << 20"),
            (linux, "WARM_TASKS", "60"),
            (linux, "FIRST_CALL", "CALL_GETPPID"),
        ] {
            assert!(part.contains(&format!("{constant} = {value}")), "{constant} = {value}");
        }
        for kind in &XV6 {
            let name = kind.name.strip_suffix("at").unwrap_or(kind.name).to_uppercase();
            let Some(number) = kind.call else { continue };
            assert!(xv6.contains(&format!("CALL_{name} = {number}")), "{name}");
        }
    }
}
