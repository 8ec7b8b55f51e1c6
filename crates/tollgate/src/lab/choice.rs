//! Which exercise, and whose.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use tollgate_lab::exercise::{self, Exercise, ExerciseError};
use tollgate_record::file;

use crate::args::Usage;

/// The longest file of an exercise.
const LONGEST: u64 = 1 << 20;

/// Whose exercise it is.
#[derive(Args)]
pub(super) struct Who {
    /// The number that chooses the exercise's figures
    #[arg(long, value_name = "N", conflicts_with = "student")]
    pub(super) seed: Option<u64>,
    /// The student, for example a mail address, from which the seed follows
    #[arg(long, value_name = "NAME")]
    pub(super) student: Option<String>,
}

impl Who {
    /// The seed, if one of the options was given.
    pub(super) fn seed(&self) -> Option<u64> {
        self.seed.or_else(|| self.student.as_deref().map(exercise::seed_of))
    }
}

/// A bundled exercise, or one of a file.
pub(super) fn find(name: &str) -> Result<Exercise> {
    let path = Path::new(name);
    if path.extension().is_none_or(|end| end != "toml") {
        return Exercise::find(name).map_err(|error| Usage::error(format!("{error} (tollgate lab list)")));
    }
    let bytes = file::read(path, LONGEST).map_err(|error| Usage::file(path, error))?;
    let text = String::from_utf8(bytes).map_err(|_| Usage::file(path, "not UTF-8 text"))?;
    Exercise::parse(&text).map_err(|error| of_file(path, &error))
}

pub(super) fn of_file(path: &Path, error: &ExerciseError) -> anyhow::Error {
    Usage::file(path, format!("{error}; docs/howto/write-exercise.md explains the keys")).into()
}
