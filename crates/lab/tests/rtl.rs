//! The timed model against what the RTL of cores did: facts on one side, so that each change of the model shows here.

use tollgate_lab::rtl::{SUBJECTS, Summary};
use tollgate_testkit::Recorded;

#[test]
fn the_model_is_as_near_to_the_rtl_as_recorded() {
    let lines = SUBJECTS.iter().map(|subject| {
        let (_, scores) = subject.validate().unwrap();
        let summary = Summary::of(&scores);
        let Summary { programs, exact, mean, rtl, model, absolute, others, .. } = &summary;
        let (worst, program) = summary.worst.clone().unwrap_or_default();
        format!(
            "{}: {exact} of {programs} exact, mean {:.2} %, worst {:+.1} % ({program}), cycles {rtl} here {model} \
             apart {absolute}, {others} not comparable\n",
            subject.name,
            100.0 * mean,
            100.0 * worst,
        )
    });
    Recorded::file("rtl", "crates/lab/tests/rtl.txt").assert(&lines.collect::<String>());
}

#[test]
fn every_program_of_a_golden_file_is_in_the_corpus_and_the_other_way_round() {
    for subject in SUBJECTS {
        let (text, scores) = subject.validate().unwrap();
        assert!(text.starts_with(&format!("core {}\n", subject.name)), "{text}");
        assert_eq!(scores.len(), subject.kernels().unwrap().len(), "{}", subject.name);
    }
}
