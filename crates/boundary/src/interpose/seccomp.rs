//! `getppid` under seccomp filters of several lengths.

use super::taxed::taxed_servants;
use crate::crossing::filtered::{ALLOW, ARGUMENT, IS, LOAD, NUMBER, op, open, plain};
use crate::mechanism::Mechanism;
use crate::syscall::ROW;
use tollgate_measure::Meta;

macro_rules! filter {
    ($name:ident, id: $id:literal, $what:literal, $filter:expr) => {
        pub(super) static $name: Mechanism = Mechanism {
            meta: &Meta { id: $id, what: $what, ..ROW },
            open: |_, _| taxed_servants(open($filter), plain()),
        };
    };
}

filter!(
    CACHED,
    id: "interpose/seccomp-cached",
    "getppid under a seccomp filter whose answer the kernel caches",
    vec![op(LOAD, 0, 0, NUMBER), op(IS, 0, 1, libc::SYS_getppid as u32), ALLOW, ALLOW]
);
filter!(RULES_1, id: "interpose/seccomp-1", "getppid under a seccomp filter of 1 rule that runs", rules(1));
filter!(RULES_50, id: "interpose/seccomp-50", "getppid under a seccomp filter of 50 rules that run", rules(50));
filter!(RULES_300, id: "interpose/seccomp-300", "getppid under a seccomp filter of 300 rules that run", rules(300));

/// A filter that compares the first argument with a number of other values.
fn rules(number: u32) -> Vec<libc::sock_filter> {
    let rule = |at| [op(IS, 0, 1, 0x7fff_0001 + at), ALLOW];
    std::iter::once(op(LOAD, 0, 0, ARGUMENT)).chain((0..number).flat_map(rule)).chain([ALLOW]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a filter that consists of the instructions above (linux/filter.h); how many comparisons it makes.
    fn comparisons(filter: &[libc::sock_filter], argument: u32) -> usize {
        let (mut at, mut made) = (0, 0);
        loop {
            let it = filter[at];
            at += 1;
            match u32::from(it.code) {
                LOAD => assert_eq!(it.k, ARGUMENT),
                IS => {
                    made += 1;
                    at += usize::from(if it.k == argument { it.jt } else { it.jf });
                }
                _ => return made,
            }
        }
    }

    #[test]
    fn every_rule_runs() {
        for number in [1, 50, 300] {
            assert_eq!(comparisons(&rules(number), 0), number as usize);
        }
        assert_eq!(comparisons(&rules(50), 0x7fff_0001), 1, "a rule that fits ends the filter");
    }
}
