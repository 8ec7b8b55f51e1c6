//! Selects probes by id, family or pattern.

use crate::{LADDER, PROBES};
use std::collections::BTreeSet;
use tollgate_record::text::{self, suggestion};
use wildmatch::WildMatch;

/// A pattern that names no probe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no probe is called '{pattern}'{} ('tollgate list' shows all)", suggestion(nearest.as_deref()))]
pub struct UnknownProbe {
    /// The pattern.
    pub pattern: String,
    /// The probe or family that was most likely meant, where one is like it.
    pub nearest: Option<String>,
}

/// The places in [`PROBES`] that the patterns name, in the order of the list and each once. No pattern
/// names the [`LADDER`], and so does a wildcard in place of the family if it finds something there. A pattern is a probe's id, a family (`thread`), or either with `*` and `?`.
///
/// # Errors
/// [`UnknownProbe`] for the first pattern that names nothing.
///
/// ```
/// use tollgate_boundary::{LADDER, PROBES, select};
/// assert_eq!(select(&[]).unwrap().len(), LADDER.len());
/// assert_eq!(select(&["*".into()]).unwrap().len(), LADDER.len());
/// assert_eq!(PROBES[select(&["wake/futex".into()]).unwrap()[0]].meta().id, "wake/futex");
/// assert_eq!(select(&["null".into()]).unwrap(), [0]);
/// assert_eq!(select(&["nul".into()]).unwrap_err().nearest.as_deref(), Some("null"));
/// ```
pub fn select(patterns: &[String]) -> Result<Vec<usize>, UnknownProbe> {
    if patterns.is_empty() {
        return Ok((0..LADDER.len()).collect());
    }
    let ids: Vec<&str> = PROBES.iter().map(|probe| probe.meta().id).collect();
    let mut places = BTreeSet::new();
    for pattern in patterns {
        let one = std::slice::from_ref(pattern);
        let names_family = !family(pattern).contains(['*', '?']);
        let in_ladder = if names_family { None } else { select_among(&ids[..LADDER.len()], one).ok() };
        places.extend(in_ladder.map_or_else(|| select_among(&ids, one), Ok)?);
    }
    Ok(places.into_iter().collect())
}

/// [`select`] among other ids.
///
/// # Errors
/// [`UnknownProbe`] for the first pattern that names nothing.
pub fn select_among(ids: &[&str], patterns: &[String]) -> Result<Vec<usize>, UnknownProbe> {
    let mut wanted = vec![patterns.is_empty(); ids.len()];
    for pattern in patterns {
        let glob = WildMatch::new(pattern);
        let mut found = false;
        for (id, wanted) in ids.iter().zip(&mut wanted) {
            if glob.matches(id) || glob.matches(family(id)) {
                (*wanted, found) = (true, true);
            }
        }
        if !found {
            return Err(UnknownProbe { pattern: pattern.clone(), nearest: nearest(ids, pattern) });
        }
    }
    Ok((0..ids.len()).filter(|&place| wanted[place]).collect())
}

fn family(id: &str) -> &str {
    id.split('/').next().unwrap_or(id)
}

/// The id or family that was most likely meant. A mechanism counts without its family, too, so that `futx` finds
/// `thread/futex`; a family that is typed right and followed by an unknown mechanism is meant itself. If ids
/// continue what was typed (`ffi/cgo`), only the wildcard is missing.
fn nearest(ids: &[&str], typed: &str) -> Option<String> {
    let whole = typed.trim_end_matches('/');
    let continues = |id: &&str| id.strip_prefix(whole).is_some_and(|rest| rest.starts_with('/'));
    if whole.contains('/') && ids.iter().any(continues) {
        return Some(format!("{whole}/*"));
    }
    let mechanism = |id: &str| id.split('/').next_back().unwrap_or_default().len();
    let known = ids.iter().any(|id| family(id) == family(typed));
    let names: Vec<(&str, &str)> = ids
        .iter()
        .filter(|id| !known || family(id) == family(typed))
        .flat_map(|&id| [(id, id), (family(id), family(id)), (&id[id.len() - mechanism(id)..], id)])
        .collect();
    let meant = text::nearest(typed, names.iter().map(|(name, _)| *name));
    let answer =
        meant.and_then(|meant| names.iter().find(|(name, _)| *name == meant)).map(|(_, answer)| *answer);
    answer.or(known.then(|| family(typed))).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: &[&str] = &["null", "thread/futex", "thread/pipe", "process/pipe", "syscall/getppid"];

    fn names(patterns: &[&str]) -> Result<Vec<usize>, UnknownProbe> {
        select_among(IDS, &patterns.iter().map(|pattern| (*pattern).into()).collect::<Vec<_>>())
    }

    #[test]
    fn patterns_name_ids_families_and_globs_once_and_in_order() {
        assert_eq!(names(&[]), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(names(&["thread"]), Ok(vec![1, 2]));
        assert_eq!(names(&["process/pipe", "*/pipe", "null"]), Ok(vec![0, 2, 3]));
        assert_eq!(names(&["thread/????"]), Ok(vec![2]));
        for (pattern, found) in [("*", 5), ("t*d/*x", 1), ("thread/futex", 1), ("thread/*", 2), ("*/pipe", 2)]
        {
            assert_eq!(names(&[pattern]).map(|found| found.len()), Ok(found), "{pattern}");
        }
        for wrong in ["thread/fut", "t*d/*y", "l*ll*l", "thread/"] {
            assert!(names(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_typo_is_answered_with_the_nearest_name() {
        for (typed, nearest) in [
            ("thread/futx", "thread/futex"),
            ("futx", "thread/futex"),
            ("getpid", "syscall/getppid"),
            ("tread", "thread"),
            ("proces/pipe", "process/pipe"),
            ("process/x*", "process"),
        ] {
            assert_eq!(names(&[typed]).unwrap_err().nearest.as_deref(), Some(nearest), "{typed}");
        }
        // Three-part ids, as those of calls between languages.
        let ids = ["ffi/cgo/up", "ffi/cgo/down", "ffi/jni/up"];
        for (typed, nearest) in
            [("ffi/cgo", "ffi/cgo/*"), ("ffi/cgo/", "ffi/cgo/*"), ("ffi/cg/up", "ffi/cgo/up")]
        {
            let unknown = select_among(&ids, &[typed.into()]).unwrap_err();
            assert_eq!(unknown.nearest.as_deref(), Some(nearest), "{typed}");
        }
        let nothing = names(&["nosuch/*"]).unwrap_err();
        assert_eq!(nothing.to_string(), "no probe is called 'nosuch/*' ('tollgate list' shows all)");
    }

    #[test]
    fn the_empty_pattern_names_nothing() {
        assert!(names(&[""]).is_err());
    }
}
