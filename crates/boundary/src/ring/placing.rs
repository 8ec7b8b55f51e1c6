//! The CPUs that the tasks of a ring take in turn.

use tollgate_record::host::Cpu;

/// Where the tasks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// All on the measured CPU.
    OneCpu,
    /// In turn on the hardware threads of one core.
    Siblings,
    /// In turn on all CPUs that may be used.
    Spread,
}

impl Placing {
    /// Each placement by its name on the command line, with a description.
    pub const NAMES: &[(&str, Self, &str)] = &[
        ("one-cpu", Self::OneCpu, "All on the measured CPU"),
        ("siblings", Self::Siblings, "In turn on the hardware threads of one core"),
        ("spread", Self::Spread, "In turn on all CPUs that may be used"),
    ];

    /// The CPUs, the measured one first.
    ///
    /// # Errors
    /// A placement that needs a second CPU where there is only one.
    pub fn cpus(self, known: &Cpu, measured: usize) -> Result<Vec<usize>, String> {
        let mut cpus = vec![measured];
        let (others, what, instead): (Vec<usize>, _, _) = match self {
            Self::OneCpu => return Ok(cpus),
            Self::Siblings => {
                let core = known.cores.iter().find(|core| core.contains(&measured));
                let threads = core.into_iter().flatten().copied();
                let allowed = threads.filter(|cpu| known.allowed.contains(cpu)).collect();
                (allowed, "two hardware threads of one core", "spread")
            }
            Self::Spread => (known.allowed.clone(), "two CPUs that may be used", "one-cpu"),
        };
        cpus.extend(others.into_iter().filter(|&cpu| cpu != measured));
        if cpus.len() < 2 {
            return Err(format!(
                "this placement needs {what}, and cpu {measured} has none beside it; use --placement {instead}"
            ));
        }
        Ok(cpus)
    }
}

/// The CPUs of rings that run side by side: the measured one first, then the others in turn.
pub fn beside(measured: usize, allowed: &[usize], parallelism: u32) -> Vec<usize> {
    let others = allowed.iter().copied().filter(|&cpu| cpu != measured);
    let all: Vec<usize> = std::iter::once(measured).chain(others).collect();
    all.into_iter().cycle().take(parallelism as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::{Cpu, Placing, beside};

    #[test]
    fn rings_side_by_side_go_to_other_cpus_first() {
        assert_eq!(beside(1, &[0, 1, 2], 5), [1, 0, 2, 1, 0]);
        assert_eq!(beside(1, &[0, 1], 1), [1]);
    }

    #[test]
    fn each_placement_keeps_to_the_cpus_that_may_be_used() {
        let known = Cpu { cores: vec![vec![0, 4], vec![1, 5]], allowed: vec![0, 1, 4], ..Cpu::default() };
        assert_eq!(Placing::OneCpu.cpus(&known, 4), Ok(vec![4]));
        assert_eq!(Placing::Siblings.cpus(&known, 4), Ok(vec![4, 0]));
        assert_eq!(Placing::Spread.cpus(&known, 4), Ok(vec![4, 0, 1]));
        let why = Placing::Siblings.cpus(&known, 1).unwrap_err();
        assert!(why.contains("cpu 1") && why.contains("--placement spread"), "{why}");
    }
}
