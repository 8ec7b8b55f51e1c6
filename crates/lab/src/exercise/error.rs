//! The errors of exercises; what is wrong with a source is part of a verdict.

use tollgate_record::text::suggestion;

/// Why there is no exercise, or nothing was checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum ExerciseError {
    #[error("there is no exercise '{id}'{}; the exercises: {known}", suggestion(.nearest.as_deref()))]
    Unknown { id: String, nearest: Option<String>, known: String },
    #[error("the exercise's file: {0}")]
    File(String),
}
