//! The model against the RTL of cores: programs, when their instructions retired in the RTL, and how far the model is off.

mod corpus;
mod error;
pub mod golden;
mod interrupts;
mod kernels;
mod latency;
mod program;
mod proof;
mod random;
mod record;
mod replay;
mod score;
mod subject;
mod traps;
mod whole;

pub use error::RtlError;
pub use program::{Part, Program, Raise};
pub use proof::proof;
pub use record::validation;
pub use replay::Cycles;
pub use score::{Compared, PhaseScore, Score, Summary};
pub use subject::{SUBJECTS, Subject};

#[doc(hidden)]
pub fn listing(subject: &Subject, part: Part, name: &str, latency: u64) -> Vec<(u64, u64, u64, u32)> {
    let golden = subject
        .goldens(part)
        .unwrap()
        .into_iter()
        .find(|g| g.program == name && (latency == 0 || g.latency == latency))
        .unwrap();
    let program = subject
        .programs(part)
        .unwrap()
        .into_iter()
        .find(|p| p.name == name && p.latency == golden.latency)
        .unwrap();
    let mut core = tollgate_riscv::timing::Core::preset(subject.preset).unwrap();
    core.memory.latency = golden.latency as u32;
    let words: std::collections::HashMap<u64, u32> = golden.retired.iter().map(|r| (r.pc, r.word)).collect();
    let pairs = replay::replay(subject, &core, &program, &golden).unwrap();
    pairs
        .windows(2)
        .map(|t| {
            (t[1].pc, t[1].rtl - t[0].rtl, t[1].model - t[0].model, words.get(&t[1].pc).copied().unwrap_or(0))
        })
        .collect()
}
