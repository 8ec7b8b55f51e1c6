//! The bill: a record of what was counted and what that costs on this machine.

use crate::account::{Account, End, tick};
use crate::calibrate::{Overhead, Pair};
use crate::count::{Counts, Kind, Stamped, Tally};
use crate::counted::{Counted, Repeat};
use crate::price::Prices;
use crate::saving::savings;
use crate::sites::{Names, Site};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;
use tollgate_record::family::{
    Asked, CallSite, ExecAsked, ExecFound, Found, RepeatFound, TimingWindows, TollFound,
};
use tollgate_record::number::percent;
use tollgate_record::{
    EpochFigure, Estimate, Evidence, Measurement, Per, Phase, PhaseName, Status, Warning, counter, phase,
    warning,
};

/// Everything that a bill is made of.
pub struct Input<'a> {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Whether the process was already running.
    pub attached: bool,
    /// The counts of its runs.
    pub counted: &'a Counted,
    /// The prices of crossings here, unless counts alone are wanted.
    pub prices: Option<&'a Prices>,
}

/// As many call sites are in the bill.
const SITES: usize = 10;

/// A larger share of the CPU time that no part explains is a warning.
const UNATTRIBUTED: f64 = 0.1;

/// The rows of the bill: the program as a whole first, then each boundary, the most expensive first; without prices the one that
/// is crossed most.
#[must_use]
pub fn rows(input: &Input<'_>) -> Vec<Measurement> {
    let asked = Asked::Exec(ExecAsked { command: input.command.clone(), attached: input.attached });
    let counted = input.counted;
    let prices = input.prices.map(|prices| counted.believed(prices)).unwrap_or_default();
    let within = counted.overhead.map(|overhead| Within::of(&overhead, &prices));
    let mut boundaries: Vec<Measurement> = counted
        .counts
        .iter()
        .flat_map(|counts| &counts.boundaries)
        .map(|((kind, name), tally)| boundary(*kind, name, tally, &prices, within))
        .collect();
    boundaries.sort_by(|a, b| {
        let cost = |row: &Measurement| match (row.ns, input.prices) {
            (Some(ns), Some(_)) => ns.estimate,
            _ => f64::NEG_INFINITY,
        };
        cost(b).total_cmp(&cost(a)).then(b.crossings.cmp(&a.crossings)).then(a.probe.cmp(&b.probe))
    });
    let mut rows = vec![whole(input, &prices, within, &boundaries)];
    rows.append(&mut boundaries);
    for row in &mut rows {
        row.asked = asked.clone();
        if let Found::Toll(toll) = &mut row.found {
            toll.counts =
                counted.repeats.iter().filter_map(|it| it.crossings(&toll.kind, &toll.name)).collect();
        }
    }
    rows
}

/// The words of a command as text.
#[must_use]
pub fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The time from start to end as a row of its own, for comparisons.
#[must_use]
pub fn elapsed(counted: &Counted) -> Measurement {
    let ns = counted.account.wall.as_nanos() as f64;
    let mut row = Measurement::empty("exec/elapsed", "host", Per::Run, Status::Measured);
    (row.samples, row.ns) = (1, Some(Estimate::point(ns)));
    row.epochs = vec![EpochFigure { ns, ..EpochFigure::default() }];
    row
}

/// The call sites that pay most, and the one that crosses most: where counting adds more than a call takes, its cost can come
/// out as nothing. Without any prices and times, those that cross most.
fn sites(sites: &[Site], prices: &Prices, within: Option<Within>) -> Vec<CallSite> {
    let cost = |site: &Site| {
        let (toll, work) = parts(site.kind, &site.name, &site.tally, prices, within);
        let parts = [toll, work].into_iter().flatten();
        (toll.is_some() || work.is_some()).then(|| Estimate::sum(parts))
    };
    let mut ranked: Vec<(&Site, Option<Estimate>)> = sites.iter().map(|site| (site, cost(site))).collect();
    ranked.sort_by(|(a, a_cost), (b, b_cost)| {
        let ns = |cost: &Option<Estimate>| cost.map_or(-1.0, |ns| ns.estimate);
        ns(b_cost).total_cmp(&ns(a_cost)).then(b.tally.count.cmp(&a.tally.count))
    });
    let busiest = ranked.iter().enumerate().max_by_key(|(_, (site, _))| site.tally.count).map(|(at, _)| at);
    if let Some(at) = busiest.filter(|at| *at >= SITES) {
        ranked.swap(SITES - 1, at);
    }
    let names = Names::new();
    let named = |(site, cost): &(&Site, Option<Estimate>)| {
        let (frames, complete) = names.frames(site);
        CallSite {
            kind: site.kind.name().into(),
            name: site.name.clone(),
            crossings: site.tally.count,
            ns: cost.map(|ns| [ns.estimate, ns.ci[0], ns.ci[1]]),
            frames,
            complete,
        }
    };
    ranked.iter().take(SITES).map(named).collect()
}

/// One of several runs.
fn repeated(repeat: &Repeat) -> RepeatFound {
    let (status, signal) = match repeat.account.end {
        End::Exited(status) => (Some(status), None),
        End::Killed(signal) => (None, Some(signal)),
        End::TimeUp | End::Watched => (None, None),
    };
    let account = &repeat.account;
    let (elapsed_seconds, cpu_seconds) = (account.wall.as_secs_f64(), account.cpu.as_secs_f64());
    RepeatFound { elapsed_seconds, cpu_seconds, traced: repeat.is_traced, status, signal }
}

fn whole(
    input: &Input<'_>,
    prices: &Prices,
    within: Option<Within>,
    boundaries: &[Measurement],
) -> Measurement {
    let (counted, account) = (input.counted, &input.counted.account);
    let counts = counted.counts.as_ref();
    let mut row = Measurement::empty("exec/total", "host", Per::Run, Status::Measured);
    row.samples = 1;
    row.crossings =
        counts.map_or(0, |counts| [Kind::Call, Kind::Fault].into_iter().map(|kind| counts.total(kind)).sum());
    let mut found = ExecFound {
        source: counted.source.name().into(),
        counting_slowdown: counted.slowdown,
        left_running: counts.map(|counts| counts.left_running).filter(|left| *left > 0 && !input.attached),
        windows: counts.filter(|counts| counts.windows > 0).map(|counts| TimingWindows {
            windows: counts.windows,
            timed: counts.windowed,
            unseen: counts.unseen,
        }),
        priced_by: prices.runs.clone(),
        price_source: prices.source().map(str::to_owned),
        refill: prices.refill(switches(counted), account),
        savings: savings(boundaries, &prices.instead()),
        repeats: counted.repeats.iter().map(repeated).collect(),
        sites: counted.sites.as_ref().map_or_else(Vec::new, |all| sites(&all.0, prices, within)),
        ..ExecFound::default()
    };
    match account.end {
        End::Exited(status) => found.status = Some(status),
        End::Killed(signal) => found.signal = Some(signal),
        End::TimeUp => found.time_up = true,
        End::Watched => {}
    }
    row.found = Found::Exec(found);
    let seconds = |time: Duration| time.as_secs_f64();
    let tolls = tolls(boundaries);
    // The cost of counting is not the program's.
    let counting = counting(counted);
    let gross = Estimate::point(account.cpu.as_nanos() as f64);
    let cpu = counting.map_or(gross, |counting| gross.minus(&counting));
    for (counter, value) in [
        (counter::ELAPSED, seconds(account.wall)),
        (counter::CPU_SECONDS, cpu.estimate / 1e9),
        (counter::CPU_SHARE, cpu.estimate / 1e9 / seconds(account.wall).max(1e-9)),
    ] {
        row.count(counter, value);
    }
    // Only the parent of a process has its accounts.
    let accounts = [
        (counter::USER_SECONDS, seconds(account.user)),
        (counter::SYSTEM_SECONDS, seconds(account.system)),
        (counter::MINOR_FAULTS, account.minor_faults as f64),
        (counter::MAJOR_FAULTS, account.major_faults as f64),
        (counter::VOLUNTARY_SWITCHES, account.voluntary_switches as f64),
        (counter::INVOLUNTARY_SWITCHES, account.involuntary_switches as f64),
    ];
    // Each stop of the tracer is a switch.
    let is_known = |counter| {
        let is_switch = [counter::VOLUNTARY_SWITCHES, counter::INVOLUNTARY_SWITCHES].contains(&counter);
        !(input.attached || counted.is_traced() && is_switch)
    };
    for (counter, value) in accounts.into_iter().filter(|(counter, _)| is_known(*counter)) {
        row.count(counter, value);
    }
    if let Some(bytes) = account.resident_bytes {
        row.count(counter::MAXIMUM_RESIDENT, bytes as f64 / 1024.0);
    }
    row.ns = Some(cpu);
    row.epochs = vec![EpochFigure { ns: cpu.estimate, ..EpochFigure::default() }];
    row.samples = counted.repeats.len().max(1) as u64;
    row.phases = match counts.and_then(|counts| Some((counts, counts.stamped?, counted.overhead?))) {
        Some((counts, stamped, overhead)) => {
            let mut parts = stamped_parts(counts, &stamped, &overhead, boundaries);
            let sum = Estimate::sum(parts.iter().filter_map(|part| part.ns));
            // Without the intervals: what moves a part moves the total or another part as far.
            let rest = Estimate::point(cpu.estimate - sum.estimate);
            parts.push(part(phase::UNATTRIBUTED, Evidence::Difference, rest));
            if rest.estimate.abs() > UNATTRIBUTED * cpu.estimate {
                let share = percent(rest.estimate / cpu.estimate);
                let why = match input.prices {
                    Some(_) => "the time stamps and the kernel's accounts differ by that",
                    None => "the ways into the kernel and back have no price (--price now measures it)",
                };
                let text = format!("{share} of the CPU time is unattributed: {why}");
                row.warnings.push(Warning::new(warning::UNATTRIBUTED, text));
            }
            row.warnings.extend(contradiction(account, counts, &parts, counting));
            parts.extend(waiting(counts, &stamped));
            parts
        }
        None => accounted(counted, tolls, counting),
    };
    // Beside the parts, which sum to the total.
    row.phases.extend(counting.map(|counting| part(phase::COUNTING, Evidence::Difference, counting)));
    if counted.is_traced() {
        let text = "the times contain the stops of the tracer, which cannot be told apart from the kernel's work: \
                    with --repeat 5, four more runs are timed without it";
        row.warnings.push(Warning::new(warning::UNATTRIBUTED, text));
    }
    row.warnings.extend(counted.warnings.iter().cloned());
    row.warnings
        .extend(prices.contradicted.iter().map(|text| Warning::new(warning::CONTRADICTED, text.clone())));
    if !prices.disturbed.is_empty() {
        let text = format!(
            "what is priced by {} has no price here: other tasks disturbed that measurement; repeat it on a quieter machine",
            prices.disturbed.join(", ")
        );
        row.warnings.push(Warning::new(warning::UNPRICED, text));
    }
    if input.prices.is_some() {
        unpriced(&mut row, boundaries);
    }
    row
}

/// Warns where times that are estimated from windows contradict the kernel's own accounts. A tick that arrives on the way into
/// the kernel or back is accounted where interrupts are enabled again, so that tolls can be on either side.
fn contradiction(
    account: &Account,
    counts: &Counts,
    parts: &[Phase],
    counting: Option<Estimate>,
) -> Option<Warning> {
    // Only the parent of all has their accounts.
    if counts.unseen == 0 || counts.left_running > 0 || account.end == End::Watched {
        return None;
    }
    let of = |name: PhaseName| parts.iter().find(|part| part.name == name)?.ns;
    let user = of(phase::USER)?;
    let counting = counting.map_or(0.0, |counting| counting.ci[1]);
    let on_the_way = of(phase::TOLL).map_or(0.0, |ns| ns.ci[1]) + counting;
    let cpu = account.cpu.as_nanos() as f64;
    let [least, most] = account.user_interval(tick());
    let (low, high) = (user.ci[0] - UNATTRIBUTED * cpu, user.ci[1] + on_the_way + UNATTRIBUTED * cpu);
    let share = |ns: f64| percent(ns / cpu);
    let text = format!(
        "the times of {} calls are estimated, and contradict the kernel's own accounts: these have {} to {} of the CPU time \
         in the program's own code, the bill has {}; with --timeline FILE every call is seen",
        counts.unseen,
        share(least),
        share(most),
        share(user.estimate)
    );
    (most < low || least > high).then(|| Warning::new(warning::CONTRADICTED, text))
}

/// The cost of counting in the timed run.
fn counting(counted: &Counted) -> Option<Estimate> {
    let (counts, Overhead { bare, counted, .. }) = (counted.counts.as_ref()?, counted.overhead?);
    let added =
        |counted: &Estimate, bare: &Estimate, kind| counted.minus(bare).scaled(counts.total(kind) as f64);
    let calls = added(&counted.call, &bare.call, Kind::Call);
    // Only stamps make a fault slower; events count it where it happens.
    let faults = counts.stamped.map(|_| added(&counted.fault, &bare.fault, Kind::Fault));
    Some(Estimate::sum([Some(calls), faults].into_iter().flatten()))
}

/// The parts by the kernel's accounts: what is not toll of the time in the kernel is work.
fn accounted(counted: &Counted, tolls: Option<Estimate>, counting: Option<Estimate>) -> Vec<Phase> {
    let account = &counted.account;
    let ns = |time: Duration| Estimate::point(time.as_nanos() as f64);
    // The middle, and not the share itself: that of a few ticks is often none or all of them.
    let [low, high] = account.user_interval(tick());
    let user = Estimate::within((low + high) / 2.0, [low, high]);
    let system = ns(account.cpu).minus(&user);
    let mut parts = vec![part(phase::USER, Evidence::Accounted, user)];
    let known = Estimate::sum([tolls, counting].into_iter().flatten());
    match tolls {
        Some(tolls) => {
            parts.push(part(phase::TOLL, Evidence::Priced, tolls));
            // The stops of a tracer are in the rest, too.
            let rest = if counted.is_traced() { phase::UNATTRIBUTED } else { phase::KERNEL_WORK };
            parts.push(part(rest, Evidence::Difference, system.minus(&known)));
        }
        None if counting.is_some() => {
            parts.push(part(phase::SYSTEM, Evidence::Difference, system.minus(&known)));
        }
        None => parts.push(part(phase::SYSTEM, Evidence::Accounted, system)),
    }
    parts
}

/// The cost of counting between the stamps of one crossing: of a call, of a fault.
#[derive(Clone, Copy)]
struct Within {
    call: Estimate,
    fault: Estimate,
}

impl Within {
    /// A call that does nothing is all way in and out, so its stamps enclose nothing else. A bare fault is its
    /// toll and its work, so that the rest of the time between its stamps was added.
    fn of(overhead: &Overhead, prices: &Prices) -> Self {
        let Pair { call, fault } = overhead.inside;
        let toll = prices.of(Kind::Fault, "").unwrap_or(Estimate::point(0.0));
        Self { call, fault: fault.minus(&overhead.bare.fault).minus(&Estimate::point(-toll.estimate)) }
    }

    fn kind(&self, kind: Kind) -> Option<Estimate> {
        match kind {
            Kind::Call => Some(self.call),
            Kind::Fault => Some(self.fault),
            _ => None,
        }
    }
}

/// The parts by time stamps in the kernel.
fn stamped_parts(
    counts: &Counts,
    stamped: &Stamped,
    overhead: &Overhead,
    boundaries: &[Measurement],
) -> Vec<Phase> {
    let count = |kind| counts.total(kind) as f64;
    let (calls, faults) = (count(Kind::Call), count(Kind::Fault));
    let (bare, counted, inside) = (&overhead.bare, &overhead.counted, &overhead.inside);
    let point = |ns: u64| Estimate::point(ns as f64);
    let signals = sum(of_kinds(boundaries, |kind| kind == Kind::Signal.name()), phase::TOLL);
    // The ways in and out are outside of the stamps, with what counting adds there. So are signals, which the kernel
    // delivers on its way out. A call without a price leaves a remainder.
    let priced = sum(of_kinds(boundaries, |kind| kind == Kind::Call.name()), phase::TOLL);
    let ways = priced.unwrap_or_else(|| bare.call.scaled(calls));
    let (user, error) = (stamped.user_ns as f64, stamped.user_error_ns as f64);
    let user = Estimate::within(user, [user - error, user + error])
        .minus(&signals.unwrap_or(Estimate::point(0.0)))
        .minus(&ways)
        .minus(&counted.call.minus(&bare.call).minus(&inside.call).scaled(calls))
        .minus(&counted.fault.minus(&inside.fault).scaled(faults));
    let mut parts = vec![part(phase::USER, Evidence::Difference, user)];
    if let Some(tolls) = tolls(boundaries) {
        parts.push(part(phase::TOLL, Evidence::Priced, tolls));
    }
    let work = sum(boundaries.iter(), phase::KERNEL_WORK).unwrap_or(Estimate::point(0.0));
    let work = Estimate::sum([work, point(stamped.birth_ns)]);
    parts.push(part(phase::KERNEL_WORK, Evidence::KernelTimestamp, work));
    if stamped.interrupts_ns > 0 {
        parts.push(part(phase::INTERRUPTS, Evidence::KernelTimestamp, point(stamped.interrupts_ns)));
    }
    parts
}

/// Time off the CPU over all tasks, by the call that waited.
fn waiting(counts: &Counts, stamped: &Stamped) -> Option<Phase> {
    let mut causes: BTreeMap<String, f64> = BTreeMap::new();
    for ((kind, name), tally) in &counts.boundaries {
        let ns = tally.waiting_ns.unwrap_or(0) as f64;
        let cause = if *kind == Kind::Fault { "page faults".into() } else { format!("in {name}") };
        *causes.entry(cause).or_default() += ns;
    }
    causes.insert("ready to run".into(), stamped.preempted_ns as f64);
    causes.retain(|_, ns| *ns > 0.0);
    let total: f64 = causes.values().sum();
    let waiting = part(phase::WAITING, Evidence::KernelTimestamp, Estimate::point(total));
    (total > 0.0).then_some(Phase { causes, ..waiting })
}

fn boundary(kind: Kind, name: &str, tally: &Tally, prices: &Prices, within: Option<Within>) -> Measurement {
    let id = format!("exec/{}/{name}", kind.name().replace(' ', "-"));
    let mut row = Measurement::empty(&id, "host", Per::Run, Status::Measured);
    row.samples = 1;
    row.crossings = tally.count;
    let price = prices.of(kind, name);
    let (toll, work) = parts(kind, name, tally, prices, within);
    row.phases.extend(toll.map(|ns| part(phase::TOLL, Evidence::Priced, ns)));
    row.phases.extend(work.map(|ns| part(phase::KERNEL_WORK, Evidence::KernelTimestamp, ns)));
    if !row.phases.is_empty() {
        row.ns = Some(Estimate::sum(row.phases.iter().filter_map(|part| part.ns)));
    }
    if let Some(ns) = tally.waiting_ns.filter(|ns| *ns > 0) {
        row.phases.push(part(phase::WAITING, Evidence::KernelTimestamp, Estimate::point(ns as f64)));
    }
    row.found = Found::Toll(TollFound {
        kind: kind.name().into(),
        name: name.into(),
        errors: tally.errors,
        one_byte: tally.one_byte.filter(|count| *count > 0),
        price_ns: price.map(|price| {
            // A record has no place for a bound that was not measured: the figure repeats.
            let bound = |at: usize| if price.ci[at].is_finite() { price.ci[at] } else { price.estimate };
            [price.estimate, bound(0), bound(1)]
        }),
        ..TollFound::default()
    });
    row
}

/// Toll and kernel work of crossings.
fn parts(
    kind: Kind,
    name: &str,
    tally: &Tally,
    prices: &Prices,
    within: Option<Within>,
) -> (Option<Estimate>, Option<Estimate>) {
    let count = tally.count as f64;
    // A task on another CPU waits without CPU time of the one that wakes it.
    let price = prices.of(kind, name).filter(|_| (kind, name) != (Kind::Wake, "on another CPU"));
    let work = tally.kernel_ns.map(|ns| {
        let added = within.and_then(|within| within.kind(kind)).map(|each| each.scaled(count));
        let (ns, error) = (ns as f64, tally.kernel_error_ns as f64);
        Estimate::within(ns, [ns - error, ns + error]).minus(&added.unwrap_or(Estimate::point(0.0)))
    });
    (price.map(|price| price.scaled(count)), work)
}

/// Warns of calls and faults without a price.
fn unpriced(row: &mut Measurement, boundaries: &[Measurement]) {
    let is_toll = |it: &&Measurement| {
        it.found.toll().is_some_and(|toll| {
            toll.price_ns.is_none() && [Kind::Call.name(), Kind::Fault.name()].contains(&toll.kind.as_str())
        })
    };
    let count: u64 = boundaries.iter().filter(is_toll).map(|it| it.crossings).sum();
    if count > 0 {
        let text = format!("{count} crossings have no price of this machine (--price now measures them)");
        row.warnings.push(Warning::new(warning::UNPRICED, text));
    }
}

fn of_kinds(boundaries: &[Measurement], is: impl Fn(&str) -> bool) -> impl Iterator<Item = &Measurement> {
    boundaries.iter().filter(move |row| row.found.toll().is_some_and(|toll| is(&toll.kind)))
}

/// The ways into the kernel and back. What happens inside of calls is part of their work.
fn tolls(boundaries: &[Measurement]) -> Option<Estimate> {
    let crossings = [Kind::Call, Kind::Fault, Kind::Signal].map(Kind::name);
    sum(of_kinds(boundaries, |kind| crossings.contains(&kind)), phase::TOLL)
}

/// Switches to another task, by the counts or by the kernel's accounts.
fn switches(counted: &Counted) -> u64 {
    let counts = counted.counts.as_ref();
    let count = counts.map(|it| it.count(Kind::Switch, "voluntary") + it.count(Kind::Switch, "involuntary"));
    count.unwrap_or(counted.account.voluntary_switches + counted.account.involuntary_switches)
}

/// The sum of one part over boundaries.
fn sum<'a>(boundaries: impl Iterator<Item = &'a Measurement>, name: PhaseName) -> Option<Estimate> {
    let mut parts = boundaries.filter_map(|row| row.phase(name)?.ns).peekable();
    parts.peek().is_some().then_some(())?;
    // One price is behind many rows, so that their errors add up in full.
    let (mut total, mut ci) = (0.0, [0.0; 2]);
    for part in parts {
        total += part.estimate;
        ci = [ci[0] + part.ci[0], ci[1] + part.ci[1]];
    }
    Some(Estimate::within(total, ci))
}

fn part(name: PhaseName, evidence: Evidence, ns: Estimate) -> Phase {
    Phase { ns: Some(ns), ..Phase::new(name, evidence) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::Images;
    use crate::sites::{Place, Sites};

    /// A program of one second, as the kernel's accounts and the parts of its bill see its own code.
    fn is_contradicted(accounted_ms: u64, user_ms: f64, toll_ms: f64, unseen: u64) -> bool {
        let time = Duration::from_millis;
        let account = Account {
            end: End::Exited(0),
            cpu: time(1_000),
            user: time(accounted_ms),
            system: time(1_000 - accounted_ms),
            ..Account::of_other(time(1_000))
        };
        let parts = [(phase::USER, user_ms), (phase::TOLL, toll_ms)]
            .map(|(name, ms)| part(name, Evidence::Difference, Estimate::point(ms * 1e6)));
        contradiction(&account, &Counts { unseen, ..Counts::default() }, &parts, None).is_some()
    }

    #[test]
    fn times_of_windows_are_compared_with_the_accounts_of_the_kernel() {
        assert!(!is_contradicted(500, 500.0, 0.0, 1));
        // The calls between windows took longer than those in windows: the extra time looks like the program's own code.
        assert!(is_contradicted(200, 500.0, 0.0, 1));
        assert!(!is_contradicted(200, 500.0, 0.0, 0), "all calls were timed");
        // They took less.
        assert!(is_contradicted(500, 200.0, 0.0, 1));
        // The ways into the kernel and back are accounted on either side.
        assert!(!is_contradicted(500, 200.0, 300.0, 1));
        // 250 ticks of 4 ms are too few to tell 15 %.
        assert!(!is_contradicted(350, 500.0, 0.0, 1));
    }

    /// A million calls that take 100 ns, and 350 ns while they are counted, of which 150 are between the stamps; the program works
    /// as long again, and an hour after that the kernel's accounts say the same.
    fn counted() -> Counted {
        let pair = |call| Pair { call: Estimate::point(call), fault: Estimate::point(0.0) };
        let overhead = Overhead { bare: pair(100.0), counted: pair(350.0), inside: pair(150.0) };
        let mut counts = Counts::default();
        *counts.at(Kind::Call, "getppid") =
            Tally { count: 1_000_000, kernel_ns: Some(150_000_000), ..Tally::default() };
        *counts.at(Kind::Call, "mmap") = Tally { count: 7, kernel_ns: Some(50_000), ..Tally::default() };
        let cpu_ns = 450_000_000 + 50_000;
        counts.stamped = Some(Stamped { cpu_ns, user_ns: 300_000_000, ..Stamped::default() });
        Counted {
            account: Account {
                cpu: Duration::from_nanos(cpu_ns),
                ..Account::of_other(Duration::from_secs(1))
            },
            source: crate::count::Source::Bpf,
            counts: Some(counts),
            beside: None,
            overhead: Some(overhead),
            slowdown: None,
            repeats: Vec::new(),
            timeline: None,
            sites: None,
            warnings: Vec::new(),
        }
    }

    fn bill(prices: Option<&Prices>) -> Vec<Measurement> {
        rows(&Input { command: Vec::new(), attached: true, counted: &counted(), prices })
    }

    #[test]
    fn the_site_that_crosses_most_is_in_the_bill_when_its_cost_comes_out_as_nothing() {
        let site = |n: u64, count, ns| {
            let place = Place { frames: vec![n], ..Place::default() };
            let tally = Tally { count, kernel_ns: Some(ns), ..Tally::default() };
            (place, Kind::Call, format!("call {n}"), tally)
        };
        // Counting added 5,000 times 150 ns between the stamps to the last one.
        let places = (0..20).map(|n| site(n, 1, 90_000 + n)).chain([site(20, 5_000, 750_000)]);
        let found = Sites::of(places, &Images::default());
        let within = Some(Within { call: Estimate::point(150.0), fault: Estimate::point(0.0) });
        let sites = sites(&found.0, &Prices::default(), within);
        let names: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
        assert_eq!(names[..2], ["call 19", "call 18"]);
        assert_eq!((names[9], sites[9].crossings, names.len()), ("call 20", 5_000, 10));
    }

    #[test]
    fn without_prices_what_is_crossed_most_comes_first() {
        let rows = bill(None);
        // The cost of counting exceeds the time between the stamps, so that the sum is zero.
        assert_eq!(rows[1].probe, "exec/system-call/getppid");
        assert!(rows[2].ns.unwrap().estimate > rows[1].ns.unwrap().estimate, "{rows:?}");
    }

    #[test]
    fn what_counting_added_is_beside_the_parts_and_not_in_the_cpu_time() {
        let rows = bill(Some(&Prices::default()));
        let whole = &rows[0];
        let of = |name: PhaseName| whole.phase(name).unwrap().ns.unwrap().estimate;
        let each = |per_call: f64| per_call * 1_000_007.0;
        assert!((of(phase::COUNTING) - each(250.0)).abs() < 1.0);
        let total = whole.ns.unwrap().estimate;
        assert!((total - (450_050_000.0 - each(250.0))).abs() < 1.0, "{total}");
        let parts = whole.phases.iter().filter(|part| part.name != phase::COUNTING);
        let sum: f64 = parts.filter_map(|part| part.ns).map(|ns| ns.estimate).sum();
        assert!((sum - total).abs() < 1.0, "{sum} of {total}: {:?}", whole.phases);
        // 300 ms less 100 ns of counting and 100 ns on the way, each a million times.
        assert!((of(phase::USER) - (300e6 - each(200.0))).abs() < 1.0, "{}", of(phase::USER));
    }
}
