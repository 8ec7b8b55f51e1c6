//! A case: how the program is called, what it must answer, and what every call must hold to.

use crate::scene::{Outcome, Running, Scene};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One row of a table.
pub(crate) struct Case {
    /// What is tried.
    pub(crate) name: &'static str,
    /// The command line, split at blanks. `{dir}` is the scene's directory, `''` an empty word.
    pub(crate) args: &'static str,
    /// The exit status.
    pub(crate) exit: i32,
    /// What standard error must say.
    pub(crate) says: &'static [&'static str],
    /// What standard output, or the file of `--out`, must say.
    pub(crate) prints: &'static [&'static str],
    /// Prepares the place. An error is the reason why it is not available here.
    pub(crate) scene: fn(&mut Scene) -> Result<(), String>,
    /// What happens while the program runs.
    pub(crate) during: fn(&mut Running),
    /// What else must hold afterwards.
    pub(crate) then: fn(&Outcome),
}

/// What a row need not say.
pub(crate) const CASE: Case = Case {
    name: "",
    args: "",
    exit: 0,
    says: &[],
    prints: &[],
    scene: |_| Ok(()),
    during: |_| {},
    then: |_| {},
};

/// Goes through a table to its end, then fails with the names of the cases that did not hold.
pub(crate) fn go_through(test: &str, cases: &[Case]) {
    let only = std::env::var("TOLLGATE_CASE").ok();
    let wanted = cases.iter().filter(|case| only.as_ref().is_none_or(|only| case.name.contains(only)));
    let failed: Vec<&str> = wanted
        .filter(|case| catch_unwind(AssertUnwindSafe(|| go(test, case))).is_err())
        .map(|case| case.name)
        .collect();
    assert!(failed.is_empty(), "{} of {} cases failed: {failed:#?}", failed.len(), cases.len());
}

fn go(test: &str, case: &Case) {
    let mut scene = Scene::new(case.args);
    if let Err(why) = (case.scene)(&mut scene) {
        return tollgate_testkit::skipped(test, Some(case.name), &why);
    }
    let outcome = match scene.play(case.during) {
        Ok(outcome) => outcome,
        Err(why) => return tollgate_testkit::skipped(test, Some(case.name), &why),
    };
    let checked = catch_unwind(AssertUnwindSafe(|| {
        outcome.check_manners();
        if case.exit != ANY {
            assert_eq!(outcome.exit, Some(case.exit), "exit status");
        }
        for part in case.says {
            assert!(
                squeezed(&outcome.stderr).contains(&outcome.filled(part)),
                "stderr does not say {part:?}"
            );
        }
        for part in case.prints {
            assert!(
                squeezed(&outcome.stdout).contains(&outcome.filled(part)),
                "stdout does not say {part:?}"
            );
        }
        (case.then)(&outcome);
    }));
    if checked.is_err() {
        eprintln!("case {:?}: tollgate {}\n{}", case.name, case.args, outcome.describe());
        panic!("{}", case.name);
    }
}

/// The status of a case that looks at it by itself: when it depends on the moment, or on a signal.
pub(crate) const ANY: i32 = -1;

/// Text without its line breaks, so that a sentence is found however it was wrapped.
pub(crate) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
