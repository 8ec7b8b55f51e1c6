//! `tollgate ring`: plan the cells, measure each, save after each, show.

mod args;

pub(crate) use args::{Args, procs};

use crate::args::{Sampling, Usage};
use crate::session::Session;
use crate::worker;
use args::Placing;
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;
use tollgate_boundary::ring::{Cell, CellRunner, Pages, Room, Spec, StartWorker, add_knees, too_large};
use tollgate_measure::Site;
use tollgate_measure::clock::Source;
use tollgate_record::{Host, Run};

pub(crate) fn ring(args: &Args) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    let (facts, site) = sampling.place()?;
    let cells = cells(args, &facts, site)?;
    let mut session = Session::open(&sampling.destination, facts, sampling.seed())?;
    let stop = session.stop_on_signal()?;
    let start = rings_worker(sampling.clock.source());
    let runner = CellRunner { watchdog_s: args.watchdog, ..runner(site, sampling, session.run.seed, &start) };
    for (done, cell) in cells.iter().enumerate() {
        let spec = &cell.specs()[0];
        let what = format!("ring of {}, {} bytes each", spec.procs, spec.bytes);
        session.progress(done as f64 / cells.len() as f64, what);
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

/// How cells are measured with these options.
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

/// What there is room for on this host.
pub(crate) fn room(facts: &Host) -> Option<Room> {
    Room::of(facts.memory_available_bytes.or(facts.memory_bytes), facts.cgroup.memory_max)
}

/// Every cell that was asked for; all of them are checked before the first is measured.
fn cells(args: &Args, facts: &Host, site: Site) -> anyhow::Result<Vec<Cell>> {
    let first = Spec {
        link: args.medium.into(),
        threads: args.tasks.threads(),
        procs: 2,
        bytes: 0,
        walk: args.walk.into(),
        pages: args.pages.into(),
        cpus: cpus(args.placement, facts, site)?,
        warm_us: 0,
        counters: false,
    };
    if first.pages == Pages::Huge && facts.transparent_huge_pages.as_deref().is_none_or(|it| it == "never") {
        return Err(Usage::error(
            "--pages huge needs transparent huge pages, which are off on this host; use --pages 4k, or have the \
             administrator write madvise to /sys/kernel/mm/transparent_hugepage/enabled",
        ));
    }
    let room = room(facts);
    let mut cells = Vec::new();
    for &procs in &args.procs {
        for bytes in args.sizes.of(procs, &facts.caches, room) {
            let spec = first.of(procs, bytes);
            if let Some(why) = room.and_then(|room| too_large(&spec, room)) {
                return Err(Usage::error(why));
            }
            cells.push(Cell::new(spec));
        }
    }
    Ok(cells)
}

/// The CPUs that the tasks take in turn.
fn cpus(placing: Placing, facts: &Host, site: Site) -> anyhow::Result<Vec<usize>> {
    let allowed = |cpu: &usize| facts.cpu.allowed.contains(cpu);
    let mut cpus = vec![site.cpu];
    let others: Vec<usize> = match placing {
        Placing::OneCpu => return Ok(cpus),
        Placing::Siblings => {
            let core = facts.cpu.cores.iter().find(|core| core.contains(&site.cpu));
            core.into_iter().flatten().copied().filter(allowed).collect()
        }
        Placing::Spread => facts.cpu.allowed.clone(),
    };
    cpus.extend(others.into_iter().filter(|&cpu| cpu != site.cpu));
    if cpus.len() < 2 {
        let (what, instead) = match placing {
            Placing::Siblings => ("two hardware threads of one core", "spread"),
            _ => ("two CPUs that may be used", "one-cpu"),
        };
        return Err(Usage::error(format!(
            "this placement needs {what}, and cpu {} has none beside it; use --placement {instead}",
            site.cpu
        )));
    }
    Ok(cpus)
}
