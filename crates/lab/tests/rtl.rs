//! The timed model against what the RTL of cores did: facts on one side, so that each change of the model shows here.

use std::path::Path;

use strum::VariantArray;
use tollgate_lab::rtl::{Compared, Part, SUBJECTS, Summary};
use tollgate_testkit::Recorded;

#[test]
fn the_model_is_as_near_to_the_rtl_as_recorded() {
    let mut text = String::new();
    for subject in SUBJECTS {
        for &part in Part::VARIANTS {
            let scores = subject.validate_part(part).unwrap();
            // A whole program begins cold: it has no warm part.
            let temperatures: &[&str] = if part == Part::Traps { &["warm", "cold"] } else { &[""] };
            for temperature in temperatures {
                let line = line(&scores, *temperature == "cold");
                if !scores.is_empty() {
                    text += &format!("{} {} {temperature}: {line}\n", subject.name, part.name())
                        .replace(" :", ":");
                }
            }
        }
    }
    Recorded::file("rtl", "crates/lab/tests/rtl.txt").assert(&text);
}

/// One part of one core.
fn line(scores: &[Compared], cold: bool) -> String {
    let summary = Summary::of(scores, cold);
    let Summary { programs, exact, mean, cycles, others, .. } = &summary;
    let (worst, program) = summary.worst.clone().unwrap_or_default();
    format!(
        "{exact} of {programs} exact, mean {:.2} %, worst {:+.1} % ({program}), cycles {} here {} apart {}, {others} not \
         comparable",
        100.0 * mean,
        100.0 * worst,
        cycles.rtl,
        cycles.model,
        cycles.absolute,
    )
}

#[test]
fn every_program_of_a_golden_file_is_in_the_corpus_and_the_other_way_round() {
    for subject in SUBJECTS {
        for &part in Part::VARIANTS {
            let mut golden: Vec<_> = subject
                .goldens(part)
                .unwrap()
                .into_iter()
                .map(|golden| (golden.program, golden.latency))
                .collect();
            let programs = subject.programs(part).unwrap();
            let mut corpus: Vec<_> =
                programs.into_iter().map(|program| (program.name, program.latency)).collect();
            golden.sort();
            corpus.sort();
            assert_eq!(golden, corpus, "{} {}", subject.name, part.name());
        }
    }
}

#[test]
fn the_golden_files_are_small() {
    let folder = tollgate_testkit::workspace::root().unwrap().join("guests/riscv/golden");
    let bytes: u64 = files(&folder).sum();
    assert!(bytes < 8 << 20, "{bytes}");
}

fn files(folder: &Path) -> impl Iterator<Item = u64> {
    folder.read_dir().unwrap().map(|entry| entry.unwrap().metadata().unwrap().len())
}
