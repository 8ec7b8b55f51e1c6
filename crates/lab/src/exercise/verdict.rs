//! What a check finds.

use serde::Serialize;

/// The result of all checks of an exercise on one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The exercise.
    pub exercise: String,
    /// Its title.
    pub title: String,
    /// Whose exercise it is: another seed has other answers.
    pub seed: u64,
    /// Whether every check passed.
    pub passed: bool,
    /// Points of the checks that passed.
    pub points: u32,
    /// Points of all checks.
    pub most_points: u32,
    /// Errors of the source; then nothing ran and every check failed.
    pub errors: Vec<SourceFault>,
    /// The checks, in the order of the exercise.
    pub checks: Vec<Check>,
    /// The runs of the source.
    pub runs: Vec<RunReport>,
}

/// An error of a source, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceFault {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The sentence.
    pub message: String,
    /// The line itself; empty if the error is of the whole source.
    pub text: String,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it checks.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// What it counts.
    pub points: u32,
    /// What is expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// The first run in which it failed.
    pub run: Option<String>,
    /// How to go on, if it failed.
    pub hint: Option<String>,
}

/// One run of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// Its name.
    pub name: String,
    /// Instructions of all that ran.
    pub instructions: u64,
    /// How often the program trapped and came back.
    pub crossings: u64,
    /// The core that counted the cycles, if one did.
    pub core: Option<String>,
    /// The phases of the last crossing, without those in which nothing happened.
    pub phases: Vec<PhaseCost>,
}

/// The cost of one phase of a crossing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseCost {
    /// Its name, as in a bill.
    pub phase: &'static str,
    /// Instructions that retired.
    pub instructions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Bytes that the stores wrote.
    pub bytes_stored: u64,
    /// Cycles on the core, if one counted.
    pub cycles: Option<u64>,
    /// The same by cause: names and cycles, without zeros.
    pub causes: Vec<(&'static str, u64)>,
}
