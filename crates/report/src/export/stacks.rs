//! The calls of a profile, as stacks of functions.

use tollgate_record::family::ProgramFound;
use tollgate_record::number::count;

/// More functions than the longest stack of a record has: a damaged one can chain all of its paths.
const DEEPEST: usize = 1_024;

/// For each path of calls with cycles of its own: its functions from the innermost one on, and the cycles.
pub(super) fn stacks(found: &ProgramFound) -> impl Iterator<Item = (Vec<&str>, u64)> {
    let paths = &found.paths;
    // A caller comes before its calls.
    let caller = |&at: &usize| usize::try_from(paths[at].caller?).ok().filter(|&caller| caller < at);
    (0..paths.len()).filter(|&at| paths[at].cycles > 0).map(move |at| {
        let path = std::iter::successors(Some(at), caller).take(DEEPEST);
        (path.map(|at| paths[at].function.as_str()).collect(), paths[at].cycles)
    })
}

/// What the record says of calls that have no path of their own.
pub(crate) fn cut(found: &ProgramFound) -> Option<String> {
    let cut = count(found.cut?);
    Some(format!("{cut} cycles of calls that are too deep or too many are with their callers"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::family::PathFound;

    #[test]
    fn a_chain_of_all_paths_stays_short() {
        let path = |at: u64| PathFound { caller: at.checked_sub(1), function: at.to_string(), cycles: 1 };
        let found = ProgramFound { paths: (0..5_000).map(path).collect(), ..ProgramFound::default() };
        let (stack, cycles) = stacks(&found).last().unwrap();
        assert_eq!((stack.len(), stack[..2].concat(), cycles), (DEEPEST, "49994998".to_owned(), 1));
        // Its own caller, and one that comes later.
        let found = ProgramFound {
            paths: vec![
                PathFound { caller: Some(0), ..path(0) },
                PathFound { caller: Some(2), ..path(1) },
                PathFound { caller: Some(1), ..path(2) },
            ],
            ..ProgramFound::default()
        };
        let stacks: Vec<Vec<&str>> = stacks(&found).map(|(stack, _)| stack).collect();
        assert_eq!(stacks, [vec!["0"], vec!["1"], vec!["2", "1"]]);
    }
}
