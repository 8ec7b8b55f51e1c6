//! Which probes a person means.

use crate::PROBES;
use wildmatch::WildMatch;

/// A pattern that names no probe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no probe is called '{pattern}'; the nearest is '{nearest}' ('tollgate list' shows all)")]
pub struct UnknownProbe {
    /// What was asked for.
    pub pattern: String,
    /// The probe or family whose name is nearest.
    pub nearest: String,
}

/// The places in [`PROBES`] that the patterns name, in the order of the list and each once. No pattern
/// names all. A pattern is a probe's id, a family (`thread`), or either with `*` and `?`.
///
/// # Errors
/// [`UnknownProbe`] for the first pattern that names nothing.
///
/// ```
/// use tollgate_boundary::{PROBES, select};
/// assert_eq!(select(&[]).unwrap().len(), PROBES.len());
/// assert_eq!(select(&["null".into()]).unwrap(), [0]);
/// assert_eq!(select(&["nul".into()]).unwrap_err().nearest, "null");
/// ```
pub fn select(patterns: &[String]) -> Result<Vec<usize>, UnknownProbe> {
    let ids: Vec<&str> = PROBES.iter().map(|probe| probe.meta().id).collect();
    select_among(&ids, patterns)
}

fn select_among(ids: &[&str], patterns: &[String]) -> Result<Vec<usize>, UnknownProbe> {
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

/// The id or family nearest to what was typed; a mechanism counts without its family, too, so that
/// `futx` finds `thread/futex`. Whoever typed a family right means one of its probes.
fn nearest(ids: &[&str], typed: &str) -> String {
    let mechanism = |id: &str| id.split('/').next_back().unwrap_or_default().len();
    let known = ids.iter().any(|id| family(id) == family(typed));
    let names = ids
        .iter()
        .filter(|id| !known || family(id) == family(typed))
        .flat_map(|&id| [(id, id), (family(id), family(id)), (&id[id.len() - mechanism(id)..], id)]);
    let scored = names.map(|(name, answer)| (strsim::normalized_damerau_levenshtein(name, typed), answer));
    let best = scored.fold((-1.0, ""), |best, next| if next.0 > best.0 { next } else { best });
    best.1.into()
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
            assert_eq!(names(&[typed]).unwrap_err().nearest, nearest, "{typed}");
        }
    }

    #[test]
    fn the_empty_pattern_names_nothing() {
        assert!(names(&[""]).is_err());
    }
}
