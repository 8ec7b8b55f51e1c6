//! When the instructions of small programs retire in the RTL of RISC-V cores: `cargo xtask rtl`.
//!
//! The RTL comes from Python packages and is simulated by Verilator; each core has a harness of ours in `harness`. What
//! they do is kept in `guests/riscv/golden`, so that tests compare the timed model with it without any of that.
#![allow(clippy::print_stdout, reason = "these commands print for the developer")]

mod command;
mod source;
mod trace;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use strum::VariantArray;
use tollgate_lab::rtl::golden::{self, Golden};
use tollgate_lab::rtl::{Part, Program, SUBJECTS, Subject};

use source::{SOURCES, Source};

/// Record the cycles of RISC-V cores from their RTL (Verilator, Python packages)
#[derive(clap::Args)]
pub struct Args {
    /// Only these cores
    #[arg(long, value_name = "CORE")]
    core: Vec<String>,

    /// Write nothing; run some programs, chosen by the date, and fail if they differ from the golden files
    #[arg(long)]
    check: bool,

    /// Only these parts: kernels, traps, programs, random, interrupts
    #[arg(long, value_name = "PART")]
    part: Vec<String>,

    /// Only programs whose name contains this; print their cycles and write nothing
    #[arg(long, value_name = "NAME")]
    only: Option<String>,

    /// With memory that takes so many cycles
    #[arg(long, value_name = "CYCLES", requires = "only")]
    latency: Vec<u64>,
}

/// Programs of each core that `--check` runs.
const CHECKED: usize = 5;

impl Args {
    /// Simulates.
    ///
    /// # Errors
    /// When a package cannot be obtained, a core cannot be built or does not come to a program's end, or when a golden
    /// file differs.
    pub fn run(&self) -> Result<()> {
        let root = tollgate_testkit::workspace::root()?;
        let work = root.join("target/rtl");
        fs::create_dir_all(&work)?;
        if let Some(name) = self.core.iter().find(|name| Subject::find(name).is_none()) {
            let names: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
            bail!("no core is called '{name}'; there are: {}", names.join(", "));
        }
        if let Some(name) =
            self.part.iter().find(|name| Part::VARIANTS.iter().all(|part| part.name() != *name))
        {
            let names: Vec<&str> = Part::VARIANTS.iter().map(|part| part.name()).collect();
            bail!("no part is called '{name}'; there are: {}", names.join(", "));
        }
        let mut differing = Vec::new();
        for source in SOURCES {
            let subject = Subject::find(source.core).with_context(|| source.core.to_owned())?;
            if self.core.is_empty() || self.core.iter().any(|name| name == source.core) {
                self.one(source, subject, &root, &work, &mut differing)
                    .with_context(|| source.core.to_owned())?;
            }
        }
        if !differing.is_empty() {
            bail!("the RTL does something else than the golden files say: {}", differing.join(", "));
        }
        Ok(())
    }

    fn one(
        &self,
        source: &Source,
        subject: &Subject,
        root: &Path,
        work: &Path,
        differing: &mut Vec<String>,
    ) -> Result<()> {
        let start = Instant::now();
        let simulator = source.build(root, work)?;
        println!("{}: built in {:.0} s", source.core, start.elapsed().as_secs_f64());
        for &part in Part::VARIANTS {
            let mut programs = subject.programs(part)?;
            if let Some(name) = &self.only {
                programs.retain(|program| program.name.contains(name));
            }
            if !self.latency.is_empty() {
                programs = with_latencies(programs, &self.latency);
            }
            let wanted = self.part.is_empty() || self.part.iter().any(|name| name == part.name());
            if !wanted || programs.is_empty() {
                continue;
            }
            if self.check {
                programs = chosen(programs, today());
            }
            let start = Instant::now();
            let goldens = trace::run_all(&simulator, &programs)?;
            let cycles: u64 =
                goldens.iter().filter_map(|golden| golden.retired.last()).map(|last| last.cycle).sum();
            let seconds = start.elapsed().as_secs_f64();
            println!("  {}: {} programs, {cycles} cycles in {seconds:.0} s", part.name(), goldens.len());
            let file = root.join(format!("guests/riscv/golden/{}-{}.golden", source.core, part.name()));
            if self.only.is_some() {
                goldens.iter().for_each(print);
            } else if self.check {
                let kept = fs::read(&file)?;
                let (_, kept) = golden::read(&kept)?;
                let unequal = goldens.iter().filter(|golden| !kept.contains(golden));
                differing.extend(unequal.map(|golden| format!("{}/{}", source.core, golden.program)));
            } else {
                let bytes = golden::write(&source.text(), &goldens);
                println!("  {}: {} bytes", file.display(), bytes.len());
                fs::write(file, bytes)?;
            }
        }
        Ok(())
    }
}

/// Days since 1970.
fn today() -> usize {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs() / 86_400) as usize
}

/// Some of them, others each day.
fn chosen<T>(mut all: Vec<T>, day: usize) -> Vec<T> {
    let count = all.len();
    for i in 0..CHECKED.min(count) {
        all.swap(i, i + (day * 7919 + i * 104_729) % (count - i));
    }
    all.truncate(CHECKED);
    all
}

/// Each program once with each of these latencies of memory.
fn with_latencies(mut programs: Vec<Program>, latencies: &[u64]) -> Vec<Program> {
    let mut names = BTreeSet::new();
    programs.retain(|program| names.insert(program.name.clone()));
    let mut all = Vec::new();
    for &latency in latencies {
        programs.iter_mut().for_each(|program| program.latency = latency);
        all.extend_from_slice(&programs);
    }
    all
}

fn print(golden: &Golden) {
    println!("{}", golden.program);
    let mut before = 0;
    for each in &golden.retired {
        let trapped = if each.trapped { " trapped" } else { "" };
        println!("{:8} {:+5} {:#x}{trapped}", each.cycle, each.cycle - before, each.pc);
        before = each.cycle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_checked_on_some_day_and_none_twice_on_one() {
        for count in [1, CHECKED - 1, CHECKED, 20, 238] {
            let mut seen = BTreeSet::new();
            for day in 20_000..21_000 {
                let today: BTreeSet<usize> = chosen((0..count).collect(), day).into_iter().collect();
                assert_eq!(today.len(), CHECKED.min(count), "{count} {day}");
                seen.extend(today);
            }
            assert_eq!(seen.len(), count);
        }
    }

    #[test]
    fn a_program_of_several_latencies_comes_once_with_each_that_is_asked_for() {
        let mut programs = Subject::find("rocket").unwrap().programs(Part::Traps).unwrap();
        programs.retain(|program| program.name.starts_with("nested"));
        let found = with_latencies(programs, &[12, 80]);
        let found: Vec<(&str, u64)> =
            found.iter().map(|program| (program.name.as_str(), program.latency)).collect();
        assert_eq!(found, [("nested", 12), ("nested-taken", 12), ("nested", 80), ("nested-taken", 80)]);
    }

    #[test]
    fn each_core_with_golden_files_has_its_rtl() {
        let [sources, subjects]: [BTreeSet<&str>; 2] = [
            SOURCES.iter().map(|source| source.core).collect(),
            SUBJECTS.iter().map(|subject| subject.name).collect(),
        ];
        assert_eq!(sources, subjects);
        let harness = tollgate_testkit::workspace::root().unwrap().join("xtask/rtl/harness");
        for source in SOURCES {
            for end in ["cpp", "f"] {
                assert!(harness.join(format!("{}.{end}", source.core)).is_file(), "{} {end}", source.core);
            }
            let subject = Subject::find(source.core).unwrap();
            // What golden files begin with; reading all of them takes a minute.
            let begin = format!("{}\n\n", source.text());
            for (part, file) in subject.golden {
                let same = file.starts_with(begin.as_bytes());
                assert!(same, "{} {}: run `cargo xtask rtl`", source.core, part.name());
            }
        }
    }
}
