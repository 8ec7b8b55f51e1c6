//! Sheets: experiments of the lab as runs of the record, printed as the terminal prints them.

use std::io;

use serde_json::json;
use tollgate_cores::Core;
use tollgate_lab::icache::{self, BUNDLED, Count, Settings};
use tollgate_lab::own::Own;
use tollgate_lab::pipeline::{self, Around, MOST, Wanted};
use tollgate_lab::program::{self, GuestTime, Job, Watch};
use tollgate_lab::{DESIGNS, Design, Embedded, Engine, Experiment, record};
use tollgate_record::family::ProgramAsked;
use tollgate_record::{Host, Measurement, Run, Tool, document};
use tollgate_report::{Style, fragment, view};

use crate::assemble;
use crate::failure::{Answer, Failure};
use crate::program::{self as programs, Loaded};
use crate::request::{CoreChoice, Sheet, Subject};
use crate::running::kind_name;

/// Crossings in the loop, as in `tollgate riscv trap`; enough for warm caches in a page.
const ITERATIONS: u64 = 100;
const MOST_ITERATIONS: u64 = 100_000;
/// Instructions of a program that is run for a sheet.
const LIMIT: u64 = 200_000_000;
const ROWS: usize = 24;
/// Functions that have a line.
const TOP: u64 = 20;

/// The run of a sheet: what was measured, and the command that measures the same.
pub(crate) fn run(sheet: &Sheet, loaded: Option<&Loaded>) -> Result<Run, Failure> {
    let (results, command) = match sheet {
        Sheet::Ledger { limit } => ledger(needed(loaded)?, limit.unwrap_or(LIMIT))?,
        Sheet::Trap { subjects, crossing, iterations } => trap(subjects, crossing.as_deref(), *iterations)?,
        Sheet::Kernels { core, crossing } => kernels(core.as_ref(), crossing.as_deref())?,
        Sheet::Icache { caches, count, optimization } => {
            icache(caches.as_deref(), count.as_deref(), optimization.as_deref())?
        }
        Sheet::Pipeline { around, nth, count } => stages(needed(loaded)?, around, *nth, *count)?,
    };
    let tool = Tool { version: env!("CARGO_PKG_VERSION").into(), commit: "unknown".into() };
    let host = Host { name: "page".into(), ..Host::default() };
    let mut run = Run::begin(String::new(), String::new(), tool, command, host, 0);
    run.complete = true;
    run.results = results;
    Ok(run)
}

/// A run as a page, a terminal and a pull request show it.
pub(crate) fn shown(run: &Run, number: usize) -> Answer {
    let terminal = Style { width: 80, unicode: true, ..Style::PLAIN };
    Ok(json!({
        "html": fragment(std::slice::from_ref(run)), "text": view(run, &terminal), "markdown": view(run, &Style::MARKDOWN),
        "sheet": number, "command": format!("tollgate {}", run.command.join(" ")),
    }))
}

/// A run as a file that `tollgate show` opens.
pub(crate) fn saved(run: &Run, id: &str, started: &str) -> Answer {
    let run = Run { id: id.into(), started: started.into(), ..run.clone() };
    let text = document::to_json(&run).map_err(Failure::machine)?;
    let name = format!("tollgate-{}-{id}.json", run.command.get(1).map_or("run", String::as_str));
    Ok(json!({ "name": name, "text": text }))
}

type Measured = Result<(Vec<Measurement>, Vec<String>), Failure>;

fn needed(loaded: Option<&Loaded>) -> Result<&Loaded, Failure> {
    loaded.ok_or_else(|| Failure::machine("nothing is loaded"))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The loaded program as the lab runs it.
fn job(loaded: &Loaded, limit: u64) -> Job {
    Job {
        isa: loaded.isa,
        machine: loaded.kind,
        ram_bytes: loaded.ram_bytes,
        program: loaded.executable.clone(),
        arguments: vec![loaded.name.clone()],
        max_instructions: limit,
        ..Job::default()
    }
}

fn ledger(loaded: &Loaded, limit: u64) -> Measured {
    let job = job(loaded, limit.clamp(1, LIMIT));
    let mut command = words(&["riscv", "run", &loaded.name]);
    let watch = match &loaded.core {
        Some(core) => {
            command.extend(words(&["--core", &core.name]));
            Watch::Ledger(Box::new(core.clone()), GuestTime::Functional)
        }
        None => {
            command.push("--profile".into());
            Watch::Profile
        }
    };
    let outcome = program::run(&job, watch, &mut io::empty(), &mut io::sink(), &mut io::sink(), &|| false);
    let outcome = outcome.map_err(Failure::machine)?;
    let asked = ProgramAsked {
        program: loaded.name.clone(),
        isa: loaded.march.clone(),
        machine: kind_name(loaded.kind).into(),
        core: None,
        top: Some(TOP),
    };
    Ok((record::program(&outcome, asked).into_iter().collect(), command))
}

/// A kernel of a subject.
enum Kernel {
    Bundled(&'static Design<'static>),
    Own(Box<Own>),
}

fn measure(
    design: &Design,
    crossing: Option<&str>,
    iterations: u64,
    core: Option<&Core>,
) -> Vec<Measurement> {
    let crossing = match programs::crossing(design, crossing) {
        Ok(crossing) => crossing,
        Err(_) => tollgate_lab::USUAL[0],
    };
    let experiment = Experiment { design, crossing, iterations };
    let failed = |why| vec![record::not_measured(&experiment, "embedded", &why)];
    match core {
        None => Embedded.measure(&experiment).map_or_else(failed, |bill| vec![record::measured(&bill)]),
        Some(core) => Embedded
            .measure_cycles(&experiment, core)
            .map_or_else(failed, |bill| record::measured_cycles(&bill).into()),
    }
}

fn trap(subjects: &[Subject], crossing: Option<&str>, iterations: Option<u64>) -> Measured {
    if subjects.is_empty() {
        return Err(Failure::request("no kernel to bill: give at least one"));
    }
    let iterations = iterations.unwrap_or(ITERATIONS).clamp(1, MOST_ITERATIONS);
    let mut command = words(&["riscv", "trap"]);
    let mut results = Vec::new();
    for subject in subjects {
        let kernel = match (&subject.files, &subject.kernel) {
            (Some(files), _) => Kernel::Own(Box::new(assemble::entry(files)?)),
            (None, name) => Kernel::Bundled(programs::design(name.as_deref().unwrap_or(DESIGNS[0].name))?),
        };
        let core = subject.core.as_ref().map(programs::core).transpose()?;
        let own;
        let design = match kernel {
            Kernel::Bundled(design) => *design,
            Kernel::Own(mut kernel) => {
                let call = tollgate_lab::USUAL[0];
                kernel.check(call).map_err(|error| Failure::source(error, Vec::new()))?;
                own = kernel;
                own.design()
            }
        };
        programs::crossing(&design, crossing)?;
        results.extend(measure(&design, crossing, iterations, core.as_ref()));
        command.extend(words(&["--kernel", design.name]));
        if let Some(core) = &core {
            command.extend(words(&["--core", &core.name]));
        }
    }
    command.extend(words(&["--iterations", &iterations.to_string()]));
    if let Some(crossing) = crossing {
        command.extend(words(&["--calls", crossing]));
    }
    Ok((results, command))
}

fn kernels(core: Option<&CoreChoice>, crossing: Option<&str>) -> Measured {
    let core = core.map(programs::core).transpose()?;
    let mut command = words(&["riscv", "trap", "--kernel", "all", "--iterations", &ITERATIONS.to_string()]);
    if let Some(core) = &core {
        command.extend(words(&["--core", &core.name]));
    }
    let each = |design: &Design<'static>| measure(design, crossing, ITERATIONS, core.as_ref());
    Ok((DESIGNS.iter().flat_map(each).collect(), command))
}

fn icache(caches: Option<&[String]>, count: Option<&str>, optimization: Option<&str>) -> Measured {
    let usual = ["4:1:8".to_owned()];
    let caches = caches.unwrap_or(&usual);
    let level = optimization.unwrap_or("1");
    let count = match count.unwrap_or("cycle") {
        "fetch" => Count::Fetch,
        "cycle" => Count::Cycle,
        other => return Err(Failure::request(format!("'{other}' is not counted: give fetch or cycle"))),
    };
    let geometry = |text: &String| text.parse().map_err(|error| Failure::request(format!("{text}: {error}")));
    let settings = Settings {
        caches: caches.iter().map(geometry).collect::<Result<_, _>>()?,
        count,
        ..Settings::default()
    };
    let builds: Vec<_> = BUNDLED.iter().filter(|it| it.opt == level).collect();
    if builds.is_empty() {
        return Err(Failure::request(format!("optimization {level} is not bundled: give 1 or 2")));
    }
    let mut results = Vec::new();
    for bundled in builds {
        let report = icache::run(&bundled.build(), &settings).map_err(Failure::request)?;
        results.extend(icache::record::measured(&report));
    }
    let counted = if count == Count::Fetch { "fetch" } else { "cycle" };
    let command =
        ["riscv", "icache", "--opt-level", level, "--icache", &caches.join(","), "--count", counted];
    Ok((results, words(&command)))
}

fn stages(loaded: &Loaded, around: &str, nth: Option<u64>, count: Option<usize>) -> Measured {
    let core = loaded
        .core
        .as_ref()
        .ok_or_else(|| Failure::machine("there is no pipeline without a core: choose one"))?;
    let kind = match around {
        "trap" => Around::Trap,
        "interrupt" => Around::Interrupt,
        "branch" => Around::Branch,
        symbol => Around::Symbol(symbol.into()),
    };
    let wanted =
        Wanted { around: kind, nth: nth.unwrap_or(1).max(1), count: count.unwrap_or(ROWS).clamp(2, MOST) };
    let view = pipeline::view(&job(loaded, LIMIT), core, &wanted).map_err(Failure::request)?;
    let results = vec![record::stages(view, &wanted, &core.name, &loaded.name)];
    let place = if matches!(wanted.around, Around::Symbol(_)) { "--from" } else { "--around" };
    Ok((results, words(&["riscv", "pipeline", &loaded.name, "--core", &core.name, place, around])))
}
