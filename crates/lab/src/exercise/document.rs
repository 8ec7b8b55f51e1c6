//! The file of an exercise (`docs/howto/write-exercise.md` explains each key).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::ExerciseError;
use super::parameters::Parameter;

/// Steps of a run, where the file does not say.
const BUDGET: u64 = 200_000;
/// The most that it can say.
const MOST: u64 = 5_000_000;

/// An exercise as its file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) about: String,
    pub(super) minutes: u32,
    #[serde(default = "isa")]
    pub(super) isa: String,
    #[serde(default)]
    pub(super) core: Option<String>,
    /// The label where the harness enters the source, and the solution must export it.
    pub(super) entry: String,
    /// Whether the source handles traps of the program: then every register but those of `may_change` must survive.
    #[serde(default = "yes")]
    pub(super) handler: bool,
    /// Memory of the harness that the source may write: from the label of each name to the label with `_end` behind it.
    #[serde(default)]
    pub(super) writable: Vec<String>,
    /// The registers that may differ behind a trap.
    #[serde(default = "result")]
    pub(super) may_change: Vec<String>,
    #[serde(default = "budget")]
    pub(super) budget: u64,
    #[serde(default)]
    pub(super) parameters: BTreeMap<String, Parameter>,
    pub(super) text: String,
    pub(super) starter: String,
    pub(super) harness: String,
    #[serde(default = "one_case", rename = "case")]
    pub(super) cases: Vec<Case>,
    #[serde(rename = "check")]
    pub(super) checks: Vec<CheckRow>,
}

/// One run of the source.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    #[serde(default)]
    pub(super) isa: Option<String>,
    /// Parameters with other values.
    #[serde(default)]
    pub(super) set: BTreeMap<String, String>,
    /// An instruction cache that sees the source's fetches, as SETS:WAYS:BYTES.
    #[serde(default)]
    pub(super) icache: Option<String>,
    /// Whether the starter runs in place of the source, as something to compare with.
    #[serde(default)]
    pub(super) starter: bool,
}

/// One check.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckRow {
    pub(super) name: String,
    /// A comparison of two formulas.
    pub(super) that: String,
    /// The run; without it all of the source's runs.
    #[serde(default)]
    pub(super) case: Option<String>,
    #[serde(default)]
    pub(super) unit: String,
    /// In place of the value of the right side, which may be the answer.
    #[serde(default)]
    pub(super) expected: Option<String>,
    pub(super) hint: String,
    #[serde(default = "one")]
    pub(super) points: u32,
    /// Hints for mistakes that the figures show; the first one whose condition holds replaces the general hint.
    #[serde(default)]
    pub(super) hints: Vec<Hint>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hint {
    pub(super) when: String,
    pub(super) say: String,
}

fn isa() -> String {
    "rv64gc".into()
}

fn result() -> Vec<String> {
    vec!["a0".into()]
}

fn budget() -> u64 {
    BUDGET
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn one_case() -> Vec<Case> {
    vec![Case { name: "run".into(), ..Case::default() }]
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Self, ExerciseError> {
        let wrong = |why: String| Err(ExerciseError::File(why));
        let document: Self = match toml::from_str(text) {
            Ok(document) => document,
            Err(error) => return wrong(error.to_string().trim_end().to_owned()),
        };
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if document.id.is_empty() || document.id.len() > 40 || !document.id.chars().all(is_plain) {
            return wrong(format!("id '{}': use up to 40 of a-z, 0-9 and -", document.id));
        }
        if document.checks.is_empty() || document.cases.iter().all(|case| case.starter) {
            return wrong("an exercise needs at least one [[check]] and one run of the source".into());
        }
        if document.budget > MOST {
            return wrong(format!("budget {}: at most {MOST} steps", document.budget));
        }
        for check in &document.checks {
            if let Some(name) = &check.case
                && !document.cases.iter().any(|case| case.name == *name)
            {
                return wrong(format!("check '{}': there is no case '{name}'", check.name));
            }
        }
        Ok(document)
    }
}
