//! Which stretch of which program's run a stage diagram shows.

use std::path::{Path, PathBuf};

use tollgate_record::Measurement;
use tollgate_riscv::timing::Core;

use super::options::{self, PlanError, check_budget, isa, read, within};
use crate::bill::Experiment;
use crate::call::Crossing;
use crate::design::DESIGNS;
use crate::image::prepare;
use crate::pipeline::{self, Around, MOST, PipelineError, Wanted};
use crate::program::Job;
use crate::{latency, record};

/// The system call of the bundled program that is drawn: the caches are warm then.
const WARM: u64 = 10;
/// The jump that is drawn: a core that learns does not mispredict often.
const LEARNING: u64 = 3;
/// What errors call the program that is drawn without a file.
const BUNDLED: &str = "the bundled program";

/// What a command line asks for.
#[derive(Clone, Debug)]
pub struct PipelineRequest<'a> {
    /// The program; `None` for a bundled one.
    pub elf: Option<&'a Path>,
    /// Around what to draw.
    pub around: Around,
    /// Which one of its kind, from 1; `None` for the default.
    pub nth: Option<u64>,
    /// How many instructions to draw.
    pub count: usize,
    /// The core.
    pub core: &'a str,
    /// The machine's instructions.
    pub isa: &'a str,
    /// The proxy kernel.
    pub pk: Option<&'a Path>,
    /// When to stop the program.
    pub max_instructions: u64,
}

/// A program, a core, and the stretch to draw.
#[derive(Debug)]
pub struct PipelinePlan {
    core: Core,
    wanted: Wanted,
    /// `None` measures the latency at every cycle of the bundled loop.
    job: Option<Job>,
    path: PathBuf,
    core_name: String,
}

impl PipelinePlan {
    /// Plans a request.
    pub fn new(request: PipelineRequest<'_>) -> Result<Self, PlanError> {
        within("--count", request.count as u64, "a number", 2..=MOST as u64)?;
        if request.nth == Some(0) {
            return Err(PlanError::value("--nth", 0, "give a number from 1"));
        }
        let core = options::core(request.core)?;
        let every_cycle =
            request.elf.is_none() && request.around == Around::Interrupt && request.nth.is_none();
        let job = if every_cycle { None } else { Some(job(&request)?) };
        let nth = match (request.elf, &request.around) {
            (Some(_), _) => 1,
            (None, Around::Branch) => LEARNING,
            (None, _) => WARM,
        };
        let nth = request.nth.unwrap_or(nth);
        Ok(Self {
            core,
            wanted: Wanted { around: request.around, nth, count: request.count },
            job,
            path: request.elf.unwrap_or(Path::new(BUNDLED)).to_owned(),
            core_name: request.core.to_owned(),
        })
    }

    /// Runs the program: the diagram, and with the bundled loop the latencies.
    pub fn measure(&self) -> Result<Vec<Measurement>, PlanError> {
        let explain = |error: PipelineError| self.explain(&error);
        let Some(job) = &self.job else {
            let latency = latency::measure(&self.core, self.wanted.count).map_err(explain)?;
            let stages = record::stages(latency.view.clone(), &self.wanted, &self.core.name, "bundled");
            return Ok(vec![stages, record::latency(&latency, &self.core.name)]);
        };
        let view = pipeline::view(job, &self.core, &self.wanted).map_err(explain)?;
        let program = match self.path.as_os_str() == BUNDLED {
            true => "bundled".into(),
            false => self.path.file_name().unwrap_or_default().to_string_lossy(),
        };
        Ok(vec![record::stages(view, &self.wanted, &self.core.name, &program)])
    }

    /// The option or file that caused an error, and what to do.
    fn explain(&self, error: &PipelineError) -> PlanError {
        let why = match error {
            PipelineError::Symbol { .. } => return PlanError::option("--from", error),
            PipelineError::Core(_) => return PlanError::value("--core", &self.core_name, error),
            PipelineError::NotSeen { seen: 0, .. } => {
                format!("{error}; choose another --around, or --from SYMBOL")
            }
            PipelineError::NotSeen { seen, .. } => format!("{error}; give --nth 1 to {seen}"),
            PipelineError::Program(_) => error.to_string(),
        };
        PlanError::file(&self.path, why)
    }
}

fn job(request: &PipelineRequest<'_>) -> Result<Job, PlanError> {
    check_budget(request.max_instructions)?;
    let isa = isa(request.isa)?;
    let (program, name) = match request.elf {
        Some(path) => (read(path)?, path.to_string_lossy().into_owned()),
        None if matches!(request.around, Around::Interrupt | Around::Branch) => return Ok(latency::job(0)),
        None => {
            let iterations = request.nth.unwrap_or(WARM).saturating_add(10).min(100_000);
            let experiment = Experiment { design: &DESIGNS[0], crossing: Crossing::Call(172), iterations };
            let image = prepare(&experiment).map_err(|error| PlanError::file(Path::new(BUNDLED), error))?;
            (image, BUNDLED.to_owned())
        }
    };
    Ok(Job {
        isa,
        ram_bytes: 128 << 20,
        program,
        proxy_kernel: request.pk.map(read).transpose()?,
        arguments: vec![name],
        max_instructions: request.max_instructions,
        ..Job::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(around: Around) -> PipelineRequest<'static> {
        PipelineRequest {
            elf: None,
            around,
            nth: None,
            count: 24,
            core: "ripes-5stage",
            isa: "rv64gc",
            pk: None,
            max_instructions: 1_000_000,
        }
    }

    fn plan(around: Around) -> PipelinePlan {
        PipelinePlan::new(request(around)).unwrap()
    }

    #[test]
    fn bundled_programs_are_drawn_when_they_are_warm() {
        assert_eq!(plan(Around::Trap).wanted.nth, 10);
        assert_eq!(plan(Around::Branch).wanted.nth, 3);
        assert_eq!(
            PipelinePlan::new(PipelineRequest { nth: Some(5), ..request(Around::Trap) }).unwrap().wanted.nth,
            5
        );
    }

    #[test]
    fn only_the_bundled_loop_without_a_number_is_measured_at_every_cycle() {
        assert!(plan(Around::Interrupt).job.is_none());
        assert!(plan(Around::Branch).job.is_some());
        let second = PipelineRequest { nth: Some(2), ..request(Around::Interrupt) };
        assert!(PipelinePlan::new(second).unwrap().job.is_some());
    }

    #[test]
    fn errors_name_the_option_and_a_value_that_works() {
        let trap = || request(Around::Trap);
        let cases = [
            (PipelineRequest { count: 1, ..trap() }, "--count 1: give a number from 2 to 10000"),
            (PipelineRequest { nth: Some(0), ..trap() }, "--nth 0: give a number from 1"),
            (PipelineRequest { max_instructions: 0, ..trap() }, "--max-instructions 0: give at least 1"),
        ];
        for (request, expected) in cases {
            assert_eq!(PipelinePlan::new(request).unwrap_err().to_string(), expected);
        }
        let misspelled = plan(Around::Symbol("trap_vectr".to_owned())).measure().unwrap_err().to_string();
        assert!(misspelled.starts_with("--from: ") && misspelled.contains("'trap_vector'"), "{misspelled}");
    }
}
