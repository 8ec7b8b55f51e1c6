//! Exercises that check themselves.
//!
//! An exercise is a file: its text, a source to start from, a harness in assembly around it, and checks. A seed, one per student,
//! chooses its numbers. The source is assembled with the harness and runs on the machine, step by step; checks compare what it
//! did (registers, memory, traps) and what it cost (instructions and cycles by phase). The checker is outside of the machine,
//! so a source cannot change it; a source that writes memory of the harness, or jumps into it, fails.
//!
//! Nothing here opens a file or reads a clock, and every run is bounded: `docs/howto/write-exercise.md` explains the file.
//!
//! ```
//! use tollgate_lab::exercise;
//! let started = exercise::start("count", 7)?;
//! let verdict = exercise::check("count", 7, &started.starter)?;
//! assert!(!verdict.passed);
//! assert!(verdict.checks.iter().any(|check| check.hint.is_some()));
//! # Ok::<(), exercise::ExerciseError>(())
//! ```

mod build;
mod document;
mod error;
mod formula;
mod parameters;
mod run;
mod verdict;
mod watch;

use serde::Serialize;
use tollgate_cores::Core;
use tollgate_record::text::nearest;
use tollgate_riscv::Isa;

use build::{Built, Failure};
use document::{Case, CheckRow, Document};
use parameters::Values;
use run::Outcome;

pub use error::ExerciseError;
pub use parameters::seed_of;
pub use verdict::{Check, PhaseCost, RunReport, SourceFault, Verdict};

/// The bundled exercises, in the order of a course.
const BUNDLED: &[&str] = &[
    include_str!("exercise/files/count.toml"),
    include_str!("exercise/files/save.toml"),
    include_str!("exercise/files/icache.toml"),
    include_str!("exercise/files/fast.toml"),
    include_str!("exercise/files/fault.toml"),
    include_str!("exercise/files/where.toml"),
];

/// The longest source, in bytes.
pub const LONGEST: usize = 256 << 10;

/// In front of a starter: which exercise it is, and whose.
const HEADER: &str = "# tollgate lab: ";

/// One line about an exercise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// Its name in commands.
    pub id: String,
    /// Its title.
    pub title: String,
    /// One sentence.
    pub about: String,
    /// How long a student needs, in minutes.
    pub minutes: u32,
    /// The core whose cycles count, if cycles do.
    pub core: Option<String>,
}

/// An exercise as a student receives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Started {
    /// Its name in commands.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The seed that chose its numbers.
    pub seed: u64,
    /// The core whose cycles count, if cycles do.
    pub core: Option<String>,
    /// The task, as Markdown.
    pub text: String,
    /// The source to start from; its first line names the exercise and the seed.
    pub starter: String,
    /// The program around it, which enters it.
    pub harness: String,
}

impl Started {
    /// The files of the whole program with the starter, each with its name. The first is the program and includes the others; the
    /// starter is `solution.s`.
    #[must_use]
    pub fn files(&self) -> Vec<(&'static str, String)> {
        build::files(&self.harness, &self.starter)
    }
}

/// An exercise.
#[derive(Clone, Debug)]
pub struct Exercise {
    document: Document,
}

/// The bundled exercises.
///
/// # Errors
/// Only if a bundled file is damaged.
pub fn list() -> Result<Vec<Listing>, ExerciseError> {
    BUNDLED.iter().map(|text| Ok(Exercise::parse(text)?.listing())).collect()
}

/// A bundled exercise for a seed.
///
/// # Errors
/// An unknown name.
pub fn start(id: &str, seed: u64) -> Result<Started, ExerciseError> {
    Exercise::find(id)?.start(seed)
}

/// Checks a source as a solution of a bundled exercise.
///
/// # Errors
/// An unknown name. What is wrong with the source is part of the verdict.
pub fn check(id: &str, seed: u64, source: &str) -> Result<Verdict, ExerciseError> {
    Exercise::find(id)?.check(seed, source)
}

/// The exercise and the seed that a source names in its first line, if it is a starter's.
///
/// ```
/// use tollgate_lab::exercise;
/// let started = exercise::start("count", 7).unwrap();
/// assert_eq!(exercise::header(&started.starter), Some(("count", 7)));
/// assert_eq!(exercise::header("li a0, 1"), None);
/// ```
pub fn header(source: &str) -> Option<(&str, u64)> {
    let (id, seed) = source.lines().next()?.trim().strip_prefix(HEADER)?.split_once(", seed ")?;
    Some((id, seed.parse().ok()?))
}

impl Exercise {
    /// An exercise from its file.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn parse(text: &str) -> Result<Self, ExerciseError> {
        Ok(Self { document: Document::parse(text)? })
    }

    /// The bundled exercise of that name.
    ///
    /// # Errors
    /// An unknown name.
    pub fn find(id: &str) -> Result<Self, ExerciseError> {
        let all: Vec<_> = BUNDLED.iter().map(|text| Self::parse(text)).collect::<Result<_, _>>()?;
        let names: Vec<_> = all.iter().map(|it| it.document.id.clone()).collect();
        all.into_iter().find(|it| it.document.id == id).ok_or_else(|| ExerciseError::Unknown {
            id: id.to_owned(),
            nearest: nearest(id, names.iter().map(String::as_str)).map(str::to_owned),
            known: names.join(", "),
        })
    }

    /// The file of a bundled exercise, as an example for others.
    pub fn source_of(id: &str) -> Option<&'static str> {
        BUNDLED.iter().copied().find(|text| Self::parse(text).is_ok_and(|it| it.document.id == id))
    }

    /// One line about it.
    pub fn listing(&self) -> Listing {
        let Document { id, title, about, minutes, core, .. } = self.document.clone();
        Listing { id, title, about, minutes, core }
    }

    /// The exercise for a seed.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn start(&self, seed: u64) -> Result<Started, ExerciseError> {
        let values = self.values(seed)?;
        let Document { id, title, core, text, starter, harness, .. } = &self.document;
        Ok(Started {
            id: id.clone(),
            title: title.clone(),
            seed,
            core: core.clone(),
            text: values.fill(text)?,
            starter: format!("{HEADER}{id}, seed {seed}\n{}", values.fill(starter)?),
            harness: values.fill(harness)?,
        })
    }

    /// The source and its harness as a program that runs by itself, as an ELF file: for a debugger or a pipeline diagram. The
    /// errors of the source in place of it.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn program(
        &self,
        seed: u64,
        source: &str,
    ) -> Result<Result<Vec<u8>, Vec<SourceFault>>, ExerciseError> {
        let values = self.values(seed)?;
        let case = self.document.cases.iter().find(|case| !case.starter);
        let built = case.map(|case| self.build(case, &values, source)).transpose();
        match built {
            Ok(Some((built, _))) => Ok(Ok(built.image.elf())),
            Ok(None) => Err(ExerciseError::File("it has no run of the source".into())),
            Err(Failure::Source(errors)) => Ok(Err(errors)),
            Err(Failure::Exercise(error)) => Err(error),
        }
    }

    /// Checks a source.
    ///
    /// # Errors
    /// What is wrong with the file. What is wrong with the source is part of the verdict.
    pub fn check(&self, seed: u64, source: &str) -> Result<Verdict, ExerciseError> {
        let values = self.values(seed)?;
        let document = &self.document;
        let mut errors = too_long(source);
        let mut outcomes = Vec::new();
        for case in &document.cases {
            if !errors.is_empty() {
                break;
            }
            let starter;
            let source = match case.starter {
                false => source,
                true => {
                    starter = values.fill(&document.starter)?;
                    &starter
                }
            };
            match self.run(case, &values, source) {
                Ok(outcome) => outcomes.push((case, outcome)),
                Err(Failure::Exercise(error)) => return Err(error),
                Err(Failure::Source(found)) if case.starter => {
                    let why = found.first().map_or("", |it| &it.message);
                    return Err(ExerciseError::File(format!("the starter: {why}")));
                }
                Err(Failure::Source(found)) => errors = found,
            }
        }
        if !errors.is_empty() {
            outcomes.clear();
        }
        let mut checks = self.conduct(&outcomes);
        for row in &document.checks {
            checks.push(self.evaluate(row, &values, &outcomes)?);
        }
        let points =
            |passed: &dyn Fn(&Check) -> bool| checks.iter().filter(|it| passed(it)).map(|it| it.points).sum();
        let runs =
            outcomes.iter().filter(|(case, _)| !case.starter).map(|(_, it)| it.report.clone()).collect();
        Ok(Verdict {
            exercise: document.id.clone(),
            title: document.title.clone(),
            seed,
            passed: errors.is_empty() && checks.iter().all(|check| check.passed),
            points: points(&|check| check.passed),
            most_points: points(&|_| true),
            errors,
            runs,
            checks,
        })
    }

    /// A text with the seed's numbers in place of `{{NAME}}`, for example a reference solution.
    ///
    /// # Errors
    /// A name that is not a parameter of the exercise.
    pub fn fill(&self, seed: u64, text: &str) -> Result<String, ExerciseError> {
        self.values(seed)?.fill(text)
    }

    fn values(&self, seed: u64) -> Result<Values, ExerciseError> {
        Values::draw(&self.document.parameters, &self.document.id, seed)
    }

    fn core(&self) -> Result<Option<Core>, ExerciseError> {
        let core = self.document.core.as_deref().map(Core::preset).transpose();
        core.map_err(|error| ExerciseError::File(error.to_string()))
    }

    fn build(&self, case: &Case, values: &Values, source: &str) -> Result<(Built, Isa), Failure> {
        let name = case.isa.as_deref().unwrap_or(&self.document.isa);
        let isa = name.parse().map_err(|error| ExerciseError::File(format!("isa {name}: {error}")))?;
        let harness = values.with(&case.set)?.fill(&self.document.harness)?;
        Ok((Built::new(&self.document, &harness, source, isa)?, isa))
    }

    fn run(&self, case: &Case, values: &Values, source: &str) -> Result<Outcome, Failure> {
        let (built, isa) = self.build(case, values, source)?;
        Ok(run::run(&self.document, case, isa, self.core()?.as_ref(), built)?)
    }

    /// What every source must do: end, keep to its own memory, keep the registers.
    fn conduct(&self, outcomes: &[(&Case, Outcome)]) -> Vec<Check> {
        let own: Vec<_> = outcomes.iter().filter(|(case, _)| !case.starter).collect();
        let check = |name: &str, expected: &str, hint: &str, problem: fn(&Outcome) -> Option<&String>| {
            let first = own.iter().find_map(|(case, it)| Some((case.name.clone(), problem(it)?.clone())));
            let passed = first.is_none() && !own.is_empty();
            let (run, found) = match first {
                Some((run, found)) => (Some(run), found),
                None if passed => (None, "yes".into()),
                None => (None, NOTHING.into()),
            };
            let hint = if own.is_empty() { ERRORS_FIRST } else { hint };
            let hint = (!passed).then(|| hint.to_owned());
            Check { name: name.into(), passed, points: 1, expected: expected.into(), found, run, hint }
        };
        let mut checks = vec![
            check(
                "it runs to its end",
                "the program ends",
                "Step through the program from the place that is named, and look where it goes instead.",
                |it| it.stuck.as_ref(),
            ),
            check(
                "it keeps to its own memory",
                "writes only to its own data and stack, calls only what the harness exports",
                "The harness around your code belongs to the checker. Keep data in .data or .bss of your source, or on the stack.",
                |it| it.violation.as_ref(),
            ),
        ];
        if self.document.handler {
            checks.push(check(
                "the program's registers survive",
                "every register but the result is as before the trap",
                "Save the register before its first use in the handler, and restore it from the same place.",
                Outcome::lost,
            ));
        }
        checks
    }

    fn evaluate(
        &self,
        row: &CheckRow,
        values: &Values,
        outcomes: &[(&Case, Outcome)],
    ) -> Result<Check, ExerciseError> {
        let fill = |text: &str| values.fill(text);
        let that = fill(&row.that)?;
        let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", fill(&row.unit)?) };
        let mut check = Check {
            name: fill(&row.name)?,
            passed: false,
            points: row.points,
            expected: row.expected.as_deref().map(fill).transpose()?.unwrap_or_default(),
            found: NOTHING.into(),
            run: None,
            hint: None,
        };
        let is_meant = |case: &Case| row.case.as_ref().map_or(!case.starter, |name| case.name == *name);
        for (case, outcome) in outcomes.iter().filter(|(case, _)| is_meant(case)) {
            let names = |name: &str| {
                let (name, case) =
                    name.split_once('@').map_or((name, None), |(name, case)| (name, Some(case)));
                let other = outcomes
                    .iter()
                    .find(|(it, _)| case.is_some_and(|case| it.name.replace(' ', "_") == case));
                match (case, other) {
                    (None, _) => outcome.figure(name),
                    (_, Some((_, other))) => other.figure(name),
                    (Some(case), None) => Err(format!("there is no case {case}")),
                }
            };
            if !outcome.ended() {
                (check.passed, check.run) = (false, Some(case.name.clone()));
                check.found = "nothing: the run did not end as it must".into();
                check.hint = Some("Correct what is reported above first.".into());
                break;
            }
            let compared = formula::comparison(&that, &names);
            check.run = Some(case.name.clone());
            match compared {
                Ok(found) => {
                    check.passed = found.holds();
                    check.found = format!("{}{unit}", found.left);
                    if row.expected.is_none() {
                        check.expected = format!("{}{}{unit}", found.relation, found.right);
                    }
                }
                Err(why) => check.found = format!("nothing: {why}"),
            }
            if !check.passed {
                let meant = row.hints.iter().find(|hint| {
                    let when = values.fill(&hint.when).unwrap_or_default();
                    when.split("&&").all(|it| formula::comparison(it, &names).is_ok_and(|it| it.holds()))
                });
                check.hint = Some(fill(meant.map_or(&row.hint, |hint| &hint.say))?);
                break;
            }
        }
        if check.passed {
            check.run = None;
        } else if check.hint.is_none() {
            check.hint = Some(ERRORS_FIRST.into());
        }
        Ok(check)
    }
}

/// What is found where nothing ran.
const NOTHING: &str = "nothing: the source has errors";
const ERRORS_FIRST: &str = "Correct the errors of the source first.";

fn too_long(source: &str) -> Vec<SourceFault> {
    if source.len() <= LONGEST {
        return Vec::new();
    }
    let message = format!("the source has {} bytes, and a solution has at most {LONGEST}", source.len());
    vec![SourceFault { line: 1, column: 1, message, text: String::new() }]
}
