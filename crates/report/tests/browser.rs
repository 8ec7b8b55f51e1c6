//! The page in a real browser: `browser/check.mjs` opens it with the network off, and looks at it as a person does who
//! has a mouse, a keyboard only, a phone, a printer, a screen reader, or no scripts.

mod every;

use every::RUNS;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use tollgate_record::Run;
use tollgate_testkit::{Browser, Missing};

fn run(text: &str) -> Run {
    tollgate_record::document::from_json(text.as_bytes()).expect("a run")
}

/// The same machine a little later: everything is slower by a tenth.
fn later(run: &Run) -> Run {
    let mut later = run.clone();
    later.id.push_str("-later");
    for result in &mut later.results {
        for figure in [&mut result.ns, &mut result.cycles, &mut result.ticks].into_iter().flatten() {
            *figure = figure.scaled(1.1);
        }
    }
    later
}

/// A ladder that was measured so many times, with hardly a difference: the marks of a row have the same place.
fn many(runs: usize) -> String {
    let one = run(RUNS[0]);
    let all: Vec<Run> = (0..runs).map(|n| Run { id: format!("{}-{n}", one.id), ..one.clone() }).collect();
    tollgate_report::html(&all)
}

/// The runs with markup at the end of every string, in names and in figures.
fn hostile() -> Vec<Run> {
    const MARKUP: &str = "</title></style></script><script>window.pwned=1</script>\"'><img src=x onerror=pwned=1>\
                          <svg onload=pwned=1>]]>--><a href=javascript:pwned=1>{{x}}&lt;b&#62;\u{202e}\u{0}";
    // Words that a run must have to be read at all.
    const KEPT: [&str; 10] = [
        "schema",
        "status",
        "per",
        "evidence",
        "histogram",
        "severity",
        "family",
        "caches",
        "icache",
        "count",
    ];
    fn spoil(value: &mut Value) {
        match value {
            Value::String(text) => text.push_str(MARKUP),
            Value::Array(values) => values.iter_mut().for_each(spoil),
            Value::Object(fields) => {
                for (key, value) in fields.iter_mut() {
                    if !value.is_string() || !KEPT.contains(&key.as_str()) {
                        spoil(value);
                    }
                }
                for free in ["parameters", "counters", "proof", "causes", "mitigations"] {
                    if let Some(Value::Object(inner)) = fields.get_mut(free) {
                        let spoilt =
                            std::mem::take(inner).into_iter().map(|(k, v)| (format!("{k}{MARKUP}"), v));
                        *inner = spoilt.collect();
                    }
                }
            }
            _ => {}
        }
    }
    RUNS.iter()
        .map(|text| {
            let mut value = serde_json::to_value(run(text)).expect("JSON");
            spoil(&mut value);
            serde_json::from_value(value).expect("still a run")
        })
        .collect()
}

/// The browser, or why the test skips.
macro_rules! browser {
    () => {
        match Browser::find() {
            Ok(browser) => browser,
            Err(error) if error.is::<Missing>() => return tollgate_testkit::skip!("{error}"),
            Err(error) => panic!("{error:#}"),
        }
    };
}

/// The pages with the checks of each, written beside each other; what the checks said, and whether all are content.
fn checked(browser: &Browser, name: &str, pages: &[(String, &str)]) -> (String, bool) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder");
    let mut command: Command = browser.script("check.mjs");
    for (i, (page, checks)) in pages.iter().enumerate() {
        let path = folder.join(format!("{i}.html"));
        fs::write(&path, page).expect("written");
        command.arg(path).arg(checks);
    }
    let output = command.output().expect("node starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("ok "), "the checks did not run: {said}{complaint}");
    (said, output.status.success())
}

#[test]
fn a_page_of_everything_works_for_everyone() {
    let browser = browser!();
    let runs: Vec<Run> = RUNS.iter().map(|text| run(text)).collect();
    let (said, good) = checked(&browser, "browser-page", &[(tollgate_report::html(&runs), "all")]);
    assert!(good, "{said}");
    assert_eq!(said.matches("\nok ").count(), 11, "{said}");
}

#[test]
fn overlaid_runs_work_for_everyone() {
    let browser = browser!();
    let runs = [run(RUNS[0]), later(&run(RUNS[0]))];
    let pages = [
        (tollgate_report::html(&runs), "opens,places,apart,hover,filter,axe,phone"),
        (many(5), "opens,places,apart,phone"),
        (many(20), "apart,phone"),
    ];
    let (said, good) = checked(&browser, "browser-overlaid", &pages);
    assert!(good, "{said}");
    assert_eq!(said.matches("\nok ").count(), 7 + 4 + 2, "{said}");
}

#[test]
fn markup_in_a_record_stays_text() {
    let browser = browser!();
    let page = tollgate_report::html(&hostile());
    let (said, good) =
        checked(&browser, "browser-hostile", &[(page, "opens,inert,filter,axe,phone,scriptless")]);
    assert!(good, "{said}");
}

/// Each check sees what it is there for: a page that is spoilt in one way fails it.
#[test]
fn the_checks_can_fail() {
    const SPOILT: &[(&str, &str, &str)] = &[
        ("opens", "<img src='https://tollgate.invalid/x.png' alt='x'>", "tollgate.invalid"),
        ("opens", "<script>console.error('broken')</script>", "console: broken"),
        ("opens", "<script>undefined.x</script>", "script: "),
        ("opens", "<style>.m{visibility:hidden}</style>", "is not visible"),
        ("opens", "<style>.picture svg{width:0;height:0;overflow:hidden}</style>", "a picture without size"),
        ("places", "<style>#ladder tr .m use{transform:translateX(4px)}</style>", "pixels off"),
        ("places", "<style>#ladder thead .track{width:90%}</style>", "pixels off"),
        (
            "places",
            "<script>const c=document.querySelectorAll('#ladder tr[data-name]')[3].cells[1];delete c.dataset.v;c.textContent='77.7'</script>",
            "pixels off",
        ),
        ("places", "<script>document.querySelector('#ladder .track .m').remove()</script>", "has no mark"),
        (
            "apart",
            "<style>.track .m:nth-of-type(2n) use{transform:translateY(6px)}</style>",
            "lie over each other",
        ),
        ("inert", "<script>window.pwned=1</script>", "ran as a script"),
        ("inert", "<p onclick='x'></p>", "attributes that are scripts"),
        ("hover", "<style>#tip{visibility:hidden}</style>", "the pointer on"),
        ("keyboard", "<style>:focus-visible{outline:none!important}</style>", "has the focus"),
        ("keyboard", "<a href='#x' tabindex='-1'>x</a>", "the tab key does not reach 1 of"),
        ("filter", "<style>[hidden]{display:block!important}</style>", "rows and should leave"),
        ("axe", "<p style='color:#ddd;background:#fff'>pale</p>", "color-contrast"),
        ("phone", "<div style='width:800px;background:red'>x</div>", "pixels wide on 360"),
        ("print", "<style>@media print{figure{display:none}}</style>", "is not visible"),
        ("scriptless", "<noscript><style>.m{visibility:hidden}</style></noscript>", "is not visible"),
    ];
    let browser = browser!();
    let one = tollgate_report::html(&[run(RUNS[0])]);
    let five = many(5);
    let pages: Vec<(String, &str)> = SPOILT
        .iter()
        .map(|(check, with, _)| {
            let good = if *check == "apart" { &five } else { &one };
            let spoilt = good.replace("</body>", &format!("{with}</body>"));
            assert_ne!(spoilt, *good, "the page has a body that ends");
            (spoilt, *check)
        })
        .collect();
    let (said, content) = checked(&browser, "browser-spoilt", &pages);
    assert!(!content, "{said}");
    let parts: Vec<&str> = said.split("page /").skip(1).collect();
    for ((check, with, expected), part) in SPOILT.iter().zip(parts) {
        assert!(part.contains(&format!("not ok {check}")) && part.contains(expected), "{with}: {part}");
    }
}
