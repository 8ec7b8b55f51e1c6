//! Pairs of records into which a change was planted: it is never called the same or the opposite, nothing else is named, and
//! what a row prints reconciles.

#![allow(clippy::print_stdout, reason = "the shares are what METHOD.md quotes")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tollgate_judge::{ComparedProbe, Comparison, Options, Verdict, compare};
use tollgate_record::family::{ExecFound, ProbeAsked, RingAsked, TollFound};
use tollgate_record::{
    Asked, EpochFigure, Estimate, Evidence, Found, Host, Measurement, Per, Phase, Regression, Run, Status,
    Tool, TypicalFigure, Warning, Yardstick, phase, warning,
};

const HZ: f64 = 3e9;
/// Processes of a run; a quick one has [`QUICK`].
const EPOCHS: usize = 12;
const QUICK: usize = 3;
/// The work beside the batches, in nanoseconds.
const WORK: [(&str, f64); 2] = [("add", 30_000.0), ("getppid", 6_000.0)];

/// A kind of row that a record can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Timed by batches.
    Ladder,
    /// A crossing that is stamped in a batch a hundred times as long, which follows the yardsticks.
    AfterSweep,
    AfterFlush,
    /// Timed with and without a tracepoint.
    Twin,
    /// With phases, which add up.
    Phased,
    Ring,
    Runtime,
    /// Two CPUs.
    Core,
    /// Made by an emulator.
    Emulated,
    /// Cycles without a spread.
    Simulated,
    /// Of a program: a count.
    Toll,
    /// The same: its time, of which each run has one.
    Elapsed,
    /// Near zero.
    Null,
}

const KINDS: [(&str, Kind, f64); 26] = [
    ("call/direct", Kind::Ladder, 2.0),
    ("call/indirect", Kind::Ladder, 3.0),
    ("call/dynamic", Kind::Ladder, 4.0),
    ("fiber/own", Kind::Ladder, 11.0),
    ("fiber/swapcontext", Kind::Ladder, 220.0),
    ("vdso/clock_gettime", Kind::Ladder, 22.0),
    ("syscall/getppid", Kind::Ladder, 100.0),
    ("syscall/read", Kind::Ladder, 230.0),
    ("syscall/write", Kind::Ladder, 210.0),
    ("syscall/invalid", Kind::Phased, 90.0),
    ("syscall/clock_gettime", Kind::Phased, 140.0),
    ("syscall/invalid-after-flush", Kind::AfterFlush, 110.0),
    ("syscall/getppid-after-flush", Kind::AfterFlush, 120.0),
    ("syscall/invalid-after-sweep", Kind::AfterSweep, 175.0),
    ("syscall/getppid-after-sweep", Kind::AfterSweep, 190.0),
    ("fault/protection", Kind::Twin, 900.0),
    ("fault/anonymous", Kind::Phased, 1_600.0),
    ("thread/futex", Kind::Ladder, 1_300.0),
    ("ring/pipe", Kind::Ring, 1_500.0),
    ("switch/go", Kind::Runtime, 120.0),
    ("core/futex", Kind::Core, 5_000.0),
    ("vm/cpuid", Kind::Emulated, 2_000.0),
    ("riscv-trap/getpid", Kind::Simulated, 140.0),
    ("exec/read", Kind::Toll, 100_000.0),
    ("exec/elapsed", Kind::Elapsed, 5e6),
    ("null", Kind::Null, 0.0),
];

/// What happens to the machine between A and B, and within them.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Machine {
    Quiet,
    /// The core's clock is a fifth slower in B.
    Slower,
    /// It slows down by 3 % in each run, B after A.
    Drifts,
    /// One process in four is slowed down by a sixth, and the yardsticks with it.
    Bursts,
}

/// What is planted, and into which rows.
#[derive(Clone, Copy)]
struct Planted {
    change: f64,
    into: fn(&str) -> bool,
    /// Whether the part `entry` alone carries it.
    phase: bool,
}

struct Random {
    rng: ChaCha8Rng,
    epochs: usize,
}

impl Random {
    /// The sum of twelve uniform values: nearly normal, variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0
    }

    /// The same, but one in fifty is four times as far.
    fn noise(&mut self) -> f64 {
        let far = if self.rng.random::<f64>() < 0.02 { 4.0 } else { 1.0 };
        far * self.normal()
    }

    /// Slow-downs of the processes of a run, in logarithms.
    fn slow(&mut self, machine: Machine) -> Vec<f64> {
        let epochs = self.epochs as f64;
        let mut of = |epoch: usize| match machine {
            Machine::Bursts if self.rng.random::<f64>() < 0.25 => 0.15 + 0.02 * self.rng.random::<f64>(),
            Machine::Drifts => 0.03 * epoch as f64 / epochs,
            _ => 0.0,
        };
        (0..self.epochs).map(&mut of).collect()
    }

    fn run(&mut self, id: &str, machine: Machine, is_b: bool, planted: Planted) -> Run {
        let tool = Tool { version: String::new(), commit: String::new() };
        let host = Host { name: "here".into(), ..Host::default() };
        let mut run = Run::begin(id.into(), String::new(), tool, Vec::new(), host, 0);
        run.complete = true;
        let slower = is_b && machine == Machine::Slower;
        let hz = HZ * if slower { 0.8 } else { 1.0 } * (1.0 + 0.01 * self.normal());
        let drifted = if is_b && machine == Machine::Drifts { 0.01 } else { 0.0 };
        let slow: Vec<f64> = self.slow(machine).iter().map(|it| it + drifted).collect();
        for (name, ns) in WORK {
            let level = |slow: &f64, noise: f64| Some(ns * (slow + noise).exp() * HZ / hz);
            let epochs = slow.iter().map(|slow| level(slow, 0.001 * self.noise())).collect();
            run.yardsticks.push(Yardstick { name: name.into(), epochs });
        }
        for (name, kind, ns) in KINDS {
            let more = if is_b && (planted.into)(name) { planted.change } else { 0.0 };
            run.results.push(self.row(name, kind, ns, &slow, hz, more, planted.phase));
        }
        run
    }

    #[expect(clippy::too_many_arguments, reason = "the terms of one formula")]
    fn row(
        &mut self,
        name: &str,
        kind: Kind,
        ns: f64,
        slow: &[f64],
        hz: f64,
        more: f64,
        in_phase: bool,
    ) -> Measurement {
        let engine = match kind {
            Kind::Simulated => "embedded",
            Kind::Emulated => "qemu-tcg",
            Kind::Runtime => "go",
            _ => "host",
        };
        let mut row = Measurement::empty(name, engine, Per::Syscall, Status::Measured);
        row.asked = match kind {
            Kind::AfterFlush => {
                Asked::Probe(ProbeAsked { state: Some("tlb-flushed".into()), ..Default::default() })
            }
            Kind::AfterSweep => {
                Asked::Probe(ProbeAsked { state: Some("caches-swept".into()), ..Default::default() })
            }
            Kind::Ring => Asked::Ring(RingAsked { procs: 4, ..RingAsked::default() }),
            _ => row.asked,
        };
        let grown = ns * (1.0 + more);
        match kind {
            Kind::Simulated => {
                row.cycles = Some(Estimate::point(grown.round()));
                return row;
            }
            Kind::Toll => {
                row.crossings = grown.round() as u64;
                let (kind, name) = ("system call".into(), "read".into());
                row.found = Found::Toll(TollFound { kind, name, ..TollFound::default() });
                return row;
            }
            Kind::Null => {
                row.ns = Some(Estimate::within(0.01, [-0.02, 0.04]));
                row.epochs =
                    vec![EpochFigure { ns: 0.01, core_hz: Some(hz), ..EpochFigure::default() }; slow.len()];
                return row;
            }
            _ => {}
        }
        // What differs from run to run, and from process to process: as METHOD.md has it for the classes.
        let (of_run, of_epoch) = match kind {
            Kind::Core => (0.02, 0.02),
            Kind::AfterSweep => (0.003, 0.02),
            _ if name.starts_with("fault/anonymous") => (0.02, 0.01),
            _ => (0.003, 0.004),
        };
        let level = grown.ln() + of_run * self.normal();
        let logs: Vec<f64> = slow.iter().map(|slow| level + slow + of_epoch * self.noise()).collect();
        // What two CPUs do to each other has a clock of its own.
        let times = if kind == Kind::Core { 1.0 } else { HZ / hz };
        let in_ns = |log: f64| log.exp() * times;
        let batch = match kind {
            Kind::AfterSweep => Some(22_500.0),
            Kind::AfterFlush => Some(9_000.0),
            _ => None,
        };
        let epoch = |(log, slow): (&f64, &f64)| EpochFigure {
            ns: in_ns(*log),
            core_hz: Some(hz),
            typical: Some(TypicalFigure {
                // The undivided batch contains the crossing.
                ns: batch.map_or(in_ns(*log) * 1.02, |batch| in_ns((batch + log.exp()).ln() + slow)),
                yardsticks: WORK.map(|(_, ns)| ns * slow.exp() * HZ / hz).into(),
            }),
            paired: None,
        };
        row.epochs = logs.iter().zip(slow).map(epoch).collect();
        if name == "fault/anonymous" {
            row.proof.insert("minor-per-touch".into(), 1.0);
        }
        if kind == Kind::Elapsed {
            row.epochs.truncate(1);
            row.found = Found::Exec(ExecFound::default());
        }
        let mut sorted: Vec<f64> = row.epochs.iter().map(|epoch| epoch.ns).collect();
        sorted.sort_by(f64::total_cmp);
        let figure = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        row.ns = Some(Estimate::within(figure, [sorted[0], sorted[sorted.len() - 1]]));
        // Batches follow both kinds of work by the power 1/2 of each.
        row.regression = Some(Regression {
            batches: 400,
            deviation: 0.003,
            squares: vec![vec![1.0, 0.98], vec![0.98, 1.0]],
            products: vec![0.99, 0.99],
            square: 1.0,
        });
        if kind == Kind::Phased {
            let entry = figure * if in_phase { (0.3 + more) / (1.0 + more) } else { 0.3 };
            for (name, ns) in [("entry", entry), ("return", figure - entry)] {
                let mut phase = Phase::new(name, Evidence::Measured);
                phase.ns = Some(Estimate::within(ns, [ns * 0.99, ns * 1.01]));
                row.phases.push(phase);
            }
        }
        if kind == Kind::Emulated {
            row.warnings.push(Warning::new(warning::EMULATED, "an emulator made it"));
        }
        if kind == Kind::Elapsed {
            let mut part = Phase::new(phase::USER, Evidence::Measured);
            part.ns = row.ns.map(|ns| ns.scaled(0.5));
            row.phases.push(part);
        }
        row
    }

    fn sides(&mut self, runs: usize, machine: Machine, planted: Planted) -> [Vec<Run>; 2] {
        [false, true].map(|is_b| {
            let name = if is_b { "b" } else { "a" };
            (0..runs).map(|at| self.run(&format!("{name}{at}"), machine, is_b, planted)).collect()
        })
    }
}

/// Whether a reader who divides the figures finds the change, as far as three printed digits say.
fn reconciles(row: &ComparedProbe) -> bool {
    let Some(ratio) = row.ratio else { return true };
    let within = row.interval.is_none_or(|[low, high]| low <= ratio && ratio <= high);
    let as_measured = !row.adjusted.is_empty() || (row.b / row.b_measured - 1.0).abs() < 6e-4;
    (row.b / row.a / ratio - 1.0).abs() < 1e-6 && within && as_measured
}

#[derive(Default, Debug)]
struct Counts {
    rows: usize,
    /// Rows that did not change and are called better or worse.
    named: usize,
    /// Rows with a change of at least twice what they see, and those of them called the same or the opposite.
    planted: usize,
    denied: usize,
    /// Rows with such a change that are named.
    found: usize,
    /// Rows of which both ways decide differently.
    contradicted: usize,
}

fn judge(found: &Comparison, planted: Planted, machine: Machine, counts: &mut Counts) {
    // Parts of a program's time are compared by time, which is longer on a slower machine.
    let is_meant = |row: &&ComparedProbe| row.part.is_none() || machine != Machine::Slower;
    for row in found.rows.iter().filter(is_meant) {
        assert!(reconciles(row), "{row:#?}");
        assert!(row.verdict != Verdict::CannotTell || row.why.is_some(), "no reason: {row:#?}");
        assert!(row.interval.is_some() || row.smallest_seen.is_none(), "{row:#?}");
        counts.rows += 1;
        let change = if (planted.into)(&row.probe) { planted.change } else { 0.0 };
        counts.contradicted += usize::from(row.is_contradicted());
        if change == 0.0 {
            if row.moved() {
                println!(
                    "named: {} {:?} {:?} of {} and {}",
                    row.probe, row.ratio, row.interval, row.a, row.b
                );
            }
            counts.named += usize::from(row.moved());
            continue;
        }
        if row.smallest_seen.is_none_or(|seen| change < 2.0 * seen) {
            continue;
        }
        counts.planted += 1;
        counts.found += usize::from(row.verdict == Verdict::Worse);
        let denied = matches!(row.verdict, Verdict::Same | Verdict::Better);
        if denied {
            println!(
                "denied: {} {change} {:?} {:?} of {} and {}",
                row.probe, row.ratio, row.interval, row.a, row.b
            );
        }
        counts.denied += usize::from(denied);
    }
}

const CHANGES: [f64; 6] = [0.0, 0.01, 0.03, 0.10, 0.86, 3.0];

/// Which rows are changed: none or one of each kind, a family, all.
const INTO: [fn(&str) -> bool; 6] = [
    |name| name == "syscall/invalid-after-sweep",
    |name| name == "syscall/getppid-after-flush",
    |name| name == "syscall/read",
    |name| name == "fault/anonymous" || name == "ring/pipe" || name == "riscv-trap/getpid",
    |name| name.starts_with("syscall/"),
    |name| name != "null",
];

fn counted(runs: usize, epochs: usize, machine: Machine, rounds: usize, seed: u64) -> Counts {
    let mut random = Random { rng: ChaCha8Rng::seed_from_u64(seed), epochs };
    let mut counts = Counts::default();
    for round in 0..rounds {
        for change in CHANGES {
            for (at, into) in INTO.into_iter().enumerate() {
                let planted = Planted { change, into, phase: (round + at) % 2 == 0 };
                let [a, b] = random.sides(runs, machine, planted);
                judge(&compare(&a, &b, &Options::default()).unwrap(), planted, machine, &mut counts);
            }
        }
    }
    println!("{runs} a side of {epochs} processes, {machine:?}: {counts:?}");
    counts
}

fn check(counts: &Counts) {
    assert!(counts.denied * 1_000 <= counts.planted, "{counts:?}");
    assert!(counts.named * 200 <= counts.rows, "{counts:?}");
    assert!(counts.found * 10 >= counts.planted * 9, "{counts:?}");
}

#[test]
fn a_planted_change_is_never_denied_and_nothing_else_is_named() {
    for (runs, epochs, rounds) in
        [(1, EPOCHS, 5), (1, QUICK, 5), (2, EPOCHS, 1), (2, QUICK, 1), (4, QUICK, 3), (6, QUICK, 1)]
    {
        check(&counted(runs, epochs, Machine::Quiet, rounds, (runs * epochs) as u64));
    }
}

#[test]
fn nor_on_a_machine_that_changes() {
    for machine in [Machine::Slower, Machine::Drifts, Machine::Bursts] {
        check(&counted(1, EPOCHS, machine, 2, 1));
        check(&counted(4, QUICK, machine, 1, 2));
    }
}

/// A machine whose clock is a fifth slower: by time everything is worse, at one frequency nothing is.
#[test]
fn both_ways_of_comparing_are_in_every_row_where_they_differ() {
    let mut random = Random { rng: ChaCha8Rng::seed_from_u64(1), epochs: EPOCHS };
    let none = Planted { change: 0.0, into: |_| false, phase: false };
    let [a, b] = random.sides(1, Machine::Slower, none);
    let found = compare(&a, &b, &Options::default()).unwrap();
    let by_time = compare(&a, &b, &Options { by_time: true, ..Options::default() }).unwrap();
    for (row, timed) in found.rows.iter().zip(&by_time.rows) {
        let Some(other) = &row.other_way else { continue };
        assert_eq!(
            (other.by_time, other.ratio, other.verdict),
            (true, timed.ratio, timed.verdict),
            "{row:#?}"
        );
        let back = timed.other_way.as_ref().unwrap();
        assert_eq!((back.by_time, back.ratio, back.verdict), (false, row.ratio, row.verdict), "{timed:#?}");
    }
    let count = |found: &Comparison| found.rows.iter().filter(|row| row.is_contradicted()).count();
    assert!(count(&found) >= 8 && count(&found) == count(&by_time), "{}", count(&found));
}
