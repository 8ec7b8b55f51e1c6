//! `tollgate fault`: what it tells, what it says to bad input, and what it leaves behind.

mod place;

use place::{Place, limited};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn number(result: &Value, path: &str) -> f64 {
    result.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {result:#}"))
}

/// Wrong input: the arguments, the exit status, and words that the sentence must have.
const WRONG: &[(&str, i32, &[&str])] = &[
    ("--size 4K --file {dir}/none", 2, &["none", "No such file"]),
    ("--size 4K --file {dir}", 2, &["is a directory", "name a file"]),
    ("--size 4K --file {dir}/empty", 2, &["is empty"]),
    ("--size 4K --file /dev/null", 2, &["is a device or a pipe", "regular file"]),
    ("--size 4K --file /sys/kernel/mm/transparent_hugepage/enabled", 2, &["--file /sys"]),
    ("--size 1M --file {dir}/page", 2, &["4096 bytes", "less than --size 1048576"]),
    ("--size 0", 2, &["touches nothing"]),
    ("--size 4K,0", 2, &["touches nothing"]),
    ("--size 10", 2, &["--size 10", "nothing would be touched"]),
    ("--size 64K --pattern stride:1M", 2, &["less than one step"]),
    ("--size 9999999G", 2, &["room for", "--file"]),
    ("--size 99999999999G", 2, &["--size"]),
    ("--size 99999999999999999999", 2, &["--size"]),
    ("--size -1", 2, &["-1"]),
    ("--size 1M --pattern zigzag", 2, &["sequential, random or stride:SIZE"]),
    ("--size 1M --pattern stride:100", 2, &["whole number of pages"]),
    ("--size 1M --advice none", 2, &["sequential"]),
    ("--size 1M --memory-limit 0", 2, &["--memory-limit"]),
    ("--size 1M --memory-limit 64K", 2, &["too small to run at all"]),
];

#[test]
fn wrong_input_gets_a_sentence_and_leaves_nothing() {
    for (args, exit, words) in WRONG {
        let place = Place::new();
        place.file("empty", &[]);
        place.file("page", &[1; 4096]);
        let outcome = place.run(args);
        assert_eq!(outcome.exit, Some(*exit), "{args}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty(), "{args}: {}", outcome.stdout);
        for word in *words {
            assert!(outcome.stderr.contains(word), "{args}: no '{word}' in {}", outcome.stderr);
        }
        assert!(!outcome.stderr.contains("panicked"), "{args}: {}", outcome.stderr);
        place.nothing_left();
    }
}

#[test]
fn a_scan_counts_what_the_kernel_counts_and_its_parts_add_up() {
    let place = Place::new();
    let outcome = place.run("--size 1M,8M --json --seed 5");
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    let run: Value = serde_json::from_str(&outcome.stdout).expect("a document");
    let schema = serde_json::from_str(&tollgate_record::schema::json()).unwrap();
    assert!(jsonschema::is_valid(&schema, &run), "not by the schema");
    for (result, pages) in run["results"].as_array().unwrap().iter().zip([256.0, 2_048.0]) {
        assert_eq!(result["status"], "measured", "{result:#}");
        assert_eq!(number(result, "/crossings"), pages);
        for kind in ["minor", "major"] {
            let counted = number(result, &format!("/counters/scan-{kind}"));
            let each = number(result, &format!("/proof/{kind}-per-touch"));
            assert_eq!((each * pages).round(), counted, "{kind}");
            // The process has faulted before its scan, and no less than in it.
            assert!(number(result, &format!("/counters/{kind}-faults")) >= counted, "{kind}");
        }
        // The histogram has every touch, and the timeline ends where the counts end.
        assert_eq!(number(result, "/single/count"), pages);
        let series = result["series"].as_array().unwrap();
        let end = |name: &str| {
            let series = series.iter().find(|series| series["name"] == name).unwrap();
            series["points"].as_array().unwrap().last().unwrap()[1].as_f64().unwrap()
        };
        assert_eq!(end("touches"), pages);
        assert_eq!(end("minor faults"), number(result, "/counters/scan-minor"));
        let parts = result["phases"].as_array().unwrap().iter();
        let sum: f64 = parts.map(|part| number(part, "/ns/estimate")).sum();
        assert!((sum / number(result, "/ns/estimate") - 1.0).abs() < 1e-6, "{sum}");
    }
    place.nothing_left();
}

#[test]
fn patterns_touch_what_they_say() {
    let place = Place::new();
    place.file("big", &vec![3; 4 << 20]);
    for (args, touches, pages) in [
        ("--pattern stride:64K", 64.0, Some(64.0)),
        ("--pattern sequential --advice sequential", 1_024.0, Some(1_024.0)),
        ("--pattern random --advice random --seed 1", 1_024.0, None),
    ] {
        let outcome = place.run(&format!("--size 4M --file {{dir}}/big --json {args}"));
        assert_eq!(outcome.exit, Some(0), "{args}: {}", outcome.stderr);
        let run: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let result = &run["results"][0];
        assert_eq!(number(result, "/crossings"), touches, "{args}");
        let distinct = number(result, "/counters/pages-touched");
        match pages {
            Some(pages) => assert_eq!(distinct, pages, "{args}"),
            // 1 - 1/e of 1,024 is 647; three deviations are about 30.
            None => assert!((610.0..690.0).contains(&distinct), "{distinct}"),
        }
    }
}

#[test]
fn a_file_that_may_only_be_read_is_scanned() {
    let place = Place::new();
    place.file("big", &vec![3; 1 << 20]);
    fs::set_permissions(place.path("big"), fs::Permissions::from_mode(0o444)).unwrap();
    let outcome = place.run("--size 1M --file {dir}/big");
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    for words in ["Major page faults", "Maximum resident set", "256 touches", "over its time"] {
        assert!(outcome.stdout.contains(words), "no '{words}' in\n{}", outcome.stdout);
    }
    assert!(outcome.stdout.lines().all(|line| line.chars().count() <= 80), "{}", outcome.stdout);
}

#[test]
fn a_file_that_is_cut_while_it_is_mapped_is_reported_and_what_was_measured_is_kept() {
    let place = Place::new();
    place.file("big", &vec![3; 64 << 20]);
    let path = place.path("big");
    let mut running =
        place.start("--size 64M --file {dir}/big --pattern random --advice random --json --seed 2");
    running.wait_for_scan("big");
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    let outcome = running.end();
    assert_eq!(outcome.exit, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("was cut to 1048576 bytes"), "{}", outcome.stderr);
    let run: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(run["results"][0]["status"], "failed");
    assert!(number(&run["results"][0], "/counters/scan-major") > 0.0);
}

#[test]
fn memory_that_is_limited_makes_random_touches_miss() {
    let place = Place::new();
    if let Some(why) = limited(&place) {
        return tollgate_testkit::skip!("{why}");
    }
    let outcome = place.run("--size 64M --memory-limit 16M --pattern random --advice random --json --seed 3");
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    let run: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let result = &run["results"][0];
    if number(result, "/counters/bytes-read") == 0.0 {
        return tollgate_testkit::skip!("the directory for temporary files is on no disk");
    }
    // No more than a quarter of the file can be in memory: at least 1 - 16/64 of the touches of a full
    // memory miss, and what the group needs for other things makes it a little more.
    let steady = number(result, "/counters/steady-major-per-touch");
    assert!((0.72..0.90).contains(&steady), "{steady}");
    place.nothing_left();
}

#[test]
fn without_the_right_to_make_a_group_it_says_what_was_tried() {
    let place = Place::new();
    let outcome = match place.run_as_nobody("--size 64K --memory-limit 64M") {
        Ok(outcome) => outcome,
        Err(why) => return tollgate_testkit::skip!("{why}"),
    };
    if outcome.exit == Some(0) {
        return tollgate_testkit::skip!("even nobody may make a control group here");
    }
    assert_eq!(outcome.exit, Some(1), "{}", outcome.stderr);
    for words in ["needs a control group", "as root"] {
        assert!(outcome.stderr.contains(words), "no '{words}' in {}", outcome.stderr);
    }
    place.nothing_left();
}

#[test]
fn an_interrupt_ends_the_scan_with_what_it_has() {
    let place = Place::new();
    let limit = if limited(&place).is_none() { "--memory-limit 16M" } else { "" };
    let mut running = place.start(&format!("--size 64M --pattern random --advice random --json {limit}"));
    running.wait_for_scan("deleted");
    running.signal(libc::SIGINT);
    let outcome = running.end();
    assert_eq!(outcome.exit, Some(130), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("interrupted"), "{}", outcome.stderr);
    let run: Value = serde_json::from_str(&outcome.stdout).expect("the record all the same");
    assert_eq!(run["complete"], false);
    place.nothing_left();
    assert!(place::groups_of(running.id()).is_empty());
}

#[test]
fn a_kill_in_the_middle_of_a_scan_keeps_what_was_touched() {
    let place = Place::new();
    let mut running = place.start_saving("--size 256M --pattern random --advice random");
    let child = running.wait_for_scan("deleted") as i32;
    let store = place.path("store");
    let saved = || -> Option<Value> {
        let records = fs::read_dir(&store).ok()?.flatten().map(|entry| entry.path());
        let record = records.filter(|path| path.extension().is_some_and(|it| it == "json")).last()?;
        serde_json::from_str(&fs::read_to_string(record).ok()?).ok()
    };
    place::until("a saved scan", || {
        // Pauses make the scan long, however fast the disk is.
        // SAFETY: the process that touches; the program waits for it only after it has ended.
        unsafe { libc::kill(child, libc::SIGSTOP) };
        std::thread::sleep(std::time::Duration::from_millis(1_000));
        // SAFETY: as above.
        unsafe { libc::kill(child, libc::SIGCONT) };
        std::thread::sleep(std::time::Duration::from_millis(50));
        saved().is_some_and(|run| !run["results"][0].is_null())
    });
    running.signal(libc::SIGKILL);
    running.end();
    let run = saved().unwrap();
    assert_eq!(run["complete"], false);
    let result = &run["results"][0];
    let touches = number(result, "/crossings");
    assert!(touches > 0.0 && touches < 65_536.0, "{touches}");
    assert_eq!(result["warnings"][0]["code"], "interrupted", "{result:#}");
}

#[test]
fn after_a_kill_the_next_start_leaves_no_file_and_no_group() {
    let place = Place::new();
    let limit = if limited(&place).is_none() { "--memory-limit 16M" } else { "" };
    let args = format!("--size 64M --pattern random --advice random {limit}");
    let mut running = place.start(&args);
    let child = running.wait_for_scan("deleted");
    running.signal(libc::SIGKILL);
    running.end();
    place::until("the end of the scan", || !std::path::Path::new(&format!("/proc/{child}")).exists());
    // The file had no name: it is gone already.
    place.nothing_left();
    let outcome = place.run(&format!("--size 64K {limit}"));
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    assert!(place::groups_of(running.id()).is_empty(), "{:?}", place::groups_of(running.id()));
    place.nothing_left();
}

#[test]
fn the_kinds_are_all_there_each_with_its_proof_or_its_reason() {
    let place = Place::new();
    let outcome = place.fault("kinds --quick --json --no-save --budget-ms 600 --seed 4");
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    let run: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(results.len() >= 20, "{} kinds", results.len());
    for result in results {
        match result["status"].as_str() {
            Some("measured") => {
                // One fault for each touch, of the one kind or the other.
                for key in ["minor-per-touch", "major-per-touch"] {
                    if let Some(count) = result["proof"][key].as_f64() {
                        assert!((count - 1.0).abs() < 0.02, "{}: {key} is {count}", result["probe"]);
                    }
                }
            }
            Some("skipped") => assert!(result["enable"].is_string(), "{result:#}"),
            _ => panic!("{result:#}"),
        }
    }
    let major = results.iter().find(|result| result["probe"] == "fault/major").unwrap();
    if major["status"] == "measured" {
        let parts = major["phases"].as_array().unwrap().iter();
        let sum: f64 = parts.map(|part| number(part, "/ns/estimate")).sum();
        assert!((sum / number(major, "/ns/estimate") - 1.0).abs() < 1e-9, "{sum}");
    }
    place.nothing_left();
}
