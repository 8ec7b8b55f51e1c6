//! Exercises: references pass and wrong solutions fail where they must. `tests/exercises/ID` has the sources: `reference.s`, wrong
//! ones whose first line names the check that fails, and in `wrong.toml` those that are a few edits of the reference.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tollgate_lab::exercise::{self, Exercise, Verdict};

/// For references; the other tests need fewer.
const SEEDS: u64 = 20;
const FEW: u64 = 6;

/// A wrong solution as edits of the reference: each text, which must be there once, with its replacement.
#[derive(serde::Deserialize)]
struct Wrong {
    fails: String,
    #[serde(default)]
    hint: String,
    edits: Vec<(String, String)>,
}

impl Wrong {
    fn source(&self, reference: &str) -> String {
        let mut text = format!("# fails: {}\n# hint: {}\n{reference}", self.fails, self.hint);
        for (old, new) in &self.edits {
            assert_eq!(text.matches(old).count(), 1, "{old}");
            text = text.replace(old, new);
        }
        text
    }
}

/// The sources of an exercise by their names.
fn sources(id: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exercises").join(id);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files =
        files.map(|entry| entry.unwrap().path()).filter(|it| it.extension().is_some_and(|it| it == "s"));
    let mut sources: BTreeMap<String, String> = files
        .map(|it| (it.file_stem().unwrap().to_string_lossy().into(), fs::read_to_string(&it).unwrap()))
        .collect();
    let edits = fs::read_to_string(folder.join("wrong.toml")).unwrap_or_default();
    let wrong: BTreeMap<String, Wrong> = toml::from_str(&edits).unwrap();
    let reference = sources["reference"].clone();
    sources.extend(wrong.into_iter().map(|(name, wrong)| (name, wrong.source(&reference))));
    sources
}

/// A source with a seed's numbers. `[[NAME: A B C]]` is the answer that belongs to the value of a parameter: 0, 1 or 2.
fn filled(exercise: &Exercise, seed: u64, source: &str) -> String {
    let mut text = exercise.fill(seed, source).unwrap();
    while let Some((before, rest)) = text.split_once("[[") {
        let (choice, after) = rest.split_once("]]").unwrap();
        let (name, answers) = choice.split_once(": ").unwrap();
        let index: usize = exercise.fill(seed, &format!("{{{{{name}}}}}")).unwrap().parse().unwrap();
        text = format!("{before}{}{after}", answers.split(' ').nth(index).unwrap());
    }
    text
}

fn check(exercise: &Exercise, seed: u64, source: &str) -> Verdict {
    exercise.check(seed, &filled(exercise, seed, source)).unwrap()
}

/// What is wrong with a source, in a few lines.
fn brief(verdict: &Verdict) -> String {
    let errors = verdict.errors.iter().map(|it| format!("\n  {}:{}: {}", it.line, it.column, it.message));
    let failed = verdict.checks.iter().filter(|it| !it.passed).map(|it| {
        let hint = it.hint.as_deref().unwrap_or_default();
        format!("\n  {}: expected {}, found {} ({hint})", it.name, it.expected, it.found)
    });
    errors.chain(failed).collect()
}

fn bundled() -> Vec<(String, Exercise)> {
    let all = exercise::list().unwrap();
    all.into_iter().map(|it| (it.id.clone(), Exercise::find(&it.id).unwrap())).collect()
}

/// Fails with all problems at once.
fn none(problems: &[String]) {
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn references_pass_for_every_seed() {
    let mut problems = Vec::new();
    for (id, exercise) in bundled() {
        let sources = sources(&id);
        for seed in 0..SEEDS {
            let verdict = check(&exercise, seed, &sources["reference"]);
            if !verdict.passed || verdict.points != verdict.most_points {
                problems.push(format!("{id}, seed {seed}:{}", brief(&verdict)));
            }
        }
    }
    none(&problems);
}

#[test]
fn starters_run_and_fail_with_a_hint() {
    let mut problems = Vec::new();
    for (id, exercise) in bundled() {
        for seed in 0..FEW {
            let starter = exercise.start(seed).unwrap().starter;
            assert_eq!(exercise::header(&starter), Some((id.as_str(), seed)));
            let verdict = exercise.check(seed, &starter).unwrap();
            let has_hint = |it: &&exercise::Check| it.hint.as_ref().is_some_and(|hint| hint.len() > 20);
            let hints = verdict.checks.iter().filter(|it| !it.passed).all(|it| has_hint(&it));
            if verdict.passed || !verdict.errors.is_empty() || !hints {
                problems.push(format!("{id}, seed {seed}: {} {}", verdict.passed, brief(&verdict)));
            }
        }
    }
    none(&problems);
}

/// Each wrong solution fails the check that it names first, with the hint that it names.
#[test]
fn wrong_solutions_fail_on_the_right_check() {
    let mut problems = Vec::new();
    for (id, exercise) in bundled() {
        let sources = sources(&id);
        let wrong: Vec<_> = sources.iter().filter(|(name, _)| *name != "reference").collect();
        assert!(wrong.len() >= 2, "{id} has too few wrong solutions");
        for (name, source) in wrong {
            for seed in [1, 2] {
                let verdict = check(&exercise, seed, source);
                let word = |word: &str| {
                    let line = source.lines().find_map(|line| line.strip_prefix(word));
                    line.map_or(String::new(), |line| line.trim().to_owned())
                };
                let first = verdict.checks.iter().find(|it| !it.passed);
                let is_right = first.is_some_and(|first| {
                    let hint = first.hint.as_deref().unwrap_or_default();
                    let said = format!("{hint} {}", first.found).contains(&word("# hint:"));
                    first.name == word("# fails:") && said && verdict.errors.is_empty()
                });
                if !is_right {
                    problems.push(format!("{id}/{name}, seed {seed}:{}", brief(&verdict)));
                }
            }
        }
    }
    none(&problems);
}

/// A reference with the numbers of one student does not pass for another.
#[test]
fn the_solution_of_another_seed_fails() {
    let mut problems = Vec::new();
    for (id, exercise) in bundled() {
        let reference = &sources(&id)["reference"];
        let mine = filled(&exercise, 1, reference);
        let others = (2..2 + FEW).filter(|&seed| filled(&exercise, seed, reference) != mine);
        let others: Vec<_> = others.collect();
        assert!(others.len() as u64 >= FEW / 2, "{id}: the numbers hardly differ");
        for seed in others {
            if exercise.check(seed, &mine).unwrap().passed {
                problems.push(format!("{id}, seed {seed}"));
            }
        }
    }
    none(&problems);
}

#[test]
fn sources_with_errors_have_places_and_no_points() {
    for (id, exercise) in bundled() {
        let verdict = exercise.check(1, "# mine\n\n  adi a0, a0, 1\n").unwrap();
        assert_eq!((verdict.errors[0].line, verdict.points), (3, 0), "{id}: {verdict:#?}");
        assert!(verdict.errors[0].message.contains("did you mean `addi`"), "{id}: {verdict:#?}");
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
