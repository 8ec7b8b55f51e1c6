//! What the first process of ours crosses; `guests/riscv/programs/probe.c` makes them.

use tollgate_record::Per;

/// Crossings after the caches were evicted.
pub(super) const EVICTED: usize = 12;

/// A kind of crossing.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The number of the system call, if it is one.
    pub call: Option<u16>,
    /// What one of them is.
    pub(super) per: Per,
    /// Warm crossings that the process makes; `None` if it waits for interrupts, as many as come.
    pub(super) warm: Option<usize>,
}

const fn call(name: &'static str, number: u16, about: &'static str) -> Kind {
    Kind { name, about, call: Some(number), per: Per::Trap, warm: Some(200) }
}

const fn other(name: &'static str, per: Per, warm: usize, about: &'static str) -> Kind {
    Kind { name, about, call: None, per, warm: Some(warm) }
}

/// All of them; the first one's mark is 1.
pub static CROSSINGS: [Kind; 13] = [
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
    Kind {
        name: "tick",
        about: "a timer interrupt while the program computes",
        call: None,
        per: Per::Trap,
        warm: None,
    },
];

/// The crossing of a name.
pub fn crossing(name: &str) -> Option<&'static Kind> {
    CROSSINGS.iter().find(|kind| kind.name == name)
}

impl Kind {
    /// The number that marks it in the program.
    pub(super) fn mark(&self) -> u16 {
        CROSSINGS.iter().position(|kind| kind == self).map_or(0, |n| n as u16 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program's own list must be in the same order.
    #[test]
    fn marks_are_the_program_s() {
        let source = include_str!("../../../../guests/riscv/programs/probe.c");
        let list = source.split_once("enum { END,").unwrap().1.split_once('}').unwrap().0;
        let names: Vec<String> =
            list.split(',').map(|name| name.trim().to_lowercase().replace('_', "-")).collect();
        let expected: Vec<&str> = CROSSINGS.iter().map(|kind| kind.name).chain(["crossings"]).collect();
        assert_eq!(names, expected);
        assert_eq!(crossing("getpid").unwrap().mark(), 1);
        for (constant, value) in [("WARM", 200), ("WARM_TASKS", 60), ("EVICTED", EVICTED)] {
            assert!(source.contains(&format!("{constant} = {value},")), "{constant}");
        }
    }
}
