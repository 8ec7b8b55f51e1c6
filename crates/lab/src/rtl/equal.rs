//! The corpus through the fast path and through the plain scoreboard: both have to find the same cycles.

use std::thread;

use tollgate_cores::{ByPrivilege, Core, Fast, Timed};

use super::program::{Part, Program};
use super::subject::{SUBJECTS, Subject};

/// How many instructions are run before both are compared again, and again.
const STEPS: [u64; 3] = [10, 990, 5_000];

fn compare(subject: &Subject, program: &Program) {
    let mut core = Core::preset(subject.preset).unwrap();
    core.memory.latency = program.latency as u32;
    let code = subject.code(program);
    let mut timed = Timed::new(&core, ByPrivilege, ()).unwrap().with_code(&code);
    let mut fast: Fast = Fast::new(&core).unwrap().with_code(&code);
    let mut machines = [0, 1].map(|_| subject.machine(program).unwrap());
    for steps in STEPS {
        machines[0].run(steps, &mut timed);
        machines[1].run(steps, &mut fast);
        let what = format!("{}: {} at {}, {steps} more", subject.name, program.name, program.latency);
        assert_eq!(machines[0].pc(), machines[1].pc(), "{what}");
        assert_eq!(timed.cycles(), fast.cycles(), "{what}");
        assert_eq!(timed.counts(), fast.counts(), "{what}");
        assert_eq!(timed.ledger(), fast.ledger(), "{what}");
    }
}

#[test]
fn the_fast_path_times_the_corpus_as_the_plain_scoreboard() {
    thread::scope(|scope| {
        for subject in SUBJECTS {
            scope.spawn(|| {
                for part in [Part::Kernels, Part::Traps, Part::Random] {
                    for program in &subject.programs(part).unwrap() {
                        compare(subject, program);
                    }
                }
            });
        }
    });
}
