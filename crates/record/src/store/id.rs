//! Names of runs: ULIDs, which sort by time.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use ulid::Ulid;

/// As many characters of an id as a command suggests at least: they select a run unless another one began within the
/// same quarter of a second.
pub(super) const USUAL_PREFIX: usize = 8;

/// A new id for a run that starts now: a [ULID](https://github.com/ulid/spec), `01KAH3VB40E5P6ZQ2M8RWTX9CD`. Its first
/// ten characters are the time in milliseconds, the others are random. The ids that one process makes are in ascending
/// order, also within one millisecond.
pub fn new_id(now: impl Into<SystemTime>) -> String {
    static LAST: Mutex<Option<Ulid>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let id = next(*last, now.into());
    *last = Some(id);
    id.to_string()
}

/// An id of this time, or the one after `last` if that is not earlier.
pub(super) fn next(last: Option<Ulid>, now: SystemTime) -> Ulid {
    let time = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    // The standard library keys its hash maps from the system's random numbers, differently each time.
    let random = || u128::from(RandomState::new().hash_one(now));
    let fresh = Ulid::from_parts(time, random() << 64 | random());
    let after = last.filter(|last| last.timestamp_ms() >= time).and_then(|last| last.increment().ok());
    after.unwrap_or(fresh)
}

/// When the run of this id began, in milliseconds since 1970: from a ULID, or from an id of versions before 0.2,
/// `20261120T152800Z-7f3a1c`.
pub(super) fn time_ms(id: &str) -> Option<i64> {
    if id.len() == ulid::ULID_LEN
        && let Ok(ulid) = Ulid::from_string(id)
    {
        return i64::try_from(ulid.timestamp_ms()).ok();
    }
    let (time, _) = id.split_once("Z-")?;
    let time = DateTime::strptime("%Y%m%dT%H%M%S", time).ok()?;
    Some(TimeZone::UTC.to_timestamp(time).ok()?.as_millisecond())
}

/// The time in the form of [`crate::Run::started`]: RFC 3339, UTC, whole seconds.
pub fn rfc3339(now: impl Into<SystemTime>) -> String {
    // A clock beyond the calendar (the year 9999) reads as 1970: wrong, but a time all the same.
    let now = Timestamp::try_from(now.into()).unwrap_or(Timestamp::UNIX_EPOCH);
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// [`crate::Run::started`] in milliseconds since 1970.
pub(super) fn started_ms(started: &str) -> Option<i64> {
    Some(started.parse::<Timestamp>().ok()?.as_millisecond())
}

/// Whether the id can be a file name of its own, without leaving the directory or being hidden in it.
pub(super) fn is_valid(id: &str) -> bool {
    (1..=100).contains(&id.len())
        && !id.starts_with('.')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Whether an id has this beginning. The case of a ULID's letters has no meaning.
pub(super) fn begins(id: &str, prefix: &str) -> bool {
    id.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
