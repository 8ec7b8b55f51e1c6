//! A run as JSON text, and back: the only place that knows how a file can be wrong.

use crate::text::{inert_json, short};
use crate::vocabulary::phase_key;
use crate::{Counter, Measurement, Run, SCHEMA};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;

/// The schema before the first release.
const OLD: &str = "tollgate/1";

/// Why a text is not a run that this program can read. Each reads as a clause after the file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// JSON that stops before its end.
    #[error("it is cut short: it ends in the middle, at byte {0}; copy it again or measure again")]
    Truncated(usize),
    /// Not JSON.
    #[error("it is not JSON, or it is damaged: {0} at byte {1}")]
    NotJson(String, usize),
    /// JSON of something else.
    #[error("it is JSON, but not a tollgate record: it has no \"schema\": \"{SCHEMA}\"")]
    NotARecord,
    /// A record of the schema before the first release.
    #[error("its schema is \"{OLD}\" and this program reads \"{SCHEMA}\"; measure again")]
    OldSchema,
    /// A record of a version that this program does not know.
    #[error("its schema is \"{0}\" and this program reads \"{SCHEMA}\"; use a newer tollgate")]
    UnknownSchema(String),
    /// The right schema, but a field is missing or of the wrong kind.
    #[error("it says \"{SCHEMA}\" but does not hold to it: {0} at byte {1}")]
    Wrong(String, usize),
    /// The content is not what was written.
    #[error(
        "its checksum is {0} and its content has {1}: it was edited or damaged after it was written; measure \
         again, or remove the checksum to read it as it is"
    )]
    Checksum(String, String),
    /// A run that JSON cannot hold.
    #[error("the run cannot be written as JSON: {0}")]
    Unwritable(String),
}

/// The run as indented JSON with a newline at its end, safe to print ([`inert_json`]). Figures that are not finite are
/// left out and noted, see [`Run::without_non_finite`].
///
/// # Errors
/// [`DocumentError::Unwritable`]; no run is known that gives it.
pub fn to_json(run: &Run) -> Result<String, DocumentError> {
    let mut run = run.without_non_finite().into_owned();
    run.checksum = Some(checksum(&mut run)?);
    pretty(&run)
}

/// Any value of ours as indented JSON with a newline at its end, safe to print ([`inert_json`]).
///
/// # Errors
/// [`DocumentError::Unwritable`]; no value is known that gives it.
pub fn pretty(value: &impl Serialize) -> Result<String, DocumentError> {
    let text = serde_json::to_string_pretty(value).map_err(|e| DocumentError::Unwritable(e.to_string()))?;
    Ok(inert_json(&text).into_owned() + "\n")
}

/// CRC-32 (IEEE 802.3) of the run as compact JSON without its checksum, as eight hexadecimal digits.
fn checksum(run: &mut Run) -> Result<String, DocumentError> {
    run.checksum = None;
    let text = serde_json::to_vec(run).map_err(|e| DocumentError::Unwritable(e.to_string()))?;
    Ok(format!("{:08x}", crc32fast::hash(&text)))
}

/// The run that a text holds.
///
/// # Errors
/// Any [`DocumentError`] but `Unwritable`.
pub fn from_json(text: &[u8]) -> Result<Run, DocumentError> {
    /// The part that is read first, so that a newer record is reported as newer and not as damaged.
    #[derive(Deserialize)]
    struct Head {
        schema: Option<Value>,
    }
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => return Err(DocumentError::Empty),
        // serde reads a struct from a list as well, so the kind is checked here.
        Some(byte) if *byte != b'{' => {
            serde_json::from_slice::<IgnoredAny>(text).map_err(|error| wrong(text, &error))?;
            return Err(DocumentError::NotARecord);
        }
        Some(_) => {}
    }
    let head: Head = serde_json::from_slice(text).map_err(|error| wrong(text, &error))?;
    match head.schema {
        Some(Value::String(schema)) if schema == SCHEMA => {}
        Some(Value::String(schema)) if schema == OLD => return Err(DocumentError::OldSchema),
        Some(Value::String(schema)) if schema.starts_with("tollgate/") => {
            return Err(DocumentError::UnknownSchema(short(&schema, 40)));
        }
        _ => return Err(DocumentError::NotARecord),
    }
    let mut run: Run = serde_json::from_slice(text).map_err(|error| wrong(text, &error))?;
    if let Some(found) = run.checksum.take() {
        let computed = checksum(&mut run)?;
        if found != computed {
            return Err(DocumentError::Checksum(short(&found, 40), computed));
        }
    }
    run.results.iter_mut().for_each(respell);
    Ok(run)
}

/// Spells the keys of earlier records, some of which had `_` or a blank for `-`, as this version does.
fn respell(result: &mut Measurement) {
    let respelled = |key: String| {
        let new = key.replace('_', "-");
        let is_old = key.contains("_per_") || key.ends_with("_event") || Counter::find(&new).is_some();
        if is_old && Counter::find(&key).is_none() { new } else { key }
    };
    for map in [&mut result.counters, &mut result.proof, &mut result.instrumented_ns] {
        *map = std::mem::take(map).into_iter().map(|(key, value)| (respelled(key), value)).collect();
    }
    result.per_counted = result.per_counted.take().map(respelled);
    for phase in &mut result.phases {
        if let Some(key) = phase_key(&phase.name) {
            phase.name = key;
        }
    }
}

fn wrong(text: &[u8], error: &serde_json::Error) -> DocumentError {
    // The parser ends its sentence with the place as line and column; ours says the byte.
    let said = error.to_string();
    let what = short(said.rsplit_once(" at line ").map_or(said.as_str(), |(what, _)| what), 200);
    let before: usize =
        text.split_inclusive(|b| *b == b'\n').take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let byte = (before + error.column()).min(text.len());
    match error.classify() {
        Category::Eof => DocumentError::Truncated(text.len()),
        // A number that ends with the text (`-`, `1.`) was cut as well.
        Category::Syntax if byte == text.len() && what == "invalid number" => DocumentError::Truncated(byte),
        Category::Data => DocumentError::Wrong(what, byte),
        Category::Syntax | Category::Io => DocumentError::NotJson(what, byte),
    }
}
