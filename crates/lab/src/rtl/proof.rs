//! The error of a core against its RTL, as the tests record it, for its bills.

use tollgate_cores::Core;

/// A line for each part of each core. `cargo xtask bless rtl` writes it.
static RECORDED: &str = include_str!("../../tests/rtl.txt");

/// How well a core is proven, in a few words: `None` for one that is not compared with any RTL, or was changed.
#[must_use]
pub fn proof(core: &Core) -> Option<String> {
    // By name and not by `SUBJECTS`, so that the page does not contain the recorded runs.
    let proven = sentence(RECORDED, &core.name)?;
    (Core::preset(&core.name).ok()? == *core).then_some(proven)
}

/// From the lines of a core.
fn sentence(recorded: &str, core: &str) -> Option<String> {
    let line = |part: &str| {
        recorded.lines().find_map(|line| {
            line.strip_prefix(core)?.strip_prefix(' ')?.strip_prefix(part)?.strip_prefix(": ")
        })
    };
    let between = |line: &str, from: &str, to: &str| {
        let (_, rest) = line.split_once(from)?;
        Some(rest.split_once(to)?.0.trim_start_matches(['+', '-']).to_owned())
    };
    let kernels = line("kernels")?.split_once(" exact")?.0;
    let mut text = format!("exact on {kernels} kernels");
    for (part, name) in [("traps warm", "traps"), ("traps cold", "cold ones"), ("programs", "programs")] {
        if let Some(worst) = line(part).and_then(|line| between(line, "worst ", " (")) {
            let apart = if name == "cold ones" { ", " } else { "; " };
            text += &format!("{apart}{name} within {worst}");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::super::subject::SUBJECTS;
    use super::*;

    #[test]
    fn the_sentence_has_the_worst_of_each_part() {
        let recorded = "a kernels: 1 of 2 exact, mean 1.00 %, worst +9.0 % (x), cycles\n\
                        ab kernels: 58 of 60 exact, mean 0.10 %, worst -3.0 % (x), cycles\n\
                        ab traps warm: 3 of 4 exact, mean 0.10 %, worst -0.9 % (full), cycles\n\
                        ab traps cold: 3 of 4 exact, mean 0.10 %, worst +2.4 % (full), cycles\n";
        assert_eq!(
            sentence(recorded, "ab").as_deref(),
            Some("exact on 58 of 60 kernels; traps within 0.9 %, cold ones within 2.4 %")
        );
        assert_eq!(sentence(recorded, "b"), None);
    }

    #[test]
    fn a_preset_is_proven_and_a_changed_core_is_not() {
        let mut core = Core::preset("ibex").unwrap();
        assert!(proof(&core).unwrap().starts_with("exact on "));
        core.trap.exception += 1;
        assert_eq!(proof(&core), None);
        assert_eq!(proof(&Core::preset("ideal").unwrap()), None);
    }

    #[test]
    fn each_core_whose_rtl_was_run_has_lines_by_the_name_of_its_preset() {
        let has_lines = |preset| SUBJECTS.iter().any(|subject| subject.name == preset);
        assert!(SUBJECTS.iter().all(|subject| has_lines(subject.preset)));
    }
}
