//! `tollgate ring`: plan the cells, measure each, save after each, show.

use crate::args::{Sampling, Usage, one_of};
use crate::session::Session;
use crate::worker;
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tollgate_boundary::ring::{
    Cell, CellRunner, Link, Pages, Placing, Room, Sizes, Spec, StartWorker, THREADS_OR_PROCESSES, Tasks,
    Walk, add_knees, cells_of, procs,
};
use tollgate_measure::Site;
use tollgate_measure::clock::Source;
use tollgate_record::{Host, Run};

#[derive(clap::Args)]
#[command(
    mut_arg("quick", |quick| quick.help("A rougher answer, 0.35 s for each cell")),
    after_help = "Examples:\n  tollgate ring\n  tollgate ring --procs 2 --size 4K,8K,16K,32K,64K,128K,256K,512K,1M\n  \
                  tollgate ring --procs 2,8,32 --sizes auto --medium futex --tasks thread"
)]
pub(crate) struct Args {
    /// Tasks of the ring, one or more numbers
    #[arg(long, value_name = "N,...", value_parser = procs, value_delimiter = ',', default_value = "2,8,32", allow_hyphen_values = true)]
    procs: Vec<u32>,
    /// Bytes of the array that each task reads, as 0,16K,1M, or 'auto'
    ///
    /// K, M, G are powers of 1,024, kB, MB, GB of 1,000. 'auto' takes sizes around this host's caches, so that there are
    /// footprints below and above the size of each cache.
    #[arg(long = "size", visible_alias = "sizes", value_name = "S,...", value_parser = Sizes::parse, default_value = "0,16K,64K", allow_hyphen_values = true)]
    sizes: Sizes,
    /// The medium of the token
    #[arg(long, value_name = "MEDIUM", value_parser = one_of(Link::NAMES), default_value = "pipe")]
    medium: Link,
    /// The kind of the tasks
    #[arg(long, value_name = "TASKS", value_parser = one_of(THREADS_OR_PROCESSES), default_value = "process")]
    tasks: Tasks,
    /// Where the tasks run
    #[arg(long, value_name = "PLACEMENT", value_parser = one_of(Placing::NAMES), default_value = "one-cpu")]
    placement: Placing,
    /// How a task reads its array
    #[arg(long, value_name = "WALK", value_parser = one_of(Walk::NAMES), default_value = "sum")]
    walk: Walk,
    /// The pages of the arrays
    #[arg(long, value_name = "PAGES", value_parser = one_of(Pages::NAMES), default_value = "4k")]
    pages: Pages,
    /// Seconds of silence after which a ring counts as stuck [default: 10, and more for large rings]
    #[arg(long, hide_short_help = true, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..), allow_hyphen_values = true)]
    watchdog: Option<u16>,
    #[command(flatten)]
    sampling: Sampling,
}

pub(crate) fn ring(args: &Args) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    let (facts, site) = sampling.place()?;
    let cells = cells(args, &facts, site)?;
    let mut session = Session::open(&sampling.destination, facts, sampling.seed())?;
    let stop = session.stop_on_signal()?;
    let start = rings_worker(sampling.clock.source());
    let runner = CellRunner { watchdog_s: args.watchdog, ..runner(site, sampling, session.run.seed, &start) };
    session.progress.expect(Duration::from_nanos(runner.budget_ns) * cells.len() as u32);
    for (done, cell) in cells.iter().enumerate() {
        let spec = &cell.specs()[0];
        let what = format!("ring of {}, {} bytes each", spec.procs, spec.bytes);
        session.progress.show(done as f64 / cells.len() as f64, what);
        let keep = &mut |unfinished: &Run| session.keeper.save(unfinished);
        let Some(measured) = runner.measure(cell, &mut session.run, &stop, keep) else { break };
        let mut result = measured.result;
        if !stop.load(Ordering::Relaxed) {
            runner.count(cell, &mut session.run, &mut result);
        }
        session.push(result);
    }
    session.run.complete = session.run.results.len() == cells.len() && !stop.load(Ordering::Relaxed);
    add_knees(&mut session.run);
    session.finish()
}

/// The command that starts a worker for some rings.
pub(crate) fn rings_worker(source: Source) -> impl Fn(Site, &[Spec]) -> Command + Sync {
    move |site, specs| {
        let mut command = worker::command(site, source);
        command.arg("--rings").arg(serde_json::to_string(specs).unwrap_or_default());
        command
    }
}

/// Measures cells with these options.
pub(crate) fn runner<'a>(
    site: Site,
    sampling: &Sampling,
    seed: u64,
    worker: StartWorker<'a>,
) -> CellRunner<'a> {
    let (budget_ns, epochs) = match (sampling.quick, sampling.thorough) {
        (true, _) => (350_000_000, 6),
        (_, true) => (6_000_000_000, 20),
        _ => (850_000_000, 6),
    };
    CellRunner { site, source: sampling.clock.source(), seed, budget_ns, epochs, watchdog_s: None, worker }
}

/// The memory that rings may use on this host.
pub(crate) fn room(facts: &Host) -> Option<Room> {
    Room::of(facts.memory_available_bytes.or(facts.memory_bytes), facts.cgroup.memory_max)
}

/// Every cell that was asked for; all of them are checked before the first is measured.
fn cells(args: &Args, facts: &Host, site: Site) -> anyhow::Result<Vec<Cell>> {
    let first = Spec {
        link: args.medium,
        threads: args.tasks == Tasks::Threads,
        procs: 2,
        bytes: 0,
        walk: args.walk,
        pages: args.pages,
        cpus: args.placement.cpus(&facts.cpu, site.cpu).map_err(Usage::error)?,
        warm_us: 0,
        counters: false,
    };
    cells_of(&first, &args.procs, &args.sizes, facts, room(facts)).map_err(Usage::error)
}
