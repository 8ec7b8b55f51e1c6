//! The ladder: plan, measure, save, show.

use crate::cli::{self, ClockChoice, Sampling, Usage};
use crate::output::{self, Sink, say};
use crate::progress::Progress;
use anyhow::anyhow;
use clap::ValueEnum;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ops::ControlFlow;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tollgate_boundary::{PROBES, select};
use tollgate_measure::bench::Bench;
use tollgate_measure::clock::Source;
use tollgate_measure::noise::{SpanNoise, Watch};
use tollgate_measure::remote::Remote;
use tollgate_measure::sampler::{self, Event, Harvest, Outcome, Plan};
use tollgate_measure::{Meta, Placement, Probe, Site, host, noise, session, summary};
use tollgate_record::store;
use tollgate_record::{Host, Run, SCHEMA, Status, Store, StoreError, Tool, Warning, document, warning};

/// How often a run that is going on is saved.
const SAVE_EVERY: Duration = Duration::from_millis(700);

pub(crate) fn run(args: &Sampling, patterns: &[String]) -> anyhow::Result<ExitCode> {
    let wanted = select(patterns).map_err(Usage::error)?;
    let mut facts = host::here();
    let site = cli::site(&facts.cpu, args.cpu, args.peer_cpu)?;
    host::place("/".as_ref(), &mut facts, site.cpu, site.peer);
    let sink = Sink::open(&args.output)?;
    let seed = args.seed.unwrap_or_else(|| rand::random::<u32>().into());
    let mut run = new_record(facts, seed);
    let mut keeper = Keeper::open(args, &mut run)?;

    let metas: Vec<&Meta> = PROBES.iter().map(|probe| probe.meta()).collect();
    let plan = plan(args, seed);
    let source = args.clock.source();
    let stop = stop_flag()?;
    let before = run.warnings.clone();
    let setting = Setting::of(args, site, List::Ladder);
    measure(&metas, &wanted, &setting, &plan, &stop, &mut |harvest, spans| {
        run.warnings.clone_from(&before);
        record(&mut run, &metas, &wanted, harvest, source);
        run.warnings.extend(noise_warnings(spans, &metas, &wanted));
        keeper.save(&run);
    })?;
    keeper.finish(&mut run);

    let text =
        if sink.json() { document::to_json(&run)? } else { tollgate_report::ladder(&run, &sink.style()) };
    let delivered = sink.deliver(&text);
    // Where the run was saved is worth most when it could not be printed.
    let verdict = verdict(&run, &keeper, args);
    delivered.map(|()| verdict)
}

/// The record of a run that begins now.
pub(crate) fn new_record(host: Host, seed: u64) -> Run {
    let started = SystemTime::now();
    Run {
        schema: SCHEMA.into(),
        checksum: None,
        id: store::new_id(started),
        started: store::rfc3339(started),
        seed,
        tool: Tool { version: env!("CARGO_PKG_VERSION").into(), commit: env!("TOLLGATE_COMMIT").into() },
        command: std::env::args().skip(1).collect(),
        complete: false,
        interleaved_with: None,
        host,
        warnings: Vec::new(),
        results: Vec::new(),
    }
}

/// How long, how often, how exact.
pub(crate) struct Effort {
    epochs: u32,
    most_epochs: u32,
    seconds: f64,
    /// Half the relative width of an interval that is narrow enough to stop at.
    target: f64,
    singles_ns: u64,
}

impl Effort {
    pub(crate) fn new(epochs: u32, most_epochs: u32, seconds: f64, target: f64, singles_ns: u64) -> Self {
        Self { epochs, most_epochs, seconds, target, singles_ns }
    }
}

/// The ladder's.
pub(crate) fn plan(args: &Sampling, seed: u64) -> Plan {
    planned(
        args,
        seed,
        Effort::new(6, 6, 3.6, 0.0, 1_000_000),
        Effort::new(12, 20, 32.0, 0.005, 2_000_000),
        Effort::new(30, 40, 240.0, 0.002, 4_000_000),
    )
}

/// The plan of what the options ask for: quick, usual or thorough.
pub(crate) fn planned(args: &Sampling, seed: u64, quick: Effort, usual: Effort, thorough: Effort) -> Plan {
    let effort = match (args.quick, args.thorough) {
        (true, _) => quick,
        (_, true) => thorough,
        _ => usual,
    };
    Plan {
        seed,
        epochs: effort.epochs,
        most_epochs: effort.most_epochs,
        budget_ns: args.budget_ms.map_or((effort.seconds * 1e9) as u64, |ms| u64::from(ms) * 1_000_000),
        batch_ns: 300_000,
        target: effort.target,
        singles_ns: effort.singles_ns,
    }
}

/// Set by the first SIGINT, SIGTERM or SIGHUP; the second ends the program at once.
pub(crate) fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    const FIRST: &str = "tollgate: stopping after the batch in hand; a second signal ends it at once\n";
    const SECOND: &str = "tollgate: ended at once; 'tollgate show latest' has what was saved\n";
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let stop = Arc::clone(&stop);
        let act = move || {
            let again = stop.swap(true, Ordering::Relaxed);
            let text = if again { SECOND } else { FIRST };
            // SAFETY: the text is valid for its length.
            unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
            if again {
                signal_hook::low_level::exit(1);
            }
        };
        // SAFETY: it touches an atomic and calls write(2) and _exit(2), which a handler may do.
        unsafe { signal_hook::low_level::register(signal, act) }?;
    }
    Ok(stop)
}

/// How long a worker may be silent.
pub(crate) fn patience_ms(args: &Sampling) -> i32 {
    args.patience_ms.try_into().unwrap_or(i32::MAX)
}

/// Where and by what is measured.
pub(crate) struct Setting {
    site: Site,
    source: Source,
    /// A worker that is silent for so long is taken for hung.
    patience_ms: i32,
    list: List,
}

/// Which list the numbers of probes mean.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum List {
    /// The ladder's.
    Ladder,
    /// The crossings that are taken apart.
    Crossings,
    /// The kinds of fault.
    Faults,
}

impl List {
    /// The list.
    pub(crate) fn probes(self) -> &'static [&'static dyn Probe] {
        match self {
            Self::Ladder => tollgate_boundary::PROBES,
            Self::Crossings => tollgate_boundary::CROSSINGS,
            Self::Faults => tollgate_boundary::FAULT_KINDS,
        }
    }
}

impl Setting {
    pub(crate) fn of(args: &Sampling, site: Site, list: List) -> Self {
        Self { site, source: args.clock.source(), patience_ms: patience_ms(args), list }
    }

    pub(crate) fn worker(&self) -> Command {
        worker_of(self.site, self.source, self.list)
    }
}

/// The command that starts a worker with one of the lists.
pub(crate) fn worker_of(site: Site, source: Source, list: List) -> Command {
    let mut command = worker(site, source);
    if let Some(list) = list.to_possible_value() {
        command.args(["--list", list.get_name()]);
    }
    command
}

/// Runs the plan in worker processes; `keep` is called whenever there is something worth keeping.
pub(crate) fn measure(
    metas: &[&Meta],
    wanted: &[usize],
    setting: &Setting,
    plan: &Plan,
    stop: &AtomicBool,
    keep: &mut dyn FnMut(&Harvest, &[SpanNoise]),
) -> anyhow::Result<()> {
    let Setting { site, patience_ms, .. } = *setting;
    let mut bench = Remote::new(|| setting.worker(), patience_ms);
    measure_on(&mut bench, metas, refusals(metas, wanted, site), site, plan, stop, &|| {}, keep)
}

/// Why each probe is not even tried, where it is not.
pub(crate) fn refusals(metas: &[&Meta], wanted: &[usize], site: Site) -> Vec<Option<Outcome>> {
    (0..metas.len()).map(|probe| refusal(metas[probe], wanted.contains(&probe), site)).collect()
}

/// Runs the plan on a bench; `begins` is called when an epoch begins.
#[allow(
    clippy::too_many_arguments,
    reason = "each is used once, and a struct of them would be made for one call"
)]
pub(crate) fn measure_on(
    bench: &mut impl Bench,
    metas: &[&Meta],
    refused: Vec<Option<Outcome>>,
    site: Site,
    plan: &Plan,
    stop: &AtomicBool,
    begins: &dyn Fn(),
    keep: &mut dyn FnMut(&Harvest, &[SpanNoise]),
) -> anyhow::Result<()> {
    let progress = Progress::new();
    let mut saved = Instant::now();
    let watch = Watch::new(site.cpu, site.peer);
    let (mut mark, mut spans) = (None, Vec::new());
    let mut tell = |event: Event<'_>| {
        match event {
            Event::Sampling => mark = Some(watch.mark()),
            Event::Epoch(epoch, most) => {
                begins();
                progress.say(format!("epoch {} of at most {most}", epoch + 1));
            }
            Event::Warming(probe) => progress.say(format!("warming {}", metas[probe].id)),
            Event::Round(share, harvest) => {
                progress.share(share);
                if saved.elapsed() >= SAVE_EVERY {
                    keep(harvest, &spans);
                    saved = Instant::now();
                }
            }
            Event::Ended(harvest) => {
                spans.extend(mark.take().map(|mark| watch.span(&mark, &watch.mark())));
                keep(harvest, &spans);
            }
        }
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let harvest = sampler::run(bench, metas, refused, plan, &summary::relative_half_width, &mut tell);
    let harvest = harvest.map_err(|lost| anyhow!("nothing could be measured: {lost}"))?;
    keep(&harvest, &spans);
    Ok(())
}

/// Names the program that runs this one, where the system does not start it by itself: qemu-user, without an entry
/// in binfmt_misc. For tests on another architecture.
const EMULATOR: &str = "TOLLGATE_EMULATOR";

/// The command that starts a worker: this program again.
pub(crate) fn worker(site: Site, source: Source) -> Command {
    // The link names the running program even when its file has been replaced; without /proc the
    // name that it was called by must do.
    let link = std::path::Path::new("/proc/self/exe");
    let program = if link.exists() { link.into() } else { std::env::args_os().next().unwrap_or_default() };
    let mut command = match std::env::var_os(EMULATOR) {
        // To the emulator the link would name itself.
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.arg(std::fs::read_link(link).map_or(program, Into::into));
            command
        }
        None => Command::new(program),
    };
    command.arg("worker").arg("--parent").arg(std::process::id().to_string());
    command.arg("--cpu").arg(site.cpu.to_string()).arg("--clock").arg(ClockChoice::of(source));
    if let Some(peer) = site.peer {
        command.arg("--peer").arg(peer.to_string());
    }
    command
}

/// Why a probe is not even tried.
pub(crate) fn refusal(meta: &Meta, wanted: bool, site: Site) -> Option<Outcome> {
    if !wanted {
        return Some(Outcome::Failed(String::new()));
    }
    (meta.placement == Placement::Pair && site.peer.is_none()).then(|| Outcome::Skipped {
        reason: "it needs two CPUs and only one may be used".into(),
        enable: "give the process a second CPU (taskset, cpuset, the size of the machine)".into(),
    })
}

/// What else happened on the CPUs that were measured on.
pub(crate) fn noise_warnings(spans: &[SpanNoise], metas: &[&Meta], wanted: &[usize]) -> Vec<Warning> {
    let with_peer = wanted.iter().any(|&probe| metas[probe].placement == Placement::Pair);
    SpanNoise::total(spans).map_or_else(Vec::new, |span| noise::warnings(&span, with_peer))
}

/// The record of what was asked for so far.
pub(crate) fn record(run: &mut Run, metas: &[&Meta], wanted: &[usize], harvest: &Harvest, source: Source) {
    session::record(run, metas, harvest, source);
    let mut place = 0;
    run.results.retain(|_| {
        place += 1;
        wanted.contains(&(place - 1))
    });
}

/// Keeps the run's file up to date.
pub(crate) struct Keeper {
    store: Option<Store>,
    failure: Option<String>,
}

impl Keeper {
    /// The store that was asked for must be writable, and is tried before anything is measured. The
    /// usual one may be missing (a user without a home): the run then says that it was not saved.
    pub(crate) fn open(args: &Sampling, run: &mut Run) -> anyhow::Result<Self> {
        if args.no_save {
            return Ok(Self { store: None, failure: None });
        }
        let opened = output::store(&args.store).and_then(|store| match store {
            Some(store) => match store.check_writable() {
                Ok(()) => Ok(store),
                Err(full @ StoreError::Full { .. }) => Err(full.into()),
                Err(error) => Err(Usage::error(error)),
            },
            None => Err(anyhow!(
                "there is no home directory to save in; name a directory with --store DIR, or use --no-save"
            )),
        });
        match opened {
            Ok(store) => Ok(Self { store: Some(store), failure: None }),
            Err(error) if args.store.store.is_some() => Err(error),
            Err(error) => {
                run.warnings
                    .push(Warning::new(warning::NOT_SAVED, format!("the run was not saved: {error:#}")));
                Ok(Self { store: None, failure: None })
            }
        }
    }

    /// Saves the run as it stands. A failure does not stop the measuring: the disk may have room later.
    pub(crate) fn save(&mut self, run: &Run) {
        if let Some(store) = &self.store {
            self.failure = store.save(run).err().map(|error| error.to_string());
        }
    }

    /// Saves the finished run; what could not be saved is still printed, and says so.
    pub(crate) fn finish(&mut self, run: &mut Run) {
        self.save(run);
        if let Some(failure) = &self.failure {
            run.warnings.push(Warning::new(warning::NOT_SAVED, format!("the run was not saved: {failure}")));
        }
    }
}

/// The exit status, and on standard error where the run was saved.
pub(crate) fn verdict(run: &Run, keeper: &Keeper, args: &Sampling) -> ExitCode {
    let failed = run.results.iter().filter(|result| result.status == Status::Failed).count();
    for result in run.results.iter().filter(|result| result.status == Status::Failed) {
        let reason = result.reason.as_deref().unwrap_or("no reason given");
        say(format!("tollgate: {} failed: {reason}", result.probe));
    }
    if let Some(lost) = run.warnings.iter().find(|warning| warning.code == warning::WORKER_LOST) {
        say(format!("tollgate: {}", lost.text));
    } else if !run.complete {
        say("tollgate: interrupted; the table has what was measured until then");
    }
    match (&keeper.failure, &keeper.store) {
        (Some(failure), _) => say(format!("tollgate: {failure}")),
        (None, Some(_)) if !args.output.json => {
            say(format!("saved as {} (tollgate show {0})", run.id));
        }
        _ => {}
    }
    if failed == 0 && run.complete && keeper.failure.is_none() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
