//! The corpus instruction by instruction and in batches of decoded blocks: both have to take the same cycles.

use std::thread;

use tollgate_cores::{ByPrivilege, Core, Timed};

use super::program::{Part, Program};
use super::subject::{SUBJECTS, Subject};

/// How many instructions are run before both are compared again, and again.
const STEPS: [u64; 3] = [10, 990, 5_000];

fn compare(subject: &Subject, program: &Program) {
    let mut core = Core::preset(subject.preset).unwrap();
    core.memory.latency = program.latency as u32;
    let code = subject.code(program);
    let [mut alone, mut batched] =
        [0; 2].map(|_| Timed::new(&core, ByPrivilege, ()).unwrap().with_code(&code));
    let mut machines = [0, 1].map(|_| subject.machine(program).unwrap());
    for steps in STEPS {
        machines[0].run_reference(steps, &mut alone);
        machines[1].run(steps, &mut batched);
        let what = format!("{}: {} at {}, {steps} more", subject.name, program.name, program.latency);
        assert_eq!(machines[0].pc(), machines[1].pc(), "{what}");
        assert_eq!(alone.cycles(), batched.cycles(), "{what}");
        assert_eq!(alone.counts(), batched.counts(), "{what}");
        assert_eq!(alone.ledger(), batched.ledger(), "{what}");
    }
}

#[test]
fn batches_of_the_corpus_take_the_cycles_of_single_instructions() {
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
