//! The price of a crossing on this machine, from saved runs.

use crate::account::Account;
use crate::calibrate::{Pair, spanned};
use crate::call::is_i386;
use crate::count::{Counts, Kind};
use crate::saving::Instead;
use crate::signals;
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::time::Duration;
use tollgate_record::family::RefillFound;
use tollgate_record::number::time;
use tollgate_record::{Estimate, Host, Measurement, Run, Status, Store, Warning, document, phase, warning};

/// When prices are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before and after the command.
    Now,
    /// In an earlier run of this machine and kernel.
    Saved,
    /// Never: counts alone.
    None,
}

impl When {
    /// The names of the command line, with what each means.
    pub const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("now", Self::Now, "measured before and after the command"),
        ("saved", Self::Saved, "from the newest saved run of this machine and kernel"),
        ("none", Self::None, "counts without prices"),
    ];
}

/// An item with a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Call,
    Fault,
    /// A call by `int $0x80`.
    Int80,
    /// A clock that is read in user mode.
    Vdso,
    Signal,
    Switch,
    WakeHere,
    WakeThere,
    Thread,
    Process,
    Fiber,
    /// The cost that a running seccomp filter adds to a call.
    Filter,
}

/// A price in a run, if the run has it.
type Find = fn(&Run) -> Option<Estimate>;

/// Each price, from one run. Differences are of rows of the same run.
const ITEMS: [(Item, Find); 12] = [
    (Item::Call, |run| ns(run, "syscall/getppid")),
    (Item::Fault, fault),
    (Item::Int80, |run| ns(run, "syscall/int80")),
    (Item::Vdso, |run| ns(run, "vdso/clock_gettime")),
    // The call that sends and the one that returns from the handler are rows of their own.
    (Item::Signal, |run| less(ns(run, "signal/self")?, &["syscall/getppid", "syscall/getppid"], run)),
    (Item::Switch, |run| less(ns(run, "thread/yield")?, &["syscall/getppid"], run)),
    // A hop by futex is a call that wakes, one that waits, and a switch; a hop by yield is one call and a switch.
    (Item::WakeHere, |run| less(ns(run, "thread/futex")?, &["thread/yield", "syscall/getppid"], run)),
    (Item::WakeThere, |run| ns(run, "core/futex")),
    (Item::Thread, |run| ns(run, "spawn/thread")),
    (Item::Process, |run| ns(run, "spawn/fork")),
    (Item::Fiber, |run| ns(run, "fiber/own")),
    (Item::Filter, |run| less(ns(run, "syscall/getppid-filter-run")?, &["syscall/getppid"], run)),
];

/// Prices of one crossing, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// Ids of the runs that they are from.
    pub runs: Vec<String>,
    items: BTreeMap<Item, Estimate>,
    refill: Option<Refill>,
    /// Rows that other tasks disturbed, so that they price nothing.
    pub(crate) disturbed: Vec<&'static str>,
    /// Whether they are from saved runs, not measured for this bill.
    pub(crate) are_saved: bool,
    /// Why they are not those that were saved or measured.
    pub(crate) contradicted: Option<String>,
}

/// The cost of a refill, by the fit of a saved ring.
#[derive(Clone, Debug, PartialEq)]
struct Refill {
    run: String,
    /// The footprint at which a cache is full, and what each KiB beyond costs at most.
    steps: Vec<(f64, f64)>,
    /// The size of a line of the first data cache, if the machine reports it: one miss fetches it.
    line_kib: Option<f64>,
}

/// The prices could not be measured.
#[derive(Debug, thiserror::Error)]
#[error("the prices could not be measured: {0} (--price none omits them)")]
pub struct PriceError(String);

/// The words of the command that measures the prices: a call that does nothing, and a fault with its way in and out.
const PRICING: [&str; 7] = ["crossing", "--quick", "--budget-ms", "500", "--no-guest", "--json", "--no-save"];

/// The words of the command that measures what only some programs cross.
const PRICING_MORE: [&str; 6] = ["run", "--quick", "--budget-ms", "500", "--json", "--no-save"];

/// The rows behind the price of each kind. Those of calls and faults are always measured.
const ROWS: [(Kind, &[&str]); 4] = [
    (Kind::Signal, &["signal/self"]),
    (Kind::Switch, &["thread/yield", "thread/futex", "fiber/own"]),
    (Kind::Wake, &["thread/yield", "thread/futex", "core/futex"]),
    (Kind::Task, &["spawn/thread", "spawn/fork"]),
];

/// Prices that differ from those measured beside the command by more than this factor are contradicted: the speed of a
/// machine
/// changes by less.
const FAR: f64 = 3.0;
/// As a share, tolls may exceed the CPU time by their own error.
const APART: f64 = 0.1;
/// As many calls does no signal, switch or wake-up cost.
const CALLS: f64 = 100.0;
/// The row behind the price of calls of i386.
const INT80: [&str; 1] = ["syscall/int80"];
/// As many of the newest saved runs are searched for prices.
const LOOKED_AT: usize = 30;

impl Prices {
    /// From runs of this machine. Several runs of one probe give a price whose interval contains theirs.
    #[must_use]
    pub fn from(runs: &[Run]) -> Self {
        let price =
            |of: fn(&Run) -> Option<Estimate>| runs.iter().filter_map(of).reduce(|a, b| spanned(&a, &b));
        let items = ITEMS.iter().filter_map(|&(item, of)| Some((item, price(of)?))).collect();
        let rows = ROWS.iter().flat_map(|(_, rows)| rows.iter().copied());
        let is_disturbed = |row: &&str| {
            let steady = || runs.iter().filter_map(|run| Some(is_steady(run, measured(run, row)?)));
            steady().count() > 0 && !steady().any(|is| is)
        };
        let disturbed = rows.filter(is_disturbed).collect::<BTreeSet<_>>().into_iter().collect();
        let runs = runs.iter().map(|run| run.id.clone()).collect();
        Self { runs, items, disturbed, ..Self::default() }
    }

    /// Each price from the newest saved run that has it and was made on this machine with this kernel. None, if calls or
    /// faults have no price.
    #[must_use]
    pub fn saved(store: &Store, here: &Host) -> Option<Self> {
        let prices = Self::newest(store, here);
        let has = |item| prices.items.contains_key(&item);
        (has(Item::Call) && has(Item::Fault)).then_some(prices)
    }

    /// The same with what filling caches again costs, which is never measured beside a command.
    #[must_use]
    pub fn with_saved_refill(mut self, store: Option<&Store>, here: &Host) -> Self {
        self.refill = self.refill.or_else(|| Self::newest(store?, here).refill);
        self
    }

    fn newest(store: &Store, here: &Host) -> Self {
        let runs = store.trusted(LOOKED_AT).unwrap_or_default();
        let mut prices = Self { are_saved: true, ..Self::default() };
        for run in runs.into_iter().filter(|run| run.host.crosses_like(here)) {
            let before = prices.items.len();
            for (item, of) in ITEMS {
                if let (None, Some(price)) = (prices.items.get(&item), of(&run)) {
                    prices.items.insert(item, price);
                }
            }
            if prices.items.len() > before {
                prices.runs.push(run.id.clone());
            }
            prices.refill = prices.refill.or_else(|| refill(&run));
        }
        prices
    }

    /// Measures what the prices of calls and faults need, by this program in a process of its own.
    ///
    /// # Errors
    /// The program does not run or leaves no record.
    pub fn measure() -> Result<Run, PriceError> {
        measure(&PRICING)
    }

    /// The same after one or more runs of commands, with what the prices of everything need that these have crossed.
    ///
    /// # Errors
    /// The program does not run or leaves no record.
    pub fn measure_after<'c>(counts: impl IntoIterator<Item = &'c Counts>) -> Result<Vec<Run>, PriceError> {
        let mut runs = vec![Self::measure()?];
        let all: Vec<&Counts> = counts.into_iter().collect();
        let rows: Vec<&str> = ROWS
            .iter()
            .filter(|(kind, _)| all.iter().any(|counts| counts.total(*kind) > 0))
            .flat_map(|(_, rows)| rows.iter().copied())
            .chain(INT80.iter().copied().filter(|_| all.iter().any(|counts| counts.has_i386())))
            .collect();
        if !rows.is_empty() {
            let words = PRICING_MORE.iter().chain(&["syscall/getppid"]).chain(&rows).copied();
            runs.push(measure(&words.collect::<Vec<_>>())?);
        }
        Ok(runs)
    }

    /// These prices, if nothing that is known of the runs of a command contradicts them. Otherwise a call costs what it took
    /// beside the command, and nothing else has a price.
    #[must_use]
    pub(crate) fn believed(&self, beside: Option<Pair>, cpu: Duration, counts: Option<&Counts>) -> Self {
        let found = self.against_beside(beside).or_else(|| self.against_cpu_time(cpu, counts?));
        let Some(why) = found else { return self.clone() };
        let whose = match (self.are_saved, self.runs.as_slice()) {
            (true, [run]) => format!("the prices of the saved run {run} are"),
            (true, runs) => format!("the prices of the saved runs {} are", runs.join(", ")),
            (false, _) => "the prices that were measured are".into(),
        };
        let instead = match beside {
            Some(_) => "a call is priced by that, and nothing else has a price",
            None => "nothing has a price",
        };
        let call = beside.map(|pair| (Item::Call, pair.call));
        Self {
            items: call.into_iter().collect(),
            contradicted: Some(format!("{whose} not used: {why}; {instead} (--price now measures all)")),
            ..Self::default()
        }
    }

    /// A contradiction with the measurement beside the command.
    fn against_beside(&self, beside: Option<Pair>) -> Option<String> {
        let Pair { call, fault } = beside?;
        let far = |what: &str, price: Estimate, limits: [f64; 2]| {
            let is_far = !(limits[0]..=limits[1]).contains(&price.estimate);
            is_far.then(|| format!("{what} costs {} by them", time(price.estimate)))
        };
        let of = |item| self.items.get(&item).copied();
        let calls =
            of(Item::Call).and_then(|price| far("a call", price, [call.ci[0] / FAR, call.ci[1] * FAR]));
        // The way in and out is a part of a fault.
        let faults = of(Item::Fault)
            .and_then(|price| far("a fault's way in and out", price, [f64::MIN, fault.ci[1] * FAR]));
        let rest = [
            (Item::Signal, "a signal"),
            (Item::Switch, "a switch"),
            (Item::WakeHere, "a wake-up"),
            (Item::Int80, "int 0x80"),
        ]
        .into_iter()
        .find_map(|(item, what)| far(what, of(item)?, [f64::MIN, call.ci[1] * FAR * CALLS]));
        let found = calls.or(faults).or(rest)?;
        let (call, fault) = (time(call.estimate), time(fault.estimate));
        Some(format!("{found}, and beside the command a call took {call} and a whole fault {fault}"))
    }

    /// The CPU time, which contains what is paid.
    fn against_cpu_time(&self, cpu: Duration, counts: &Counts) -> Option<String> {
        let cpu = cpu.mul_f64(1.0 + APART);
        let least = |kinds: &[Kind]| -> f64 {
            let boundaries = counts.boundaries.iter().filter(|((kind, _), _)| kinds.contains(kind));
            boundaries
                .filter_map(|((kind, name), tally)| Some(self.of(*kind, name)?.ci[0] * tally.count as f64))
                .sum()
        };
        let [(what, ns), switches] = [
            ("tolls", least(&[Kind::Call, Kind::Fault, Kind::Signal])),
            ("switches", least(&[Kind::Switch])),
        ];
        let (what, ns) = if ns > switches.1 { (what, ns) } else { switches };
        (ns > cpu.as_nanos() as f64).then(|| {
            format!(
                "by them its {what} cost {}, and it used {} of CPU time",
                time(ns),
                time(cpu.as_nanos() as f64)
            )
        })
    }

    /// In a few words, where they are from.
    pub(crate) fn source(&self) -> Option<&'static str> {
        match (self.items.is_empty(), &self.contradicted, self.are_saved) {
            (true, ..) => None,
            (_, Some(_), _) => Some("beside the command"),
            (_, _, true) => Some("saved"),
            (_, _, false) => Some("before and after"),
        }
    }

    /// Prices of alternatives to crossings.
    pub(crate) fn instead(&self) -> Instead {
        let of = |item| self.items.get(&item).copied();
        Instead {
            vdso: of(Item::Vdso),
            wake_here: of(Item::WakeHere),
            fiber: of(Item::Fiber),
            filter: of(Item::Filter),
        }
    }

    /// The price of one crossing of a boundary.
    #[must_use]
    pub fn of(&self, kind: Kind, name: &str) -> Option<Estimate> {
        let item = match (kind, name) {
            (Kind::Call, name) if is_i386(name) => Item::Int80,
            (Kind::Call, _) => Item::Call,
            (Kind::Fault, _) => Item::Fault,
            (Kind::Signal, _) => Item::Signal,
            (Kind::Switch, "voluntary" | "involuntary") => Item::Switch,
            (Kind::Wake, "on the same CPU") => Item::WakeHere,
            (Kind::Wake, "on another CPU") => Item::WakeThere,
            (Kind::Task, "thread") => Item::Thread,
            (Kind::Task, "process") => Item::Process,
            _ => return None,
        };
        self.items.get(&item).copied()
    }

    /// The range of the refill after `switches`: from zero to that of a program of this size after others have filled the
    /// caches, and at most the cost of its misses and its CPU time.
    pub(crate) fn refill(&self, switches: u64, account: &Account) -> Option<RefillFound> {
        let refill = self.refill.as_ref()?;
        let resident = account.resident_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        // Lines beyond the size of a cache are fetched in any case. So the worst size is one that just fits into a cache.
        let at_most = |bytes: f64| {
            let steps = refill.steps.iter().filter(|(full, _)| bytes <= *full);
            steps.map(|(_, ns_per_kib)| ns_per_kib).sum::<f64>() * bytes / 1024.0
        };
        let sizes = refill.steps.iter().map(|(full, _)| full.min(resident));
        let (bytes, ns) = sizes.map(|bytes| (bytes, at_most(bytes))).max_by(|a, b| a.1.total_cmp(&b.1))?;
        // Refill is a part of the CPU time, and each line that it fetches is a miss.
        let ns_per_kib: f64 = refill.steps.iter().map(|(_, ns_per_kib)| ns_per_kib).sum();
        let by_misses = account.misses.zip(refill.line_kib);
        let by_misses = by_misses.map(|(misses, line)| ("misses", misses as f64 * line * ns_per_kib));
        let limits = [("CPU time", account.cpu.as_nanos() as f64)].into_iter().chain(by_misses);
        let each = limits.map(|(name, all)| (name, all / switches.max(1) as f64));
        let least = each.filter(|(_, limit)| *limit < ns).min_by(|a, b| a.1.total_cmp(&b.1));
        Some(RefillFound {
            switches,
            working_set_bytes: bytes as u64,
            each_ns: [0.0, least.map_or(ns, |(_, limit)| limit)],
            run: refill.run.clone(),
            narrowed_by: least.map(|(name, _)| name.into()),
            misses: account.misses,
        })
    }
}

/// Where one bill's prices are from: saved runs, or measurements before and after the command.
pub struct Pricing {
    saved: Option<Prices>,
    measured: Vec<Run>,
    when: Option<When>,
}

impl Pricing {
    /// Finds saved prices, or measures for the first time.
    ///
    /// # Errors
    /// Only saved prices are wanted and there are none, or the measurement fails.
    pub fn before(when: Option<When>, store: Option<&Store>, here: &Host) -> Result<Self, PriceError> {
        let wants_saved = matches!(when, None | Some(When::Saved));
        let saved = store.filter(|_| wants_saved).and_then(|store| Prices::saved(store, here));
        let now = when == Some(When::Now) || (when.is_none() && saved.is_none());
        if when == Some(When::Saved) && saved.is_none() {
            if let Some(Err(error)) = store.map(|store| store.trusted(0)) {
                return Err(PriceError(format!("--price saved: {error}")));
            }
            return Err(PriceError(
                "--price saved: no saved run of this machine and kernel has prices; 'tollgate crossing' measures them, or use --price now".into(),
            ));
        }
        let measured = if now { vec![Prices::measure()?] } else { Vec::new() };
        Ok(Self { saved, measured, when })
    }

    /// The prices of everything that was crossed; none if counts alone are wanted.
    ///
    /// # Errors
    /// The measurement fails.
    pub fn after<'c>(
        mut self,
        counts: impl IntoIterator<Item = &'c Counts>,
        store: Option<&Store>,
        here: &Host,
    ) -> Result<Option<Prices>, PriceError> {
        if !self.measured.is_empty() {
            self.measured.extend(Prices::measure_after(counts)?);
        }
        Ok(self.known(store, here))
    }

    /// The prices after the command, without measuring again if that `is_over`, and a warning if measuring them fails: that does not
    /// lose the bill.
    pub fn finally<'c>(
        self,
        counts: impl IntoIterator<Item = &'c Counts>,
        store: Option<&Store>,
        here: &Host,
        is_over: bool,
    ) -> (Option<Prices>, Option<Warning>) {
        if is_over {
            return (self.known(store, here), None);
        }
        match self.after(counts, store, here) {
            Ok(prices) => (prices, None),
            Err(error) => (None, Some(Warning::new(warning::UNPRICED, error.to_string()))),
        }
    }

    /// The prices from saved runs; none if counts alone are wanted.
    fn known(self, store: Option<&Store>, here: &Host) -> Option<Prices> {
        let prices = || self.saved.unwrap_or_else(|| Prices::from(&self.measured));
        (self.when != Some(When::None)).then(|| prices().with_saved_refill(store, here))
    }
}

fn measure(words: &[&str]) -> Result<Run, PriceError> {
    let why = |error: &dyn std::fmt::Display| PriceError(error.to_string());
    let program = std::env::current_exe().map_err(|error| why(&error))?;
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stderr(Stdio::null());
    signals::restore_in(&mut command);
    let output = command.output().map_err(|error| why(&error))?;
    document::from_json(&output.stdout).map_err(|error| why(&error))
}

/// The knees of a ring, if it has any.
fn refill(run: &Run) -> Option<Refill> {
    let knees = run.results.iter().filter(|row| row.status == Status::Measured);
    let steps: Vec<(f64, f64)> =
        knees.filter_map(|row| Some((row.found.knee()?.knee_bytes? as f64, row.ns?.ci[1]))).collect();
    let mut caches = run.host.caches.iter().filter(|cache| cache.level == 1 && cache.kind != "Instruction");
    let line_kib = caches.find_map(|cache| cache.line_bytes).map(|bytes| f64::from(bytes) / 1024.0);
    (!steps.is_empty()).then(|| Refill { run: run.id.clone(), steps, line_kib })
}

fn ns(run: &Run, probe: &str) -> Option<Estimate> {
    measured(run, probe).filter(|row| is_steady(run, row))?.ns
}

/// A figure of this size has a time slice of another task in it: Linux gives none of less than 0.7 ms.
const SLICE_NS: f64 = 500_000.0;

/// Whether a figure is that of the crossing, and contains no time of other tasks. Where these take the CPU during some batches,
/// it is far above the least batch. Where they do so in each, a switch seems to cost more than one with a wake-up.
fn is_steady(run: &Run, row: &Measurement) -> bool {
    let Some(ns) = row.ns else { return false };
    let hop = measured(run, "thread/futex").filter(|_| row.probe == "thread/yield").and_then(|hop| hop.ns);
    let switches = ["thread/", "core/"].iter().any(|group| row.probe.starts_with(group));
    let most = if switches { hop.map_or(SLICE_NS, |hop| hop.ci[1].min(SLICE_NS)) } else { f64::INFINITY };
    ns.ci[1] <= 2.0 * ns.min && ns.estimate <= most
}

/// A figure less those of other rows.
fn less(from: Estimate, rows: &[&str], run: &Run) -> Option<Estimate> {
    rows.iter().try_fold(from, |rest, row| Some(rest.minus(&ns(run, row)?)))
}

fn measured<'r>(run: &'r Run, probe: &str) -> Option<&'r Measurement> {
    run.results.iter().find(|row| row.probe == probe && row.status == Status::Measured)
}

/// The way in and the way out of a page fault. The tracepoint stamps earlier and adds less than the event.
fn fault(run: &Run) -> Option<Estimate> {
    ["fault/anonymous-tracepoint", "fault/anonymous"].iter().find_map(|probe| {
        let row = measured(run, probe)?;
        Some(Estimate::sum([row.phase(phase::ENTRY)?.ns?, row.phase(phase::RETURN)?.ns?]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::family::{Found, KneeFound};
    use tollgate_record::host::Cache;
    use tollgate_record::{Per, Tool};

    fn run(rows: &[(&str, f64)]) -> Run {
        let tool = Tool { version: String::new(), commit: String::new() };
        let mut run = Run::begin(String::new(), String::new(), tool, Vec::new(), Host::default(), 0);
        run.results = rows
            .iter()
            .map(|(probe, ns)| {
                let mut row = Measurement::empty(probe, "host", Per::Run, Status::Measured);
                row.ns = Some(Estimate::point(*ns));
                row
            })
            .collect();
        run
    }

    #[test]
    fn a_price_before_and_one_after_give_an_interval_that_contains_both() {
        let price =
            spanned(&Estimate::within(100.0, [98.0, 103.0]), &Estimate::within(120.0, [119.0, 125.0]));
        assert_eq!((price.estimate, price.ci), (110.0, [98.0, 125.0]));
    }

    #[test]
    fn what_has_a_row_of_its_own_is_not_in_another_price() {
        let rows = [
            ("syscall/getppid", 100.0),
            ("signal/self", 1_000.0),
            ("thread/yield", 500.0),
            ("thread/futex", 800.0),
            ("core/futex", 5_000.0),
            ("spawn/thread", 9_000.0),
        ];
        let prices = Prices::from(&[run(&rows)]);
        let of = |kind, name| prices.of(kind, name).map(|price| price.estimate);
        assert_eq!(of(Kind::Signal, "SIGUSR1"), Some(800.0));
        assert_eq!(of(Kind::Switch, "involuntary"), Some(400.0));
        assert_eq!(of(Kind::Switch, "to another CPU"), None);
        assert_eq!(of(Kind::Wake, "on the same CPU"), Some(200.0));
        assert_eq!(of(Kind::Wake, "on another CPU"), Some(5_000.0));
        assert_eq!((of(Kind::Task, "thread"), of(Kind::Task, "process")), (Some(9_000.0), None));
    }

    #[test]
    fn a_row_that_others_disturbed_is_no_price() {
        let mut busy =
            run(&[("syscall/getppid", 169.0), ("thread/yield", 2_038.0), ("thread/futex", 2_272.0)]);
        let quiet = busy.clone();
        // As recorded beside eleven other tasks: some batches have the time slice of another one in them.
        let disturbed = Estimate { min: 1_938.0, ..Estimate::within(2_038.0, [1_923.0, 58_915.0]) };
        busy.results[1].ns = Some(disturbed);
        let prices = Prices::from(std::slice::from_ref(&busy));
        assert_eq!(prices.of(Kind::Switch, "voluntary"), None);
        assert_eq!(prices.of(Kind::Wake, "on the same CPU"), None);
        assert_eq!(prices.of(Kind::Call, "read").map(|price| price.estimate), Some(169.0));
        assert_eq!(prices.disturbed, ["thread/yield"]);
        // A time slice in each batch, as recorded beside a task that never sleeps.
        for (yielded, hop) in [(23_000.0, 2_300.0), (5_670_000.0, 5_700_000.0)] {
            let spun = run(&[("syscall/getppid", 271.0), ("thread/yield", yielded), ("thread/futex", hop)]);
            assert_eq!(Prices::from(&[spun]).of(Kind::Switch, "voluntary"), None, "{yielded}");
        }
        // The same row of another run is the price.
        let prices = Prices::from(&[busy, quiet]);
        assert_eq!(prices.of(Kind::Switch, "voluntary").map(|price| price.estimate), Some(1_869.0));
        assert!(prices.disturbed.is_empty());
    }

    #[test]
    fn refill_is_at_most_that_of_a_working_set_that_just_fits() {
        let mut ring = run(&[("ring/knee", 10.0), ("ring/knee", 40.0)]);
        for (row, kib) in ring.results.iter_mut().zip([32, 1024]) {
            row.found = Found::Knee(KneeFound { knee_bytes: Some(kib * 1024), ..KneeFound::default() });
        }
        let unknown = Prices { refill: refill(&ring), ..Prices::default() };
        let first = Cache { level: 1, kind: "Data".into(), line_bytes: Some(64), ..Cache::default() };
        ring.host.caches.push(first);
        let prices = Prices { refill: refill(&ring), ..Prices::default() };
        let used = |resident_bytes, misses| Account {
            resident_bytes,
            misses,
            cpu: Duration::from_millis(7),
            ..Account::of_other(Duration::ZERO)
        };
        let refill = |switches, resident, misses| prices.refill(switches, &used(resident, misses)).unwrap();
        let most = |resident| {
            let it = refill(7, resident, None);
            (it.working_set_bytes, it.each_ns, it.narrowed_by)
        };
        // 1,024 KiB fit into the second cache alone; 16 KiB fit into both.
        assert_eq!(most(None), (1024 * 1024, [0.0, 40_960.0], None));
        assert_eq!(most(Some(16 * 1024)), (16 * 1024, [0.0, 800.0], None));
        // 700 misses are 43.75 KiB of 50 ns each, after 7 switches; 7,000 switches have 1 us of CPU time each.
        let narrowed = |switches, misses| {
            let it = refill(switches, None, misses);
            (it.each_ns[1], it.narrowed_by, it.misses)
        };
        assert_eq!(narrowed(7, Some(700)), (312.5, Some("misses".into()), Some(700)));
        assert_eq!(narrowed(7, Some(7_000_000)), (40_960.0, None, Some(7_000_000)));
        assert_eq!(narrowed(7_000, Some(7_000_000)), (1_000.0, Some("CPU time".into()), Some(7_000_000)));
        assert_eq!(narrowed(7_000, None), (1_000.0, Some("CPU time".into()), None));
        assert_eq!(Prices::default().refill(7, &used(None, None)), None);
        // Where the line of the cache is unknown, misses say nothing.
        assert_eq!(unknown.refill(7, &used(None, Some(700))).unwrap().narrowed_by, None);
    }

    #[test]
    fn prices_that_contradict_what_was_measured_are_not_believed() {
        let mut counts = Counts::default();
        counts.add(Kind::Call, "read", 1_000);
        let rows = |scale: f64| {
            run(&[
                ("syscall/getppid", 100.0 * scale),
                ("signal/self", 1_000.0 * scale),
                ("vdso/clock_gettime", 20.0),
            ])
        };
        let believed = |scale: f64, beside: bool| {
            let saved = Prices { are_saved: true, ..Prices::from(&[rows(scale)]) };
            let pair = Pair { call: Estimate::point(100.0), fault: Estimate::point(800.0) };
            saved.believed(beside.then_some(pair), Duration::from_millis(10), Some(&counts))
        };
        let call = |prices: &Prices| prices.of(Kind::Call, "read").map(|price| price.estimate);
        for scale in [0.5, 1.0, 2.0] {
            let prices = believed(scale, true);
            assert_eq!((call(&prices), prices.contradicted.as_ref()), (Some(100.0 * scale), None), "{scale}");
            assert_eq!(prices.source(), Some("saved"));
        }
        for scale in [0.001, 0.2, 5.0, 1_000.0] {
            let prices = believed(scale, true);
            assert_eq!(call(&prices), Some(100.0), "{scale}: as beside the command");
            assert_eq!(prices.of(Kind::Signal, "SIGUSR1"), None, "{scale}");
            assert_eq!(prices.source(), Some("beside the command"));
            let why = prices.contradicted.unwrap();
            assert!(why.contains("a call costs ") && why.contains("a call took 100 ns"), "{why}");
        }
        // Nothing was measured: 1,000 calls of 100 us are more than the CPU time.
        let prices = believed(1_000.0, false);
        assert_eq!((call(&prices), prices.source()), (None, None));
        let why = prices.contradicted.unwrap();
        assert!(why.contains("its tolls cost 100 ms") && why.contains("of CPU time"), "{why}");
        assert_eq!(call(&believed(10.0, false)), Some(1_000.0), "1 ms of 10 ms is possible");
    }

    #[test]
    fn calls_by_int80_have_a_price_of_their_own() {
        let prices = Prices::from(&[run(&[("syscall/getppid", 100.0), ("syscall/int80", 900.0)])]);
        let of = |name| prices.of(Kind::Call, name).map(|price| price.estimate);
        assert_eq!(
            (of("read"), of("read (x32)"), of("read (i386)")),
            (Some(100.0), Some(100.0), Some(900.0))
        );
        let none = Prices::from(&[run(&[("syscall/getppid", 100.0)])]);
        assert_eq!(none.of(Kind::Call, "read (i386)"), None);
    }
}
