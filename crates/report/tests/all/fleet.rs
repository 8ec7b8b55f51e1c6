//! Fleets with planted slow hosts, simulated: what is found, what is named in error, and what goes with it.

#![allow(clippy::print_stdout, reason = "the shares are what METHOD.md quotes")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use tollgate_judge::{Fleet, essentials, fleet};
use tollgate_record::{EpochFigure, Estimate, Host, Measurement, Per, Run, Status, Tool};
use tollgate_report::{Style, fleet_html, fleet_table};

const EPOCHS: usize = 12;
const PROBES: [&str; 16] = [
    "call/direct",
    "fiber/own",
    "syscall/getppid",
    "syscall/read",
    "syscall/write",
    "syscall/openat",
    "signal/self",
    "fault/anonymous",
    "fault/file",
    "vdso/clock_gettime",
    "thread/futex",
    "thread/pipe",
    "process/pipe",
    "process/futex",
    "spawn/vfork",
    "spawn/clone",
];

struct Random {
    numbers: ChaCha8Rng,
    /// How much of the variance of hosts all probes of a host share.
    shared: f64,
}

impl Random {
    fn new(seed: u64) -> Self {
        Self { numbers: ChaCha8Rng::seed_from_u64(seed), shared: 0.0 }
    }

    /// The sum of twelve uniform values: nearly normal, variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.numbers.random::<f64>()).sum::<f64>() - 6.0
    }

    /// The run of a host: processes differ by 1 % and one in thirty by five times that, hosts by `spread` in
    /// a third of the probes, by less in the others; `slow` are the changes of its probes.
    fn run(&mut self, name: &str, kernel: &str, spread: f64, slow: &[(usize, f64)]) -> Run {
        let tool = Tool { version: "1.0".into(), commit: "abc".into() };
        let mut host = Host { name: name.into(), ..Host::default() };
        host.cpu.model = "A processor".into();
        host.cpu.microcode = Some("0x1".into());
        host.kernel.release = kernel.into();
        host.kernel.mitigations.insert("meltdown".into(), "Not affected".into());
        let mut run =
            Run::begin(format!("of-{name}"), "2026-01-02T03:04:05Z".into(), tool, Vec::new(), host, 0);
        run.complete = true;
        let common = if self.shared > 0.0 { self.normal() } else { 0.0 };
        for (place, probe) in PROBES.iter().enumerate() {
            let planted: f64 =
                slow.iter().filter(|(at, _)| *at == place).map(|(_, change)| change.ln_1p()).sum();
            let own = (place % 3 + 1) as f64 / 3.0;
            let varied = self.shared.sqrt() * common + (1.0 - self.shared).sqrt() * self.normal();
            let of_host = planted + own * spread * varied;
            let usual = 50.0 * 1.5_f64.powi(place as i32);
            let mut row = Measurement::empty(probe, "host", Per::Syscall, Status::Measured);
            let mut epoch = || {
                let far = if self.numbers.random::<f64>() < 1.0 / 30.0 { 5.0 } else { 1.0 };
                let ns = usual * (of_host + 0.01 * far * self.normal()).exp();
                EpochFigure { ns, core_hz: Some(3e9), ..EpochFigure::default() }
            };
            row.epochs = (0..EPOCHS).map(|_| epoch()).collect();
            row.ns = Some(Estimate::within(usual, [0.99 * usual, 1.01 * usual]));
            run.results.push(row);
        }
        run
    }

    /// So many hosts, a quarter with another kernel; every twelfth is slower by `change` in two probes, and those that are
    /// slower in the first probe have another microcode.
    fn fleet(&mut self, hosts: usize, spread: f64, change: f64) -> (Vec<Run>, BTreeSet<(String, String)>) {
        let mut planted = BTreeSet::new();
        let mut runs = Vec::new();
        for number in 0..hosts {
            let name = format!("host-{number:03}");
            let kernel = if number % 4 == 3 { "6.12" } else { "6.18" };
            let mut slow = Vec::new();
            if number % 12 == 5 && change > 0.0 {
                slow = vec![(2, change), (3 + number / 12 % 13, change)];
                planted.extend(slow.iter().map(|(place, _)| (name.clone(), PROBES[*place].to_owned())));
            }
            let mut run = self.run(&name, kernel, spread, &slow);
            if !slow.is_empty() {
                run.host.cpu.microcode = Some("0x2".into());
            }
            runs.push(run);
        }
        (runs, planted)
    }
}

fn named(fleet: &Fleet) -> BTreeSet<(String, String)> {
    fleet.differences.iter().map(|it| (it.host.clone(), it.of.probe.clone())).collect()
}

#[test]
fn every_slow_host_of_two_hundred_is_found_and_hardly_another() {
    // The chances of the probes of one host, and of all hosts in one probe, are not independent.
    for (spread, shared, least) in [(0.005, 0.0, 1.0), (0.005, 0.8, 1.0), (0.01, 0.0, 0.6), (0.01, 0.8, 0.6)]
    {
        let (mut found, mut wrong, mut all, mut tested) = (0, 0, 0, 0);
        for seed in 0..5 {
            let (runs, planted) = Random { shared, ..Random::new(seed) }.fleet(200, spread, 0.05);
            let fleet = fleet(&runs, Vec::new()).unwrap();
            let named = named(&fleet);
            found += named.intersection(&planted).count();
            wrong += named.difference(&planted).count();
            all += planted.len();
            tested += fleet.tested;
        }
        let (apart, shared) = (100.0 * spread, 100.0 * shared);
        println!(
            "hosts {apart} % apart, {shared} % of it in all probes: {found} of {all} differences of 5 % found, {wrong} of \
             {tested} figures named in error"
        );
        assert!(found as f64 >= least * all as f64, "{found} of {all}");
        assert!(100 * wrong <= found, "{wrong} of {found}");
    }
}

#[test]
fn hosts_that_do_not_differ_are_seldom_named_however_few_they_are() {
    for hosts in [3, 5, 20] {
        let (mut with, fleets) = (0, 200);
        for seed in 0..fleets {
            let (runs, _) = Random::new(1_000 + seed).fleet(hosts, 0.01, 0.0);
            with += usize::from(!fleet(&runs, Vec::new()).unwrap().differences.is_empty());
        }
        println!("{with} of {fleets} fleets of {hosts} equal hosts name one");
        // 5 % are promised: 10 of 200, and three standard deviations of chance.
        assert!(with <= 19, "{with} of {fleets} of {hosts} hosts");
    }
}

#[test]
fn the_fact_that_goes_with_a_difference_is_named() {
    let (mut runs, planted) = Random::new(7).fleet(120, 0.005, 0.05);
    // A fact that has nothing to do with it.
    let mut random = Random::new(8);
    for run in runs.iter_mut().filter(|_| random.numbers.random()) {
        run.host.transparent_huge_pages = Some("never".into());
    }
    let fleet = fleet(&runs, Vec::new()).unwrap();
    let of_probe = |it: &&tollgate_judge::Companion| it.of.probe == PROBES[2] && it.slower;
    let companion = fleet.companions.iter().find(of_probe).unwrap();
    let slow: BTreeSet<&String> =
        planted.iter().filter(|(_, probe)| probe == PROBES[2]).map(|(host, _)| host).collect();
    assert_eq!(companion.hosts.iter().collect::<BTreeSet<_>>(), slow);
    let sure: Vec<_> = companion.facts.iter().filter(|fact| fact.sure).collect();
    let [fact] = sure[..] else { panic!("{sure:?}") };
    assert_eq!((&*fact.what, &*fact.value, &*fact.usual), ("microcode", "0x2", "0x1"));
    assert_eq!((fact.differing, fact.others), (slow.len(), 0));
    let text = fleet_table(&fleet, &Style { width: 400, ..Style::default() });
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("Goes with microcode 0x2"), "{text}");
}

#[test]
fn a_slow_clock_goes_with_everything_it_slows_down() {
    let mut random = Random::new(3);
    let mut runs: Vec<Run> = (0..30).map(|n| random.run(&format!("h{n:02}"), "6.18", 0.004, &[])).collect();
    for run in &mut runs[..4] {
        for epoch in run.results.iter_mut().flat_map(|row| &mut row.epochs) {
            epoch.ns *= 1.1;
            epoch.core_hz = Some(2.7e9);
        }
    }
    let fleet = fleet(&runs, Vec::new()).unwrap();
    assert_eq!(fleet.differences.len(), 4 * PROBES.len());
    let with = &fleet.companions[0].facts[0];
    assert_eq!((&*with.what, &*with.value, with.sure), ("core frequency", "below the usual", true));
}

#[test]
fn only_like_hosts_are_compared_and_at_least_three() {
    let mut random = Random::new(4);
    let mut runs: Vec<Run> = (0..6).map(|n| random.run(&format!("h{n}"), "6.18", 0.004, &[])).collect();
    // Another kernel makes another kind, and two hosts cannot say which one differs.
    for n in 0..2 {
        let slow: Vec<(usize, f64)> = (0..PROBES.len()).map(|place| (place, 0.5)).collect();
        runs.push(random.run(&format!("other{n}"), "6.12", 0.004, &slow));
    }
    runs[0].complete = false;
    let found = fleet(&runs, Vec::new()).unwrap();
    assert!(found.differences.is_empty());
    assert_eq!(found.left_out, ["of-h0 of h0 was interrupted"]);
    assert_eq!(found.groups.iter().map(|it| it.hosts).collect::<Vec<_>>(), [5, 2]);
    let why = |name: &str| found.hosts.iter().find(|it| it.name == name).unwrap().why.clone();
    assert_eq!(why("h1"), None);
    assert_eq!(why("other1").unwrap(), "2 hosts are of this kind: 3 are needed to tell which one differs");
    runs.iter_mut().for_each(|run| run.complete = false);
    assert_eq!(
        fleet(&runs, Vec::new()).unwrap_err().to_string(),
        "there is no complete run to compare: of-h0 of h0 was interrupted, of-h1 of h1 was interrupted and 6 others"
    );
}

#[test]
fn two_runs_of_a_host_are_one_host() {
    let mut random = Random::new(5);
    let mut runs: Vec<Run> = (0..5).map(|n| random.run(&format!("h{n}"), "6.18", 0.004, &[])).collect();
    let mut again = random.run("h1", "6.18", 0.004, &[]);
    again.id = "again".into();
    runs.push(again);
    let found = fleet(&runs, Vec::new()).unwrap();
    assert_eq!(found.hosts.len(), 5);
    assert_eq!(found.hosts.iter().find(|it| it.name == "h1").unwrap().runs, ["of-h1", "again"]);
}

#[test]
fn simulated_figures_are_equal_or_differ() {
    let run = |n: usize, cycles: f64| {
        let tool = Tool { version: String::new(), commit: String::new() };
        let host = Host { name: format!("h{n}"), ..Host::default() };
        let mut run = Run::begin(format!("{n}"), String::new(), tool, Vec::new(), host, 0);
        run.complete = true;
        let mut row = Measurement::empty("riscv/trap", "embedded", Per::Trap, Status::Measured);
        row.cycles = Some(Estimate::within(cycles, [cycles, cycles]));
        run.results.push(row);
        run
    };
    let found = fleet(&[run(0, 134.0), run(1, 134.0), run(2, 135.0), run(3, 134.0)], Vec::new()).unwrap();
    let [it] = &found.differences[..] else { panic!("{:?}", found.differences) };
    assert_eq!((&*it.host, it.value.round(), it.usual.round(), it.chance), ("h2", 135.0, 134.0, 0.0));
    assert_eq!(found.tested, 0);
}

#[test]
fn the_page_has_every_host_and_stays_small() {
    let (mut runs, planted) = Random::new(9).fleet(100, 0.005, 0.05);
    // As many probes as the ladder has.
    for run in &mut runs {
        for copy in 0..2 {
            let more: Vec<Measurement> = run.results[..PROBES.len()].to_vec();
            run.results.extend(more.into_iter().map(|mut row| {
                row.probe = format!("{}-{copy}", row.probe);
                row
            }));
        }
    }
    runs[0].host.name = "<script>alert(1)</script>".into();
    let runs: Vec<Run> = runs.into_iter().map(essentials).collect();
    let fleet = fleet(&runs, Vec::new()).unwrap();
    let page = fleet_html(&fleet);
    println!("100 hosts, 48 probes: {} KB", page.len() / 1000);
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert!(runs[1..].iter().all(|run| page.contains(&run.host.name)));
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert"));
    for (host, probe) in planted {
        assert!(page.contains(&format!("{host}: +")), "{host} {probe}");
    }
    let mut reader = quick_xml::Reader::from_str(&page);
    while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let (runs, _) = Random::new(11).fleet(40, 0.005, 0.05);
    let fleet = fleet(&runs, Vec::new()).unwrap();
    for width in [40, 60, 80, 120] {
        let text = fleet_table(&fleet, &Style { width, ..Style::default() });
        assert!(text.lines().all(|line| line.len() <= width), "{width}: {text}");
    }
}
