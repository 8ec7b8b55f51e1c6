//! Whatever a record holds: no line is too wide, no control character gets out, no row is lost.

mod fixture;

use proptest::prelude::*;
use tollgate_judge::{Options, compare, history};
use tollgate_record::family::{KneeAsked, KneeFound, LeftOut, RingAsked};
use tollgate_record::store::{Entry, Summary};
use tollgate_record::{Asked, Found};
use tollgate_record::{
    EpochFigure, Evidence, Finding, Measurement, PairedFigure, Per, Phase, Regression, Run, Severity, Status,
    TypicalFigure, Warning, document,
};
use tollgate_report::{ProbeRow, Style, comparison, findings, history_table, probes, runs, view};
use unicode_width::UnicodeWidthChar;

/// Words of many kinds: plain, wide, steering, joining, and long ones without a place to break.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z ]{0,40}",
        "[a-z]{0,200}",
        "(\\x1b\\[[0-9]{1,2}m|\\x1b\\]0;|\\n|\\t|\\r|\u{9b}2J|\u{202e}|\u{200d}|\u{300}|日|é|👩|\u{fe0f}|x){0,30}",
    ]
}

fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![proptest::num::f64::ANY, -10.0..1e7f64, Just(0.0), Just(f64::NAN)]
}

prop_compose! {
    fn measurement()(
        words in [text(), text(), text(), text(), text()],
        status in prop_oneof![Just(Status::Measured), Just(Status::Measured), Just(Status::Skipped), Just(Status::Failed)],
        per in prop_oneof![Just(Per::Switch), Just(Per::Operation), Just(Per::Call)],
        figures in [figure(), figure(), figure(), figure(), figure(), figure()],
        has in any::<[bool; 4]>(),
        code in prop_oneof![Just("proof-disagrees".to_owned()), text()],
    ) -> Measurement {
        let [family, engine, reason, key, warning] = words;
        let mut result = Measurement::empty(&family.replace('/', ""), &engine, per, status);
        result.reason = has[0].then_some(reason);
        result.ns = has[1].then(|| fixture::estimate(figures[0], figures[1]));
        result.cycles = has[2].then(|| fixture::estimate(figures[2], figures[3]));
        result.single = has[3].then(|| fixture::single(figures[4]));
        result.asked = fixture::parameters(key.clone(), warning.clone());
        result.proof.insert(key, figures[5]);
        result.warnings.push(Warning { code, text: warning });
        result
    }
}

prop_compose! {
    fn run()(mut results in prop::collection::vec(measurement(), 0..8), words in [text(), text(), text(), text()]) -> Run {
        // So that each row can be found again.
        for (i, result) in results.iter_mut().enumerate() {
            result.probe = format!("{}/m{i}_", result.probe);
        }
        let mut run = fixture::run(results);
        let [model, release, hypervisor, source] = words;
        run.host.cpu.model = model;
        run.host.kernel.release = release.clone();
        run.host.hypervisor = Some(hypervisor);
        run.host.clock.source = source;
        run.warnings.push(Warning { code: String::new(), text: release });
        run
    }
}

fn style() -> impl Strategy<Value = Style> {
    (0..220usize, any::<[bool; 4]>()).prop_map(|(width, [color, unicode, all, warnings])| Style {
        width,
        color,
        unicode,
        all,
        warnings,
        ..Style::PLAIN
    })
}

/// The text without the colors that were asked for.
fn colorless(text: &str, style: &Style) -> String {
    if !style.color {
        return text.into();
    }
    ["1", "2", "31", "32", "33", "36", "0"]
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(&format!("\x1b[{code}m"), ""))
}

fn check(text: &str, style: &Style) -> Result<String, TestCaseError> {
    let text = colorless(text, style);
    prop_assert!(text.ends_with('\n'));
    prop_assert!(style.unicode || text.is_ascii(), "not ASCII: {text:?}");
    for line in text.lines() {
        let columns: usize = line.chars().filter_map(|c| c.width()).sum();
        prop_assert!(columns <= style.width.max(40), "{columns} columns: {line:?}");
        prop_assert!(!line.chars().any(char::is_control), "control: {line:?}");
        prop_assert!(!line.ends_with(' '), "space at the end: {line:?}");
    }
    Ok(text)
}

/// Gives the results processes and phases.
fn dress(run: &mut Run, numbers: &[(f64, f64, f64)]) {
    for (place, result) in run.results.iter_mut().enumerate() {
        let epoch = |(a, b, c): &(f64, f64, f64)| EpochFigure {
            ns: *a,
            core_hz: (*b > 0.0).then_some(*c),
            typical: (*c > 0.0).then(|| TypicalFigure { ns: *a, yardsticks: vec![*b, *c] }),
            paired: (*b > 1.0).then_some(PairedFigure { ratio: *c, pairs: 7, spread: *a }),
        };
        result.epochs = numbers.iter().skip(place % 3).map(epoch).collect();
        result.regression = numbers.first().map(|(a, b, c)| Regression {
            batches: 24,
            deviation: *a,
            squares: vec![vec![*a, *b], vec![*b, *c]],
            products: vec![*b, *c],
            square: *a,
        });
        let ns = numbers.first().map(|(a, b, _)| fixture::estimate(*a, *b));
        let name = result.engine.clone();
        result.phases.push(Phase { ns, ..Phase::new(name, Evidence::Measured) });
    }
}

/// No text of a record becomes markup; fences contain no markup.
fn check_markdown(text: &str) -> Result<(), TestCaseError> {
    prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "control: {text:?}");
    prop_assert!(text.matches("```").count().is_multiple_of(2), "fences: {text:?}");
    let outside: String = text.split("```").step_by(2).collect();
    let ours = |line: &&str| line.starts_with("<details><summary>All ") || *line == "</details>";
    let markup = outside.lines().filter(|line| !ours(line)).find(|line| line.contains('<'));
    prop_assert!(markup.is_none(), "markup: {markup:?}");
    Ok(())
}

/// A comparison and a history of whatever it is, as it is and as if the two were measured in pairs.
fn both(a: &[Run], b: &[Run], options: &Options, style: &Style) -> Result<(), TestCaseError> {
    shown(a, b, options, style)?;
    let ([a], [b]) = (a, b) else { return Ok(()) };
    for until in [None, Some(0.03)] {
        let (mut a, mut b) = (a.clone(), b.clone());
        (a.interleaved_with, b.interleaved_with) = (Some(b.id.clone()), Some(a.id.clone()));
        (a.until, b.until) = (until, until);
        shown(&[a], &[b], options, style)?;
    }
    Ok(())
}

/// Refused in a sentence, or shown in good order.
fn shown(a: &[Run], b: &[Run], options: &Options, style: &Style) -> Result<(), TestCaseError> {
    match compare(a, b, options) {
        Ok(found) => {
            check(&comparison(&found, true, style), style)?;
            check_markdown(&comparison(&found, true, &Style::MARKDOWN))?;
            prop_assert!(serde_json::to_string(&found).is_ok());
        }
        Err(error) => prop_assert!(!error.to_string().chars().any(char::is_control), "{error}"),
    }
    let all: Vec<Run> = a.iter().chain(b).cloned().collect();
    let found = history(&all, &|_| true, options.by_time);
    if !found.groups.is_empty() {
        check(&history_table(&found, style), style)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn ladders(run in run(), style in style()) {
        let crossing = Run { command: vec!["crossing".into()], ..run.clone() };
        check(&view(&crossing, &style), &style)?;
        check_markdown(&view(&crossing, &Style::MARKDOWN))?;
        check_markdown(&view(&run, &Style::MARKDOWN))?;
        let text = check(&view(&run, &style), &style)?;
        for (i, result) in run.results.iter().enumerate() {
            let row = text.lines().any(|line| line.starts_with(&format!("  m{i}_")));
            prop_assert_eq!(row, result.status != Status::Skipped, "{}", text);
        }
    }

    #[test]
    fn rings(run in run(), numbers in prop::collection::vec((figure(), figure(), figure()), 8), knee in any::<bool>(), style in style()) {
        let mut run = run;
        for (result, (procs, size, ns)) in run.results.iter_mut().zip(numbers) {
            result.probe = if knee { "ring/knee" } else { "ring/pipe" }.into();
            result.asked = Asked::Ring(RingAsked { procs: procs as u32, size: size as u64, ..RingAsked::default() });
            if knee {
                let left_out = Some(LeftOut { cells: ns as u64, median_error: size, worst_error: procs });
                result.asked = Asked::Knee(KneeAsked::default());
                result.found =
                    Found::Knee(KneeFound { knee_bytes: Some(ns as u64), left_out, ..KneeFound::default() });
            }
            for name in ["refill", "hot-work", "run-queue"] {
                let ns = Some(fixture::estimate(ns, size));
                let evidence = tollgate_record::Evidence::Difference;
                result.phases.push(tollgate_record::Phase { ns, ..tollgate_record::Phase::new(name, evidence) });
            }
            result.counters.insert(result.engine.clone(), ns);
        }
        check(&view(&run, &style), &style)?;
    }

    #[test]
    fn faults(run in run(), numbers in prop::collection::vec((figure(), figure(), figure()), 8), style in style()) {
        const KEYS: [&str; 12] = [
            "scan-minor", "scan-major", "page_bytes", "bytes-read", "elapsed-s", "cpu-share", "minor-faults",
            "direct-read-p50-ns", "read_ahead_kib", "size", "memory_limit", "mapped-per-touch",
        ];
        let mut run = run;
        for (place, (result, (a, b, c))) in run.results.iter_mut().zip(numbers).enumerate() {
            result.probe = ["fault/major", "fault/anonymous", "fault/direct-read"][place % 3].into();
            for (key, value) in KEYS.iter().zip([a, b, c].into_iter().cycle()) {
                result.counters.insert((*key).into(), value);
            }
            for name in ["entry-and-return", "waiting", "device-wait"] {
                let ns = Some(fixture::estimate(a, b));
                let evidence = tollgate_record::Evidence::Measured;
                result.phases.push(tollgate_record::Phase { ns, ..tollgate_record::Phase::new(name, evidence) });
            }
            for name in ["touches", "bytes read", "minor faults"] {
                let points = vec![[0.0, a], [b, c], [c, b]];
                let unit = result.engine.clone();
                result.series.push(tollgate_record::Series { name: name.into(), x_unit: unit.clone(), y_unit: unit, points });
            }
        }
        check(&view(&run, &style), &style)?;
        run.results.iter_mut().for_each(|result| result.probe = "fault/scan".into());
        check(&view(&run, &style), &style)?;
    }

    #[test]
    fn lists_of_runs(rows in prop::collection::vec((text(), text(), text(), any::<bool>()), 0..6), style in style()) {
        let entry = |(id, a, b, complete): (String, String, String, bool)| {
            let summary = Summary { started: a.clone(), command: vec![b.clone()], complete, host: b, ..Summary::default() };
            Entry { id, path: "x".into(), content: if complete { Ok(summary) } else { Err(a) } }
        };
        let entries: Vec<Entry> = rows.into_iter().map(entry).collect();
        check(&runs(&entries, &style), &style)?;
    }

    #[test]
    fn lists_of_probes(rows in prop::collection::vec((text(), text(), text(), any::<bool>()), 0..6), style in style()) {
        let row = |(id, what, reason, can): (String, String, String, bool)| {
            ProbeRow { enable: (!can).then(|| id.clone()), command: reason.clone(), reason: (!can).then_some(reason), id, what, per: Per::Operation, in_ladder: can }
        };
        let rows: Vec<ProbeRow> = rows.into_iter().map(row).collect();
        check(&probes(&rows, true, &style), &style)?;
    }

    #[test]
    fn lists_of_findings(rows in prop::collection::vec((text(), text(), text(), any::<bool>()), 0..6), style in style()) {
        let finding = |(code, what, effect, ok): (String, String, String, bool)| {
            let severity = if ok { Severity::Ok } else { Severity::Spoils };
            Finding { severity, fix: Some(what.clone()), code, what, effect }
        };
        let list: Vec<Finding> = rows.into_iter().map(finding).collect();
        check(&findings(&list, &style), &style)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(80) })]

    #[test]
    fn comparisons_and_histories(
        a in run(), b in run(), numbers in prop::collection::vec((figure(), figure(), figure()), 4..9),
        alike in any::<[bool; 4]>(), style in style(),
    ) {
        let (a, mut b) = ({ let mut a = a; dress(&mut a, &numbers); a }, b);
        dress(&mut b, &numbers[numbers.len() / 2..]);
        b.id = "20261122T000000Z-other".into();
        if alike[0] {
            b.host = a.host.clone();
        }
        for (theirs, ours) in b.results.iter_mut().zip(&a.results) {
            theirs.probe.clone_from(&ours.probe);
            if alike[1] {
                theirs.per = ours.per;
                theirs.engine.clone_from(&ours.engine);
            }
        }
        let options = Options { fail_above: alike[2].then_some(0.05), by_time: alike[3], ..Options::default() };
        both(&[a], &[b], &options, &style)?;
    }

    #[test]
    fn mutated_records_are_refused_or_compared(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..12), style in style(),
    ) {
        let mut whole = fixture::ladder();
        whole.id = "20261122T000000Z-other".into();
        dress(&mut whole, &[(1.0, 2.0, 3.0), (5.0, 6.0, 7.0)]);
        let mut text = document::to_json(&whole).unwrap().into_bytes();
        for (place, byte, how) in changes {
            if text.is_empty() {
                break;
            }
            let place = place.index(text.len());
            match how {
                // Digits become other digits: the record still reads, and says something else.
                0 | 1 if text[place].is_ascii_digit() => text[place] = b'0' + byte % 10,
                0 => text[place] = byte,
                1 => text.insert(place, b"-e9.,}]\"\0"[usize::from(byte) % 9]),
                2 => { text.remove(place); }
                _ => text.truncate(place.max(1)),
            }
        }
        if let Ok(read) = document::from_json(&text) {
            both(&[fixture::ladder()], &[read], &Options::default(), &style)?;
        }
    }
}
