//! The maps of the BPF programs at one moment, and the counts in them.

use crate::call::Call;
use crate::count::{Accounted, Counts, Kind, Stamped, Tally};
use crate::sums::Sums;
use crate::trace::signal_name;
use crate::windows::Clusters;

/// `enum total` of the program.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Total {
    Cpu,
    User,
    Interrupt,
    Preempted,
    Voluntary,
    Involuntary,
    Moved,
    WokenHere,
    WokenThere,
    Processes,
    Threads,
    Execs,
    Ended,
    Interrupts,
    Birth,
    Before,
    Lost,
    LostSites,
    Ran,
    Switches,
    Faults,
}

/// `enum fault` of the program.
pub(crate) const FAULTS: [&str; 7] =
    ["anonymous", "zero page", "copy on write", "file", "major", "huge", "protection"];
/// Everything in the maps at one moment.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    pub(crate) calls: Vec<Sums>,
    pub(crate) faults: Vec<Sums>,
    pub(crate) signals: Vec<u64>,
    pub(crate) totals: Vec<u64>,
    /// Of `calls`, by the same numbers.
    pub(crate) clusters: Vec<Clusters>,
}

/// The name of a call, by its place in the map of calls.
pub(crate) fn call_name(element: usize) -> String {
    Call::of_element(element).map_or_else(|| "unknown calls".into(), Call::name)
}

impl Snapshot {
    pub(crate) fn minus(&self, before: &Self) -> Self {
        fn each<T: Copy + Default + std::ops::Sub<Output = T>>(now: &[T], before: &[T]) -> Vec<T> {
            let before = before.iter().copied().chain(std::iter::repeat(T::default()));
            now.iter().zip(before).map(|(now, before)| *now - before).collect()
        }
        Self {
            calls: each(&self.calls, &before.calls),
            faults: each(&self.faults, &before.faults),
            signals: each(&self.signals, &before.signals),
            totals: each(&self.totals, &before.totals),
            clusters: self.clusters.clone(),
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let mut guessed = (0, 0);
        for (at, sums) in self.calls.iter().enumerate().filter(|(_, sums)| sums.count > 0) {
            let name = call_name(at);
            let moves = Call::of_element(at).is_some_and(Call::moves);
            let one_byte = moves.then_some(sums.one_byte);
            let tally = sums.tally_of(&self.clusters.get(at).copied().unwrap_or_default());
            let unseen = if tally.kernel_ns.is_some() { sums.unseen_ns().unwrap_or(0) } else { 0 };
            guessed = (guessed.0 + sums.untimed_ns() + unseen, guessed.1 + tally.kernel_error_ns);
            *counts.at(Kind::Call, name) = Tally { errors: Some(sums.errors), one_byte, ..tally };
        }
        for (sums, name) in self.faults.iter().zip(FAULTS).filter(|(sums, _)| sums.count > 0) {
            *counts.at(Kind::Fault, name) = sums.tally();
        }
        for (signal, count) in self.signals.iter().enumerate() {
            counts.add(Kind::Signal, &signal_name(signal as libc::c_int), *count);
        }
        let total = |which: Total| self.totals.get(which as usize).copied().unwrap_or(0);
        for (kind, name, which) in [
            (Kind::Switch, "voluntary", Total::Voluntary),
            (Kind::Switch, "involuntary", Total::Involuntary),
            (Kind::Switch, "to another CPU", Total::Moved),
            (Kind::Wake, "on the same CPU", Total::WokenHere),
            (Kind::Wake, "on another CPU", Total::WokenThere),
            (Kind::Task, "process", Total::Processes),
            (Kind::Task, "thread", Total::Threads),
            (Kind::Exec, "exec", Total::Execs),
            (Kind::Interrupt, "interrupt", Total::Interrupts),
        ] {
            counts.add(kind, name, total(which));
        }
        counts.stamped = Some(Stamped {
            cpu_ns: total(Total::Cpu),
            // Calls that were not timed count as user mode.
            user_ns: total(Total::User).wrapping_sub(guessed.0) as i64,
            user_error_ns: guessed.1,
            interrupts_ns: total(Total::Interrupt),
            preempted_ns: total(Total::Preempted),
            birth_ns: total(Total::Birth),
            before_ns: total(Total::Before),
        });
        (counts.unseen, counts.windowed) = self
            .calls
            .iter()
            .fold((0, 0), |(unseen, windowed), sums| (unseen + sums.unseen, windowed + sums.windowed));
        (counts.lost, counts.sites_lost) = (total(Total::Lost), total(Total::LostSites));
        counts.accounted = Some(Accounted {
            ran_ns: total(Total::Ran),
            switches: total(Total::Switches),
            faults: total(Total::Faults),
            running: 0,
            stolen_ns: 0,
        });
        let began = 1 + total(Total::Processes) + total(Total::Threads);
        counts.left_running = began.saturating_sub(total(Total::Ended));
        counts
    }
}
