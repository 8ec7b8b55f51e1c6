//! The port to memory that the lines of both caches share.
//!
//! A miss of the data cache is found when its instruction is in WB. The front end runs ahead of that, and may have missed a
//! line of its own by then, although the instruction that needs it comes later. Memory sends the words of one line behind those
//! of the other, in the order in which the port had the requests. A hub (the RTL's TLBroadcast) asks the data cache for a line
//! that the front end missed, before memory: an access at that time is replayed.

use super::front_end::REPLAY;
use crate::keys::Memory as Keys;

/// Cycles by which an access is back in EX later than one that is replayed for another reason: its instruction waits in ID until
/// the cache is free again.
const BUSY: i64 = 1;

/// The next line in sequence, which the front end missed before an access was in EX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ahead {
    /// When it was missed, and by how many cycles it is later because of accesses.
    pub(super) missed: i64,
    pub(super) later: u32,
    /// Whether one of them missed another line.
    pub(super) met: bool,
}

/// Cycles that both lines wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meeting {
    pub(super) data: i64,
    pub(super) fetch: i64,
}

/// A port, if the caches share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinePort {
    words: i64,
    request: i64,
    fetch_request: i64,
    /// Cycles until an access that was turned away is in EX again.
    again: i64,
}

impl LinePort {
    pub(super) fn new(keys: &Keys) -> Option<Self> {
        (keys.line_words > 0).then_some(LinePort {
            words: keys.line_words.into(),
            request: keys.request.into(),
            fetch_request: keys.fetch_request.into(),
            again: REPLAY + BUSY,
        })
    }

    /// An access misses in a cycle, and the front end missed `gap` cycles before, whose probe is `held` up. `crosses` says whether
    /// the instruction begins in the word before its last.
    pub(super) fn meet(&self, gap: i64, held: i64, crosses: bool) -> Meeting {
        let mut data = match gap {
            // rtl: the crossbar of the tile (tlMasterXbar) takes one request a cycle: the fetch's, and the access is replayed.
            0 => self.again + i64::from(crosses),
            // rtl: the hub (TLBroadcast) takes none in the cycle in which it sends the probe for the one before.
            1 => 1,
            _ => 0,
        };
        // When memory sees the requests, from the fetch's miss on; both lines come as late behind that.
        let (mut first, second) = (gap + data + self.request, self.fetch_request + held);
        if second <= first {
            first = first.max(second + self.words);
            data = first - gap - self.request;
            return Meeting { data, fetch: held };
        }
        Meeting { data, fetch: held + (first + self.words - second).max(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Core;

    fn port() -> LinePort {
        let core = Core::preset("rocket").unwrap();
        LinePort::new(&core.memory).unwrap()
    }

    #[test]
    fn the_words_of_one_line_come_behind_those_of_the_other() {
        // rtl: fp-eager. The fetch misses in 2309 and the access in 2313: memory sees 2315 and 2316, and sends the access's
        // words first.
        assert_eq!(port().meet(4, 0, false), Meeting { data: 0, fetch: 7 });
        // 2144 and 2145: the hub takes the second a cycle later, in 2148 and 2151.
        assert_eq!(port().meet(1, 0, false), Meeting { data: 1, fetch: 5 });
        // Far enough from each other.
        assert_eq!(port().meet(13, 0, false), Meeting { data: 0, fetch: 0 });
        assert_eq!(port().meet(12, 0, false), Meeting { data: 1, fetch: 0 });
    }

    #[test]
    fn of_two_requests_in_a_cycle_the_access_is_replayed() {
        // rtl: fp-eager. Both in 2488, again in 2494; memory sees 2495 and 2496, and the access's words are 7 later.
        assert_eq!(port().meet(0, 0, false), Meeting { data: 13, fetch: 0 });
        // Both in 2410, again in 2417, because the second half of the instruction comes a cycle later; 6 later.
        assert_eq!(port().meet(0, 0, true), Meeting { data: 13, fetch: 0 });
    }

    #[test]
    fn caches_may_have_a_port_each() {
        let core = Core::from_toml("name = 'two'\nbase = 'rocket'\nmemory.line-words = 0").unwrap();
        assert_eq!(LinePort::new(&core.memory), None);
    }
}
