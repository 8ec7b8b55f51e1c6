//! Proposals to save time: lines that follow from counts and prices alone.

use crate::call::plain;
use tollgate_record::family::Saving;
use tollgate_record::{Estimate, Measurement, phase};

/// Fewer crossings than this are not worth a line.
const WORTH: u64 = 100;
/// Small pages in a huge one.
const HUGE: u64 = 512;
/// Bytes that a buffer holds in place of one.
const BUFFER: u64 = 4096;
/// Calls that the C library answers in user mode where it can.
const CLOCKS: [&str; 3] = ["clock_gettime", "gettimeofday", "time"];

/// Calls that report an error at once if nothing has arrived.
const ARRIVALS: [&str; 6] = ["read", "recvfrom", "recvmsg", "recvmmsg", "accept", "accept4"];

/// Prices of alternatives to a crossing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instead {
    /// A clock that is read in user mode.
    pub(crate) vdso: Option<Estimate>,
    /// A task that is woken on the same CPU.
    pub(crate) wake_here: Option<Estimate>,
    /// A switch between two fibers of one thread.
    pub(crate) fiber: Option<Estimate>,
    /// The cost that a running seccomp filter adds to a call.
    pub(crate) filter: Option<Estimate>,
}

/// Every line that the rows of the boundaries give, the largest first.
pub(crate) fn savings(boundaries: &[Measurement], instead: &Instead) -> Vec<Saving> {
    let mut all: Vec<Saving> = boundaries.iter().flat_map(|row| of_row(row, instead.vdso)).collect();
    all.extend(boundaries.iter().filter_map(polling));
    all.extend(between_tasks(boundaries, instead));
    all.extend(instead.filter.and_then(|filter| filtered(boundaries, filter.estimate)));
    let [least, most] =
        [0, 1].map(|end| move |it: &Saving| (it.each_ns[end] - it.instead_ns) * it.crossings as f64);
    all.retain(|it| it.crossings >= WORTH && most(it) > 0.0);
    all.sort_by(|a, b| least(b).total_cmp(&least(a)));
    all
}

/// Calls that found nothing, or gave the CPU away to try again.
fn polling(row: &Measurement) -> Option<Saving> {
    let toll = row.found.toll().filter(|toll| toll.kind == "system call")?;
    let each = |name| Some(row.phase(name)?.ns?.estimate / row.crossings.max(1) as f64);
    let price = each(phase::TOLL)?;
    let each_ns = [price, price + each(phase::KERNEL_WORK).unwrap_or(0.0).max(0.0)];
    let name = plain(&toll.name);
    let (change, crossings) = match name {
        "sched_yield" => {
            (format!("{name} is called until something has happened; wait for it (futex)"), row.crossings)
        }
        _ if ARRIVALS.contains(&name) => {
            (format!("{name} fails; call it when something has arrived (poll, epoll)"), toll.errors?)
        }
        _ => return None,
    };
    Some(Saving { change, crossings, each_ns, instead_ns: 0.0 })
}

/// Tasks that wake each other: on two CPUs, and through the kernel at all.
fn between_tasks(boundaries: &[Measurement], instead: &Instead) -> Vec<Saving> {
    let of = |kind: &str, name: &str| {
        let row = boundaries
            .iter()
            .find(|row| row.found.toll().is_some_and(|toll| toll.kind == kind && toll.name == name));
        row.map_or((0, None), |row| (row.crossings, row.found.toll().and_then(|toll| toll.price_ns)))
    };
    let line = |change: &str, crossings, price: [f64; 3], instead: Estimate| Saving {
        change: change.into(),
        crossings,
        each_ns: [price[0]; 2],
        instead_ns: instead.estimate,
    };
    let ((there, far), (here, _)) = (of("wake-up", "on another CPU"), of("wake-up", "on the same CPU"));
    let (voluntary, switch) = of("switch", "voluntary");
    let near = "tasks wake others on another CPU, which start later; keep both on one CPU (taskset)";
    let fiber = "tasks wake each other and wait; switch between fibers of one thread";
    let near = far.zip(instead.wake_here).map(|(far, here)| line(near, there, far, here));
    // Each switch of this kind needs one that waits and one that wakes.
    let pairs = voluntary.min(here + there);
    let fiber = switch.zip(instead.fiber).map(|(switch, fiber_ns)| line(fiber, pairs, switch, fiber_ns));
    near.into_iter().chain(fiber).collect()
}

/// A filter that the program installs runs in each call from then on: in none up to all of them.
fn filtered(boundaries: &[Measurement], filter_ns: f64) -> Option<Saving> {
    let calls = || boundaries.iter().filter_map(|row| Some((row.found.toll()?, row.crossings)));
    calls().find(|(toll, _)| toll.kind == "system call" && toll.name == "seccomp")?;
    let crossings = calls().filter(|(toll, _)| toll.kind == "system call").map(|(_, count)| count).sum();
    let change =
        "its seccomp filter runs in each call after it was installed; allow common calls first".into();
    Some(Saving { change, crossings, each_ns: [0.0, filter_ns], instead_ns: 0.0 })
}

fn of_row(row: &Measurement, vdso: Option<Estimate>) -> Option<Saving> {
    let (toll, count) = (row.found.toll()?, row.crossings);
    let each = |name| Some(row.phase(name)?.ns?.estimate / count.max(1) as f64);
    let price = each(phase::TOLL)?;
    let whole = price + each(phase::KERNEL_WORK).unwrap_or(0.0).max(0.0);
    let line = |change: String, crossings: u64, each_ns, instead_ns| {
        Some(Saving { change, crossings, each_ns, instead_ns })
    };
    match (toll.kind.as_str(), plain(&toll.name)) {
        ("system call", name) if CLOCKS.contains(&name) => {
            let change = format!("{name} enters the kernel; read the clock in user mode (vDSO)");
            line(change, count, [whole; 2], vdso?.estimate)
        }
        ("system call", name) => {
            let bytes = toll.one_byte.filter(|bytes| *bytes > 0)?;
            let change = format!("{name} moves one byte at a time; use a buffer of {BUFFER} bytes");
            line(change, bytes - bytes / BUFFER, [price, whole], 0.0)
        }
        // The memory is cleared in any case, so that at least the way in and out is saved.
        ("fault", "anonymous") => {
            let change = "first writes to small pages; use huge pages (madvise MADV_HUGEPAGE)".into();
            line(change, count - count / HUGE, [price, whole], 0.0)
        }
        ("fault", "file") => {
            let change =
                "pages of files are mapped one fault after another; map them at once (MAP_POPULATE)".into();
            line(change, count, [price, whole], 0.0)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::family::{Found, TollFound};
    use tollgate_record::{Evidence, Per, Phase, Status};

    fn row(kind: &str, name: &str, count: u64, one_byte: Option<u64>, toll: f64, work: f64) -> Measurement {
        let mut row = Measurement::empty("exec/x", "host", Per::Run, Status::Measured);
        row.crossings = count;
        row.found =
            Found::Toll(TollFound { kind: kind.into(), name: name.into(), one_byte, ..TollFound::default() });
        for (name, each) in [(phase::TOLL, toll), (phase::KERNEL_WORK, work)] {
            let ns = Some(Estimate::point(each * count as f64));
            row.phases.push(Phase { ns, ..Phase::new(name, Evidence::Priced) });
        }
        row
    }

    #[test]
    fn lines_follow_from_counts_and_prices() {
        let rows = [
            row("system call", "read", 10_000, Some(8_192), 100.0, 50.0),
            row("system call", "write", 10_000, None, 100.0, 50.0),
            row("system call", "clock_gettime", 1_000, None, 100.0, 80.0),
            row("fault", "anonymous", 1_024, None, 600.0, 1_000.0),
            row("fault", "anonymous", 90, None, 600.0, 1_000.0),
        ];
        let instead = Instead { vdso: Some(Estimate::point(30.0)), ..Instead::default() };
        let lines = savings(&rows, &instead);
        let figures: Vec<(u64, [f64; 2], f64)> =
            lines.iter().map(|it| (it.crossings, it.each_ns, it.instead_ns)).collect();
        // 8,192 bytes in two reads; 1,024 pages in two huge ones.
        assert_eq!(
            figures,
            [(8_190, [100.0, 150.0], 0.0), (1_022, [600.0, 1_600.0], 0.0), (1_000, [180.0; 2], 30.0)]
        );
    }

    #[test]
    fn without_a_price_there_is_no_line() {
        let mut rows = [row("fault", "anonymous", 1_024, None, 600.0, 1_000.0)];
        rows[0].phases.clear();
        assert!(savings(&rows, &Instead::default()).is_empty());
    }

    /// Of the lines: crossings, and what each costs now and instead.
    fn figures(rows: &[Measurement], instead: &Instead) -> Vec<(u64, [f64; 2], f64)> {
        savings(rows, instead).iter().map(|it| (it.crossings, it.each_ns, it.instead_ns)).collect()
    }

    #[test]
    fn a_call_that_finds_nothing_and_one_that_yields_are_polling() {
        let mut rows = [
            row("system call", "recvfrom", 1_000, None, 100.0, 50.0),
            row("system call", "openat", 1_000, None, 100.0, 50.0),
            row("system call", "sched_yield", 500, None, 100.0, 300.0),
        ];
        for row in &mut rows[..2] {
            let Found::Toll(toll) = &mut row.found else { unreachable!() };
            toll.errors = Some(900);
        }
        // A file that does not exist is not polled for.
        assert_eq!(
            figures(&rows, &Instead::default()),
            [(900, [100.0, 150.0], 0.0), (500, [100.0, 400.0], 0.0)]
        );
    }

    #[test]
    fn tasks_that_wake_each_other_have_a_price_on_one_cpu_and_as_fibers() {
        let priced = |kind, name, count, price: f64| {
            let mut row = row(kind, name, count, None, 0.0, 0.0);
            let Found::Toll(toll) = &mut row.found else { unreachable!() };
            toll.price_ns = Some([price; 3]);
            row.phases.clear();
            row
        };
        let rows = [
            priced("wake-up", "on another CPU", 1_000, 5_000.0),
            priced("wake-up", "on the same CPU", 200, 200.0),
            priced("switch", "voluntary", 1_500, 1_800.0),
        ];
        let point = |ns| Some(Estimate::point(ns));
        let instead = Instead { wake_here: point(200.0), fiber: point(10.0), ..Instead::default() };
        // As many hand-overs as wake-ups: the other 300 switches waited for something else.
        assert_eq!(figures(&rows, &instead), [(1_000, [5_000.0; 2], 200.0), (1_200, [1_800.0; 2], 10.0)]);
        assert!(figures(&rows, &Instead::default()).is_empty());
    }

    #[test]
    fn a_filter_taxes_between_none_and_all_of_the_calls() {
        let instead = Instead { filter: Some(Estimate::point(60.0)), ..Instead::default() };
        let mut rows = vec![row("system call", "openat", 1_000, None, 100.0, 50.0)];
        assert!(figures(&rows, &instead).is_empty());
        rows.push(row("system call", "seccomp", 1, None, 100.0, 50.0));
        assert_eq!(figures(&rows, &instead), [(1_001, [0.0, 60.0], 0.0)]);
    }
}
