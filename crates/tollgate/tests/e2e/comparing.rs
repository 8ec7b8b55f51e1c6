//! Comparisons and histories of records that were made by hand: simulated figures, so that all comes out exactly.

use crate::case::{CASE, Case, go_through};
use crate::scene::Scene;
use tollgate_record::{Estimate, Host, Measurement, Per, Run, Status, Tool, document};

#[test]
fn comparing() {
    go_through("e2e::comparing::comparing", CASES);
}

const REFUSED: Case = Case { exit: 2, then: |outcome| assert!(outcome.stdout.is_empty()), ..CASE };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "compare two runs of a store",
        args: "compare old new --store {dir}/store",
        prints: &[
            "ecall (embedded)",
            "+5.0 % exact worse",
            "+0.0 % exact same",
            "1 of 2 probes moved: 1 worse, 0 better; 1 the same, 0 cannot tell.",
        ],
        scene: two,
        ..CASE
    },
    Case {
        name: "compare two files",
        args: "compare {dir}/store/new.json {dir}/store/old.json",
        prints: &["-4.8 % exact better"],
        scene: two,
        ..CASE
    },
    Case {
        name: "compare with a threshold that holds",
        args: "compare old new --fail-above 6% --store {dir}/store",
        prints: &["No probe is slower by more than 6.0 % for sure"],
        scene: two,
        ..CASE
    },
    Case {
        name: "compare with a threshold that is exceeded",
        args: "compare old new --fail-above 4% --store {dir}/store",
        exit: 1,
        says: &["slower than --fail-above allows, for sure: user/ecall"],
        prints: &["Slower by more than 4.0 %", "user/ecall"],
        scene: two,
        ..CASE
    },
    Case {
        name: "compare as Markdown",
        args: "compare old new --markdown --store {dir}/store",
        prints: &["| ecall (embedded) | 200c | 210c | 1.050 | +5.0 % | exact |", "**worse** |"],
        scene: two,
        ..CASE
    },
    Case {
        name: "compare as JSON",
        args: "compare old new --json --store {dir}/store",
        prints: &["\"schema\": \"tollgate-compare/1\"", "\"verdict\": \"worse\""],
        scene: two,
        ..CASE
    },
    Case {
        name: "compare directories of runs",
        args: "compare {dir}/store --with {dir}/other",
        prints: &["exact worse"],
        scene: |scene| {
            scene.file("store/a.json", record("a", 200.0));
            scene.file("other/b.json", record("b", 210.0));
            Ok(())
        },
        ..CASE
    },
    Case {
        name: "compare one run with nothing",
        args: "compare old --store {dir}/store",
        says: &["'old' is compared with nothing", "as in: tollgate compare new old"],
        scene: two,
        ..REFUSED
    },
    Case {
        name: "compare three runs",
        args: "compare a b c --store {dir}/store",
        says: &["more than two runs", "--with"],
        ..REFUSED
    },
    Case {
        name: "compare nothing",
        args: "compare --store {dir}/store",
        says: &["<RUN>", "--help"],
        ..REFUSED
    },
    Case {
        name: "compare runs of a store without any",
        args: "compare old new --store {dir}/empty",
        says: &["no run is called `old`", "tollgate show"],
        ..REFUSED
    },
    Case {
        name: "compare with a slip in the id",
        args: "compare old nwe --store {dir}/store",
        says: &["no run is called `nwe`", "the nearest is 'new'"],
        scene: two,
        ..REFUSED
    },
    Case {
        name: "compare a run with itself",
        args: "compare old old --store {dir}/store",
        says: &["the run `old` is on both sides"],
        scene: two,
        ..REFUSED
    },
    Case {
        name: "compare an empty directory",
        args: "compare old --with {dir}/home --store {dir}/store",
        says: &["there is no run in {dir}/home"],
        scene: two,
        ..REFUSED
    },
    Case {
        name: "compare a directory with a broken run in it",
        args: "compare old --with {dir}/other --store {dir}/store",
        says: &["cannot use {dir}/other/b.json: it is cut short"],
        scene: |scene| {
            scene.file("other/a.json", record("a", 1.0));
            scene.file("other/b.json", &record("b", 1.0)[..500]);
            two(scene)
        },
        ..REFUSED
    },
    Case {
        name: "compare a newer record",
        args: "compare old newer --store {dir}/store",
        says: &["its schema is \"tollgate/3\"", "use a newer tollgate"],
        scene: |scene| {
            scene.file(
                "store/newer.json",
                record("newer", 1.0).replace(tollgate_record::SCHEMA, "tollgate/3"),
            );
            two(scene)
        },
        ..REFUSED
    },
    Case {
        name: "compare a record whose figure is not a number",
        args: "compare old nan --store {dir}/store",
        says: &["cannot use {dir}/store/nan.json"],
        scene: |scene| {
            scene.file("store/nan.json", record("nan", 210.0).replace("210.0", "NaN"));
            two(scene)
        },
        ..REFUSED
    },
    Case {
        name: "compare figures of zero and below",
        args: "compare old new --store {dir}/store",
        prints: &["exact better", "0 worse, 1 better"],
        scene: |scene| sides(scene, 0.0, -5.0),
        ..CASE
    },
    Case {
        name: "compare what has no probe in common",
        args: "compare old empty --store {dir}/store",
        says: &["no probe was measured on both sides", "B has no figure"],
        scene: |scene| {
            scene.file("store/empty.json", empty("empty"));
            two(scene)
        },
        ..REFUSED
    },
    Case {
        name: "compare with a threshold in letters",
        args: "compare old new --fail-above five --store {dir}/store",
        says: &["'five'", "--fail-above <SHARE>", "for example 5% or 0.05"],
        ..REFUSED
    },
    Case {
        name: "compare with a threshold that means five hundred per cent",
        args: "compare old new --fail-above 5 --store {dir}/store",
        says: &["for example 5% or 0.05"],
        ..REFUSED
    },
    Case {
        name: "compare as Markdown and JSON",
        args: "compare old new --markdown --json",
        says: &["--markdown", "--json", "cannot be used with"],
        ..REFUSED
    },
    Case {
        name: "history of runs",
        args: "history --all-hosts --store {dir}/store",
        prints: &["2 runs", "user/ecall (embedded)"],
        scene: two,
        ..CASE
    },
    Case {
        name: "history without a run",
        args: "history --store {dir}/store",
        says: &["there is no run of this host in {dir}/store", "`tollgate` measures one"],
        ..REFUSED
    },
    Case {
        name: "history of other hosts",
        args: "history --store {dir}/store",
        says: &["there is no run of this host", "2 of other hosts are shown by --all-hosts"],
        scene: two,
        ..REFUSED
    },
    Case {
        name: "history of a probe with a slip",
        args: "history user/ecal --all-hosts --store {dir}/store",
        says: &["no saved run has a probe called 'user/ecal'", "the nearest is 'user/ecall'"],
        scene: two,
        ..REFUSED
    },
    Case {
        name: "history beside a broken record",
        args: "history --all-hosts --store {dir}/store",
        says: &["left out: cannot use {dir}/store/bad.json"],
        prints: &["user/ecall"],
        scene: |scene| {
            scene.file("store/bad.json", "{");
            two(scene)
        },
        ..CASE
    },
    Case {
        name: "a fleet with a host that differs",
        args: "fleet {dir}/records --out {dir}/fleet.html",
        says: &["{dir}/fleet.html has 4 hosts in"],
        prints: &[
            "h3 A 1 1 0 +10 % user/ecall (embedded)",
            "1 host differs from its like, in 1 figure",
            "Left out: cannot use {dir}/records/bad.json",
        ],
        scene: |scene| {
            scene.file("records/bad.json", "{");
            fleet(scene)
        },
        then: |outcome| {
            let page = std::fs::read_to_string(outcome.path("fleet.html")).unwrap();
            assert!(page.contains("h3: +10 % user/ecall") && page.ends_with("</html>\n"));
        },
        ..CASE
    },
    Case {
        name: "a fleet as JSON",
        args: "fleet {dir}/records --json --out {dir}/fleet.html",
        prints: &["\"schema\": \"tollgate-fleet/1\"", "\"host\": \"h3\""],
        scene: fleet,
        ..CASE
    },
    Case {
        name: "a fleet without a record",
        args: "fleet {dir} --out {dir}/fleet.html",
        says: &["there is no run in {dir}; a run is a file that ends in .json"],
        ..REFUSED
    },
    Case {
        name: "a fleet in a directory that is not there",
        args: "fleet {dir}/nowhere --out {dir}/fleet.html",
        says: &["there is no directory {dir}/nowhere"],
        ..REFUSED
    },
    Case {
        name: "a fleet of a record that cannot be read",
        args: "fleet {dir}/records --out {dir}/fleet.html",
        says: &["there is no complete run to compare: cannot use {dir}/records/bad.json"],
        scene: |scene| {
            scene.file("records/bad.json", "{");
            Ok(())
        },
        ..REFUSED
    },
    Case {
        name: "a fleet's page where no file can be",
        args: "fleet {dir}/records --out {dir}/nowhere/fleet.html",
        says: &["--out {dir}/nowhere/fleet.html cannot be written: there is no directory"],
        scene: fleet,
        ..REFUSED
    },
    Case {
        name: "against a program that is not there",
        args: "run null --against {dir}/nothing",
        says: &["--against: there is no program at {dir}/nothing"],
        ..REFUSED
    },
    Case {
        name: "against a program that is not tollgate",
        args: "run null --against /bin/true",
        says: &["is not a tollgate that can take turns", "run --against"],
        ..REFUSED
    },
    Case {
        name: "against another protocol",
        args: "run null --against {dir}/other",
        says: &["speaks version 999 of the worker's protocol", "tollgate compare"],
        scene: |scene| {
            let told = r#"{"protocol":999,"version":"9","commit":"x","probes":[]}"#;
            script(scene, "other", &format!("echo '{told}'"))
        },
        ..REFUSED
    },
    Case {
        name: "against no command",
        args: "run null --against-with ''",
        says: &["--against-with needs a command"],
        ..REFUSED
    },
    Case {
        name: "a threshold without a baseline",
        args: "run null --fail-above 5%",
        says: &["--fail-above is for a comparison", "--against PROGRAM"],
        ..REFUSED
    },
    Case {
        name: "until without a baseline",
        args: "run null --until 3%",
        says: &["--until is for a comparison", "--against PROGRAM"],
        ..REFUSED
    },
    Case {
        name: "until it is known, against itself",
        args: "run null call/direct --quick --budget-ms 600 --until 30% --against-with env --no-save",
        prints: &["direct", "of 2 probes", "took turns", "looks."],
        ..CASE
    },
    Case {
        name: "against itself with a variable set",
        args: "run call/direct --quick --budget-ms 600 --against-with env --store {dir}/store",
        says: &["saved as"],
        prints: &["direct", "of 1 probe", "took turns", "same addresses"],
        then: |outcome| {
            let saved = crate::scene::records(&outcome.path("store"));
            assert_eq!(saved.len(), 2, "both runs are saved");
            assert!(saved.iter().all(has_same_addresses), "both sides are this program");
        },
        ..CASE
    },
    Case {
        name: "against itself without randomized addresses",
        args: "run call/direct --quick --budget-ms 600 --against-with {dir}/fixed --store {dir}/store",
        scene: |scene| script(scene, "fixed", "exec setarch -R \"$@\""),
        says: &["saved as"],
        prints: &["took turns"],
        then: |outcome| {
            let saved = crate::scene::records(&outcome.path("store"));
            assert!(!saved.iter().any(has_same_addresses), "what is compared must not be done to both sides");
        },
        ..CASE
    },
];

/// A program in the scene's directory.
fn script(scene: &mut Scene, name: &str, text: &str) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    scene.file(name, format!("#!/bin/sh\n{text}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scene.path(name), mode).map_err(|error| error.to_string())
}

fn has_same_addresses(record: &std::path::PathBuf) -> bool {
    document::from_json(&std::fs::read(record).unwrap()).unwrap().same_addresses
}

fn two(scene: &mut Scene) -> Result<(), String> {
    sides(scene, 200.0, 210.0)
}

/// Four hosts, the last of which takes a tenth longer for one probe.
fn fleet(scene: &mut Scene) -> Result<(), String> {
    for (host, cycles) in [200.0, 200.0, 200.0, 220.0].into_iter().enumerate() {
        let mut run = run(&format!("of-{host}"), vec![simulated("user/ecall", cycles)]);
        run.host.name = format!("h{host}");
        scene.file(&format!("records/{host}.json"), document::to_json(&run).unwrap());
    }
    Ok(())
}

fn sides(scene: &mut Scene, old: f64, new: f64) -> Result<(), String> {
    scene.file("store/old.json", record("old", old));
    scene.file("store/new.json", record("new", new));
    Ok(())
}

fn record(id: &str, cycles: f64) -> String {
    text(id, vec![simulated("user/ecall", cycles), simulated("user/same", 7.0)])
}

fn simulated(probe: &str, cycles: f64) -> Measurement {
    let mut result = Measurement::empty(probe, "embedded", Per::Trap, Status::Measured);
    let ci = [cycles, cycles];
    let all = cycles;
    result.cycles =
        Some(Estimate { estimate: all, ci, min: all, p10: all, p50: all, p90: all, p99: all, mean: all });
    result
}

fn empty(id: &str) -> String {
    text(id, Vec::new())
}

fn text(id: &str, results: Vec<Measurement>) -> String {
    document::to_json(&run(id, results)).unwrap()
}

fn run(id: &str, results: Vec<Measurement>) -> Run {
    Run {
        complete: true,
        results,
        ..Run::begin(
            id.into(),
            "2026-01-01T00:00:00Z".into(),
            Tool { version: "0.1.0".into(), commit: "unknown".into() },
            vec!["riscv".into()],
            Host { name: "elsewhere".into(), ..Host::default() },
            42,
        )
    }
}
