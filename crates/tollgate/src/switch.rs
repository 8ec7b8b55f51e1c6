//! `tollgate switch`: fibers, coroutines and threads of other runtimes, in one table.

use crate::args::{Sampling, Usage};
use crate::output::say;
use crate::sampled::SAVE_EVERY;
use crate::session::Session;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tollgate_measure::noise::{self, SpanNoise, Watch};
use tollgate_measure::{Site, host, placement};
use tollgate_record::Host;
use tollgate_record::parse::{bytes, count};
use tollgate_runtime::cache::BuildError;
use tollgate_runtime::session::{Chosen, Event, Plan, Row, Session as Rows, Setting};
use tollgate_runtime::table::MOST_TASKS;
use tollgate_runtime::{Cache, Room, Sources, choice, record};

#[derive(clap::Args)]
#[command(
    mut_arg("quick", |quick| quick.help("A rougher answer in 5 seconds; skips rows without time")),
    after_help = "Examples:\n  tollgate switch\n  tollgate switch boost-fiber 50 1000000\n  tollgate switch \
                  --runtime own,tokio/channel,thread --tasks 2,50,1000\n  tollgate switch --growth --runtime own,tokio \
                  --memory 2G\n  tollgate switch --program ./mine --runtime own"
)]
pub(crate) struct Args {
    /// A runtime ('boost-fiber'), a mechanism ('tokio/channel') or a kind ('stackful', 'stackless', 'thread')
    #[arg(value_name = "RUNTIME", conflicts_with = "runtime")]
    name: Option<String>,
    /// The number of tasks
    #[arg(value_name = "TASKS", value_parser = tasks, conflicts_with_all = ["tasks", "growth"], allow_hyphen_values = true)]
    number: Option<u64>,
    /// The number of switches in all
    #[arg(value_name = "ITERATIONS", value_parser = iterations, conflicts_with = "iterations", allow_hyphen_values = true)]
    count: Option<u64>,
    /// Only these runtimes, mechanisms or kinds [default: all that can be built here]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    runtime: Vec<String>,
    /// Numbers of tasks [default: 2]
    #[arg(long, value_name = "N,...", value_parser = tasks, value_delimiter = ',', allow_hyphen_values = true)]
    tasks: Vec<u64>,
    /// Switches of each row and number of tasks [default: as time permits]
    #[arg(long, value_name = "N", value_parser = iterations, allow_hyphen_values = true)]
    iterations: Option<u64>,
    /// Cost and memory from 2 tasks to 1,000,000, with a plot
    ///
    /// Each runtime is measured as far as it and the memory permit; with --quick at 2, 1,000 and 30,000 tasks, within 5 seconds.
    #[arg(long, conflicts_with = "tasks")]
    growth: bool,
    /// Memory that may be used, as 2G [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, allow_hyphen_values = true)]
    memory: Option<u64>,
    /// Your own program, with the protocol of runtimes/PROTOCOL.md
    #[arg(long, value_name = "FILE")]
    program: Vec<PathBuf>,
    /// Where runtimes are built [default: tollgate/runtimes in the XDG cache directory]
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// A folder with a runtimes.toml, in place of the runtimes that the program contains
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    runtimes: Option<PathBuf>,
    /// Length of a batch, in microseconds
    #[arg(long, hide = true, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch_us: u32,
    #[command(flatten)]
    sampling: Sampling,
}

impl Args {
    /// The runtimes, mechanisms and kinds that were named.
    fn names(&self) -> Vec<String> {
        self.name.iter().chain(&self.runtime).cloned().collect()
    }

    /// The numbers of tasks, each once, in ascending order.
    fn tasks(&self) -> Vec<u64> {
        if self.growth {
            return choice::growth(self.sampling.quick).into();
        }
        let mut tasks: Vec<u64> = self.number.iter().chain(&self.tasks).copied().collect();
        if tasks.is_empty() {
            tasks.push(2);
        }
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// The switches that were asked for.
    fn iterations(&self) -> Option<u64> {
        self.count.or(self.iterations)
    }

    /// Whether a curve is wanted rather than a few exact figures.
    fn curve(&self) -> bool {
        self.growth || self.tasks().len() > 4
    }
}

fn tasks(text: &str) -> Result<u64, String> {
    count(text, 2..=MOST_TASKS, "tasks", 50)
}

fn iterations(text: &str) -> Result<u64, String> {
    // More would take days, and the arithmetic of the counts would be near its end.
    count(text, 1..=1_000_000_000_000, "switches", 1_000_000)
}

fn memory(text: &str) -> Result<u64, String> {
    match bytes(text, 1)? {
        0 => Err("without memory nothing runs; try 1G".into()),
        bytes => Ok(bytes),
    }
}

pub(crate) fn switch(args: &Args) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    let (facts, site) = place(sampling)?;
    let plan = plan(args, sampling.seed());
    let sources = args.runtimes.clone().map_or(Sources::Embedded, Sources::Folder);
    let setting = setting(sampling, args.memory, args.cache.clone(), sources, &facts, site)?;
    let rows = rows(args, &setting)?;
    measure(sampling, facts, &plan, &setting, rows)
}

/// `tollgate run 'ffi/*'`: calls between languages.
pub(crate) fn borders(sampling: &Sampling, rows: &[Chosen]) -> anyhow::Result<ExitCode> {
    let (facts, site) = place(sampling)?;
    let plan = Plan { seed: sampling.seed(), ..Plan::borders(sampling.quick, sampling.thorough) };
    let setting = setting(sampling, None, None, Sources::Embedded, &facts, site)?;
    let rows = Row::all(rows, &[1], false, setting.room).map_err(Usage::error)?;
    measure(sampling, facts, &plan, &setting, rows)
}

/// The CPU to measure on: the programs use one.
fn place(sampling: &Sampling) -> anyhow::Result<(Host, Site)> {
    let (mut facts, site) = sampling.place()?;
    (facts.cpu.peer, facts.cpu.peer_relation) = (None, None);
    Ok((facts, site))
}

/// The time between two saves is at least this many times that of a save.
const BETWEEN_SAVES: u32 = 20;

fn measure(
    sampling: &Sampling,
    facts: Host,
    plan: &Plan,
    setting: &Setting,
    rows: Vec<Row>,
) -> anyhow::Result<ExitCode> {
    let (mut rows, cpu) = (Rows::new(rows), setting.cpu);
    let mut session = Session::open(&sampling.destination, facts, plan.seed)?;
    let stop = session.stop_on_signal()?;
    if host::attempts().affinity == Some(host::Attempt::Works) {
        placement::leave(cpu, &session.run.host.cpu.allowed);
    }

    let watch = Watch::new(cpu, None);
    let mark = watch.mark();
    let write = |session: &mut Session, rows: &Rows| {
        session.run.warnings.clear();
        record::record(&mut session.run, rows, setting.source);
        let span = SpanNoise::total(&[watch.span(&mark, &watch.mark())]);
        session.run.warnings.extend(span.into_iter().flat_map(|span| noise::warnings(&span, false)));
        session.save();
    };
    // When the next record is saved. It takes 0.2 s with a hundred rows, in which nothing is measured.
    let mut due = Instant::now();
    let done = rows.run(plan, setting, &stop, &mut |event| {
        match event {
            Event::Building(what) => {
                session.progress.aside(|| say(format!("tollgate: {what}")));
                session.progress.wait(what);
            }
            Event::Planned(duration) => session.progress.expect(duration),
            Event::Running(share, name) => session.progress.show(share, name),
            Event::Measured(rows) if Instant::now() >= due => {
                let begun = Instant::now();
                write(&mut session, rows);
                due = Instant::now() + SAVE_EVERY.max(BETWEEN_SAVES * begun.elapsed());
            }
            Event::Measured(_) => {}
        }
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    done.map_err(|error| match error {
        BuildError::Cache(..) | BuildError::Unsafe(..) | BuildError::Home(..) => Usage::error(error),
        other => other.into(),
    })?;
    write(&mut session, &rows);
    session.run.complete &= !stop.load(Ordering::Relaxed);
    session.finish()
}

fn plan(args: &Args, seed: u64) -> Plan {
    let Sampling { quick, thorough, .. } = args.sampling;
    let batch_ns = f64::from(args.batch_us) * 1e3;
    Plan { seed, batch_ns, iterations: args.iterations(), ..Plan::usual(quick, thorough, args.curve()) }
}

fn setting(
    sampling: &Sampling,
    memory: Option<u64>,
    cache: Option<PathBuf>,
    sources: Sources,
    facts: &Host,
    site: Site,
) -> anyhow::Result<Setting> {
    let room = match memory {
        Some(bytes) => Some(Room { bytes, bound: "--memory" }),
        None => Room::of(facts.memory_available_bytes.or(facts.memory_bytes), facts.cgroup.memory_max),
    };
    let cache = cache.or_else(Cache::default_dir).ok_or_else(|| {
        let named = tollgate_runtime::cache::NAMED;
        Usage::error(format!(
            "there is no home directory to build runtimes in; name a directory with {named}"
        ))
    })?;
    let absolute = std::path::absolute(&cache)?;
    Ok(Setting {
        cpu: site.cpu,
        source: sampling.clock.source(),
        patience_ms: sampling.patience_ms.into(),
        room: room.ok_or_else(|| {
            Usage::error("the system does not tell how much memory is available; say how much may be used: --memory 1G")
        })?,
        cache: Cache::new(absolute),
        sources,
    })
}

/// Every row that was asked for. A number of tasks that nothing can have is an error of the command line.
fn rows(args: &Args, setting: &Setting) -> anyhow::Result<Vec<Row>> {
    let chosen = choice::choose(&args.names(), &args.program, &setting.sources).map_err(Usage::error)?;
    Row::all(&chosen, &args.tasks(), args.growth, setting.room)
        .map_err(|refusal| Usage::error(format!("--tasks {refusal}")))
}
