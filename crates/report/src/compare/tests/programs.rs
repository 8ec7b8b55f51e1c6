//! Programs are compared by what they crossed, what that cost, and the kernel's work behind it.

use super::*;
use tollgate_record::family::ExecFound;
use tollgate_record::{PhaseName, phase};

/// A run of a program: its name for the boundary, the kind, and how often it was crossed.
fn program(id: &str, rows: &[(&str, &str, u64)]) -> Run {
    let row = |&(kind, name, count): &(&str, &str, u64)| {
        let mut row = Measurement::empty(&format!("exec/{name}"), "host", Per::Run, Status::Measured);
        row.crossings = count;
        row.found = Found::Toll(TollFound { kind: kind.into(), name: name.into(), ..TollFound::default() });
        row
    };
    run(id, rows.iter().map(row).collect())
}

#[test]
fn two_commands_are_named_at_the_head_and_nowhere_else() {
    let of = |id: &str, word: &str| {
        let mut run = program(id, &[("switch", "voluntary", 1_000)]);
        let asked = ExecAsked { command: vec![word.into(), "--all".into()], attached: false };
        run.results[0].asked = Asked::Exec(asked);
        run.results.push(measured("exec/elapsed", 6_469_000.0, 3e9, 12));
        run
    };
    let found = compare(&[of("a", "old")], &[of("b", "new")], &Options::default()).unwrap();
    let text = comparison(&found, false, &ASCII);
    assert!(text.contains("A  old --all, a") && text.contains("B  new --all, b"), "{text}");
    assert!(!text.contains("command is"), "{text}");
    // Cycles at 3 GHz.
    assert!(text.contains("2.16 ms"), "{text}");
}

fn verdicts(found: &Comparison) -> Vec<(&str, Verdict)> {
    found.rows.iter().map(|row| (row.probe.as_str(), row.verdict)).collect()
}

#[test]
fn one_run_of_each_program_is_compared_by_what_it_crossed() {
    let a = [
        ("system call", "read", 100_000),
        ("system call", "brk", 3),
        ("fault", "anonymous", 150),
        ("switch", "voluntary", 1_000),
    ];
    // 1 % more calls than would happen by chance; some faults more, as the addresses give it.
    let b = [
        ("system call", "read", 101_000),
        ("system call", "brk", 3),
        ("fault", "anonymous", 160),
        ("switch", "voluntary", 2_000),
    ];
    let found = compare(&[program("a", &a)], &[program("b", &b)], &Options::default()).unwrap();
    assert_eq!(
        verdicts(&found),
        [
            ("exec/read", Verdict::Worse),
            ("exec/brk", Verdict::Same),
            ("exec/anonymous", Verdict::CannotTell),
            ("exec/voluntary", Verdict::CannotTell)
        ]
    );
    assert_eq!((found.rows[0].a, found.rows[0].b, found.rows[0].unit), (100_000.0, 101_000.0, "crossings"));
}

#[test]
fn counts_that_differ_among_runs_of_one_side_are_not_repeatable() {
    let of = |id: &str, count| program(id, &[("system call", "futex", count)]);
    let found = |second| {
        let a = [of("a1", 1_000), of("a2", second)];
        let found = compare(&a, &[of("b", 1_500)], &Options::default()).unwrap();
        (found.rows[0].verdict, found.rows[0].why.clone())
    };
    assert_eq!(found(1_020), (Verdict::Worse, None));
    let (verdict, why) = found(1_030);
    assert_eq!(verdict, Verdict::CannotTell);
    assert!(why.unwrap().starts_with("not repeatable"));
}

#[test]
fn random_counts_are_compared_run_by_run() {
    let side = |name: &str, counts: &[u64]| -> Vec<Run> {
        let each = counts.iter().enumerate();
        each.map(|(at, count)| program(&format!("{name}{at}"), &[("switch", "voluntary", *count)])).collect()
    };
    let few = side("a", &[100, 110, 95, 105, 102, 98]);
    let many = side("b", &[200, 210, 190, 205, 220, 195]);
    let again = side("c", &[104, 96, 111, 99, 101, 103]);
    let verdict = |b: &[Run]| compare(&few, b, &Options::default()).unwrap().rows[0].verdict;
    assert_eq!(verdict(&many), Verdict::Worse);
    assert_ne!(verdict(&again), Verdict::Worse);
}

/// Recorded on a busy machine: of eight runs of each side, three and four woke a task on another CPU, twice and once.
#[test]
fn what_only_some_runs_crossed_is_neither_better_nor_worse() {
    let side = |name: &str, some: usize, count: u64| -> Vec<Run> {
        let rows = |at: usize| {
            let read = ("system call", "read", 1_000 + at as u64 % 2);
            if at < some { vec![read, ("wake-up", "on another CPU", count)] } else { vec![read] }
        };
        (0..8).map(|at| program(&format!("{name}{at}"), &rows(at))).collect()
    };
    let found = compare(&side("a", 3, 2), &side("b", 4, 1), &Options::default()).unwrap();
    let wakes = found.rows.iter().find(|row| row.probe == "exec/on another CPU").unwrap();
    assert_eq!(wakes.verdict, Verdict::CannotTell);
    assert_eq!(wakes.why.as_deref(), Some("3 and 4 runs are too few for an interval"));
}

/// A machine that changes by up to 80 % from pair to pair, and a program that crosses 3 % more and takes 3 % longer: runs dealt
/// out to both sides cannot show that, neighbors do.
#[test]
fn runs_in_turns_are_compared_with_their_neighbors() {
    let machine: Vec<f64> = (0..12).map(|at| 1.0 + f64::from(at * 5 % 12) * 0.07).collect();
    let side = |id: &str, other: &str, more: f64| -> Vec<Run> {
        let one = |(at, (machine, own)): (usize, (&f64, &f64))| {
            let scale = machine * more * own.exp();
            let mut run = program(&format!("{id}{at}"), &[("call", "read", (1e6 * scale) as u64)]);
            let mut elapsed = measured("exec/elapsed", 1e6 * scale, 3e9, 1);
            elapsed.epochs[0].core_hz = None;
            run.results.push(elapsed);
            run.interleaved_with = Some(format!("{other}{at}"));
            run
        };
        machine.iter().zip(OWN.iter().cycle()).enumerate().map(one).collect()
    };
    let (a, b, none) = (side("a", "b", 1.0), side("b", "a", 1.03), side("b", "a", 1.0));
    let found = compare(&a, &b, &Options::default()).unwrap();
    assert!(found.interleaved && found.by_runs && found.rows.len() == 2);
    for row in &found.rows {
        assert_eq!((row.verdict, row.units, row.exact), (Verdict::Worse, [12, 12], false), "{row:?}");
        assert!((row.ratio.unwrap() - 1.03).abs() < 0.001 && row.chance.unwrap() <= 0.002, "{row:?}");
    }
    assert!(comparison(&found, false, &ASCII).contains("each is compared with its neighbor"));
    let found = compare(&a, &none, &Options::default()).unwrap();
    assert!(found.rows.iter().all(|row| row.verdict == Verdict::Same), "{:?}", found.rows);
    // The same runs, of which none says with which it took turns.
    let apart = |runs: &[Run]| -> Vec<Run> {
        runs.iter().map(|run| Run { interleaved_with: None, ..run.clone() }).collect()
    };
    let found = compare(&apart(&a), &apart(&b), &Options::default()).unwrap();
    assert!(found.rows.iter().all(|row| row.verdict == Verdict::CannotTell), "{:?}", found.rows);
}

/// A bill: its CPU time and tolls, and one boundary with its count, its price and the kernel's work, in nanoseconds.
fn billed(id: &str, count: u64, price: f64, work: f64) -> Run {
    let part = |name: PhaseName, ns: f64| Phase {
        ns: Some(Estimate::point(ns)),
        ..Phase::new(name, Evidence::Priced)
    };
    let toll = count as f64 * price;
    let mut run = program(id, &[("system call", "read", count)]);
    let row = &mut run.results[0];
    row.phases = vec![part(phase::TOLL, toll), part(phase::KERNEL_WORK, work)];
    row.ns = Some(Estimate::point(toll + work));
    row.found = Found::Toll(TollFound {
        kind: "system call".into(),
        name: "read".into(),
        price_ns: Some([price, price * 0.99, price * 1.01]),
        ..TollFound::default()
    });
    let mut whole = measured("exec/total", 3e6, 3e9, 1);
    whole.epochs[0].core_hz = None;
    whole.found = Found::Exec(ExecFound::default());
    whole.phases = vec![part(phase::TOLL, toll)];
    run.results.insert(0, whole);
    run
}

/// The part of a row, or the row itself.
fn part_of<'c>(found: &'c Comparison, probe: &str, part: Option<&str>) -> &'c ComparedProbe {
    let is = |row: &&ComparedProbe| row.probe == probe && row.part.as_deref() == part;
    found.rows.iter().find(is).unwrap_or_else(|| panic!("{probe} {part:?}"))
}

#[test]
fn tolls_of_one_machine_differ_as_the_counts_do() {
    // The machine was slower when B was measured.
    let (a, b) = (billed("a", 100_000, 190.0, 5e6), billed("b", 101_000, 240.0, 8e6));
    let found = compare(&[a], &[b], &Options::default()).unwrap();
    let toll = part_of(&found, "exec/read", Some("toll"));
    assert_eq!((toll.unit, toll.verdict, toll.exact), ("ns", Verdict::Worse, true));
    assert_eq!((toll.a, toll.b, toll.ratio), (21.5e6, 21.715e6, Some(1.01)));
    assert_eq!(part_of(&found, "exec/total", Some("toll")).b, 21.715e6);
    // A time of one run says nothing.
    assert_eq!(part_of(&found, "exec/read", Some("kernel-work")).verdict, Verdict::CannotTell);
    let text = comparison(&found, false, &ASCII);
    assert!(text.contains("    tolls ") && text.contains("    kernel work "), "{text}");
}

#[test]
fn tolls_of_two_machines_have_their_own_prices() {
    let (a, mut b) = (billed("a", 100_000, 190.0, 5e6), billed("b", 100_000, 240.0, 5e6));
    b.host.kernel.release = "7.0".into();
    let found = compare(&[a], &[b], &Options::default()).unwrap();
    let toll = part_of(&found, "exec/read", Some("toll"));
    assert_eq!((toll.a, toll.b, toll.verdict), (19e6, 24e6, Verdict::CannotTell));
}

#[test]
fn a_part_that_some_runs_do_not_have_is_not_compared() {
    let (a, mut b) = (billed("a", 1_000, 190.0, 5e6), billed("b", 1_000, 190.0, 5e6));
    b.results[1].phases.pop();
    let found = compare(&[a], &[b], &Options::default()).unwrap();
    assert!(found.rows.iter().all(|row| row.part.as_deref() != Some("kernel-work")), "{:?}", found.rows);
}

#[test]
fn the_work_of_runs_in_turns_is_compared_with_that_of_neighbors() {
    let side = |id: &str, other: &str, more: f64| -> Vec<Run> {
        let one = |(at, own): (usize, &f64)| {
            let machine = 1.0 + (at * 5 % 12) as f64 * 0.07;
            let mut run =
                billed(&format!("{id}{at}"), 10_000, 190.0 * machine, 4e5 * machine * more * own.exp());
            run.interleaved_with = Some(format!("{other}{at}"));
            run
        };
        OWN.iter().enumerate().map(one).collect()
    };
    let compared = |more| compare(&side("a", "b", 1.0), &side("b", "a", more), &Options::default()).unwrap();
    let found = compared(1.05);
    let work = part_of(&found, "exec/read", Some("kernel-work"));
    assert_eq!((work.verdict, work.units), (Verdict::Worse, [12, 12]), "{work:?}");
    assert!((work.ratio.unwrap() - 1.05).abs() < 0.001, "{work:?}");
    assert_eq!(part_of(&found, "exec/read", Some("toll")).verdict, Verdict::Same);
    assert!(compared(1.0).rows.iter().all(|row| row.verdict == Verdict::Same));
}

#[test]
fn parts_that_are_small_and_did_not_move_have_no_line() {
    // The CPU time is 1 ms: 0.19 and 0.5 % of it.
    let text = |count| {
        let (a, b) = (billed("a", 10, 190.0, 5e3), billed("b", count, 190.0, 5e3));
        let text = comparison(&compare(&[a], &[b], &Options::default()).unwrap(), false, &ASCII);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(
        text(10).contains("Not shown: 3 rows of tolls and kernel work, of less than 1.0 %"),
        "{}",
        text(10)
    );
    assert!(text(100).contains("tolls 1.90 us 19.0 us"), "{}", text(100));
}
