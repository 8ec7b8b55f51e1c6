//! Names of runs: they sort by time and do not collide.

use jiff::Timestamp;
use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// A new id for a run that starts now: `20261120T152800Z-7f3a1c`. Ids sort by time; the last part is
/// random, so that two runs begun in the same second (on two machines, say) differ.
pub fn new_id(now: impl Into<SystemTime>) -> String {
    let now = now.into();
    // The standard library keys its hash maps from the system's random numbers, differently each time.
    let random = RandomState::new().hash_one(now) & 0xff_ffff;
    format!("{}-{random:06x}", timestamp(now).strftime("%Y%m%dT%H%M%SZ"))
}

/// The time in the form of [`crate::Run::started`]: RFC 3339, UTC, whole seconds.
pub fn rfc3339(now: impl Into<SystemTime>) -> String {
    timestamp(now.into()).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A clock beyond the calendar (the year 9999) reads as 1970: wrong, but a name all the same.
fn timestamp(now: SystemTime) -> Timestamp {
    Timestamp::try_from(now).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Whether the id can be a file name of its own, without leaving the directory or being hidden in it.
pub(super) fn is_valid(id: &str) -> bool {
    (1..=100).contains(&id.len())
        && !id.starts_with('.')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}
