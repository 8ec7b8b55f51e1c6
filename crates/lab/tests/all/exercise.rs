//! Exercises: references pass and wrong solutions fail where they must. `tests/exercises/ID` has the sources: `reference.s`, and wrong
//! ones whose first line names the check that fails.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tollgate_lab::exercise::{self, Exercise, Verdict};

const SEEDS: u64 = 20;

/// The sources of an exercise by their names.
fn sources(id: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exercises").join(id);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = files.map(|entry| entry.unwrap().path());
    files
        .map(|it| (it.file_stem().unwrap().to_string_lossy().into(), fs::read_to_string(&it).unwrap()))
        .collect()
}

fn check(exercise: &Exercise, seed: u64, source: &str) -> Verdict {
    exercise.check(seed, &exercise.fill(seed, source).unwrap()).unwrap()
}

fn failed(verdict: &Verdict) -> Vec<&str> {
    verdict.checks.iter().filter(|it| !it.passed).map(|it| it.name.as_str()).collect()
}

fn bundled() -> Vec<(String, Exercise)> {
    let all = exercise::list().unwrap();
    all.into_iter().map(|it| (it.id.clone(), Exercise::find(&it.id).unwrap())).collect()
}

#[test]
fn references_pass_for_every_seed() {
    for (id, exercise) in bundled() {
        let sources = sources(&id);
        for seed in 0..SEEDS {
            let verdict = check(&exercise, seed, &sources["reference"]);
            assert!(verdict.passed, "{id}, seed {seed}: {verdict:#?}");
            assert_eq!(verdict.points, verdict.most_points);
        }
    }
}

#[test]
fn starters_run_and_fail_with_a_hint() {
    for (id, exercise) in bundled() {
        for seed in 0..SEEDS {
            let starter = exercise.start(seed).unwrap().starter;
            assert_eq!(exercise::header(&starter), Some((id.as_str(), seed)));
            let verdict = exercise.check(seed, &starter).unwrap();
            assert!(!verdict.passed && verdict.errors.is_empty(), "{id}, seed {seed}: {verdict:#?}");
            let hints = verdict.checks.iter().filter(|it| !it.passed);
            assert!(
                hints.clone().all(|it| it.hint.as_ref().is_some_and(|hint| hint.len() > 20)),
                "{verdict:#?}"
            );
        }
    }
}

/// Each wrong solution fails the check that it names, and says so with the hint that it names.
#[test]
fn wrong_solutions_fail_on_the_right_check() {
    for (id, exercise) in bundled() {
        let sources = sources(&id);
        let wrong = sources.iter().filter(|(name, _)| *name != "reference");
        assert!(wrong.clone().count() >= 2, "{id} has too few wrong solutions");
        for (name, source) in wrong {
            for seed in [1, 2, 3] {
                let verdict = check(&exercise, seed, source);
                let word = |word: &str| {
                    let line = source.lines().find_map(|line| line.strip_prefix(word));
                    line.map(|line| exercise.fill(seed, line.trim()).unwrap())
                };
                let expected =
                    word("# fails:").unwrap_or_else(|| panic!("{id}/{name} does not say what fails"));
                let found = verdict.checks.iter().find(|it| it.name == expected);
                let found = found.unwrap_or_else(|| panic!("{id}/{name}: no check '{expected}'"));
                assert!(!found.passed, "{id}/{name}, seed {seed}: {verdict:#?}");
                assert_eq!(failed(&verdict).first(), Some(&expected.as_str()), "{id}/{name}: {verdict:#?}");
                let hint = word("# hint:").unwrap_or_default();
                let said = format!("{} {}", found.hint.clone().unwrap_or_default(), found.found);
                assert!(said.contains(&hint), "{id}/{name}, seed {seed}: {said}");
            }
        }
    }
}

/// A reference with the numbers of one student does not pass for another.
#[test]
fn the_solution_of_another_seed_fails() {
    for (id, exercise) in bundled() {
        let reference = &sources(&id)["reference"];
        let mine = exercise.fill(1, reference).unwrap();
        let others = (2..2 + SEEDS).filter(|&seed| exercise.fill(seed, reference).unwrap() != mine);
        let others: Vec<_> = others.collect();
        assert!(others.len() as u64 >= SEEDS / 2, "{id}: the numbers hardly differ");
        for seed in others {
            assert!(!exercise.check(seed, &mine).unwrap().passed, "{id}, seed {seed}");
        }
    }
}

#[test]
fn sources_with_errors_have_places_and_no_points() {
    for (id, exercise) in bundled() {
        let label = format!("        .globl {0}\n{0}:\n  adi a0, a0, 1\n", id);
        let verdict = exercise.check(1, &label).unwrap();
        assert_eq!((verdict.errors[0].line, verdict.points), (3, 0), "{verdict:#?}");
        assert!(verdict.errors[0].message.contains("did you mean `addi`"), "{verdict:#?}");
        let verdict = exercise.check(1, "  nop\n").unwrap();
        assert!(verdict.errors[0].message.contains("there is no"), "{verdict:#?}");
        assert!(verdict.checks.iter().all(|check| !check.passed && check.hint.is_some()));
        for hostile in ["", "\0\u{1b}[2J", ".include \"/etc/passwd\"\n", ".incbin \"/etc/passwd\"\n"] {
            let verdict = exercise.check(1, hostile).unwrap();
            assert!(!verdict.passed && !format!("{verdict:?}").contains("root:"), "{verdict:#?}");
        }
        let long = "nop\n".repeat(exercise::LONGEST);
        assert!(exercise.check(1, &long).unwrap().errors[0].message.contains("at most"));
    }
}

#[test]
fn names_that_do_not_exist_have_a_suggestion() {
    let error = exercise::start("cuont", 1).unwrap_err().to_string();
    assert!(error.contains("the nearest is 'count'"), "{error}");
}
