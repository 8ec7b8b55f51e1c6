//! `tollgate run --against`: two programs, or two settings, in one session, epoch by epoch in turn.

use crate::cli::{self, RunArgs, Usage};
use crate::output::Sink;
use crate::run;
use crate::sampled::{List, Sampled};
use crate::session::Session;
use anyhow::anyhow;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use tollgate_boundary::{PROBES, select};
use tollgate_measure::Meta;
use tollgate_measure::bench::{Bench, Lost, PROTOCOL, Reply, Request};
use tollgate_measure::remote::Remote;
use tollgate_measure::samples::ProbeState;
use tollgate_measure::turns::{AlternatingBench, Alternation, PausableBench};
use tollgate_record::Tool;

/// What the measured side is held against.
#[derive(clap::Args)]
pub(crate) struct Baseline {
    /// Measure this tollgate, too, turn by turn, and compare with it
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Measure, too, with the workers started through this command, and compare with that
    #[arg(long, value_name = "COMMAND")]
    against_with: Option<String>,
}

impl Baseline {
    /// Whether there is one.
    pub(crate) fn is_asked(&self) -> bool {
        self.against.is_some() || self.against_with.is_some()
    }
}

/// What a program says of itself: `tollgate protocol`.
#[derive(Serialize, Deserialize)]
struct Protocol {
    protocol: u32,
    version: String,
    commit: String,
    probes: Vec<Known>,
}

/// A probe as far as the sampler must know it.
#[derive(Serialize, Deserialize, PartialEq)]
struct Known {
    id: String,
    per: tollgate_record::Per,
    crossings_per_pass: u32,
    proof: Vec<String>,
}

impl Known {
    fn of(meta: &Meta) -> Self {
        Self {
            id: meta.id.into(),
            per: meta.per,
            crossings_per_pass: meta.crossings_per_pass,
            proof: meta.proof.iter().map(|claim| claim.key.into()).collect(),
        }
    }
}

/// `tollgate protocol`: what another tollgate asks before it gives this one's worker a request.
pub(crate) fn protocol() -> anyhow::Result<ExitCode> {
    let told = Protocol {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        commit: env!("TOLLGATE_COMMIT").into(),
        probes: PROBES.iter().map(|probe| Known::of(probe.meta())).collect(),
    };
    let text = serde_json::to_string(&told)? + "\n";
    Sink::open(&cli::Output { json: true, out: None })?.deliver(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The other side's worker.
struct Other {
    /// The program and what stands before it.
    words: Vec<String>,
    tool: Tool,
    /// The place of each of our probes in its list.
    places: Vec<Option<usize>>,
}

impl Other {
    /// Asks the program what it is.
    fn of(baseline: &Baseline, metas: &[&Meta]) -> anyhow::Result<Self> {
        let before = baseline.against_with.as_deref().unwrap_or_default();
        let mut words: Vec<String> = before.split_whitespace().map(str::to_owned).collect();
        if baseline.against_with.is_some() && words.is_empty() {
            return Err(Usage::error(
                "--against-with needs a command, for example --against-with 'setarch -R'",
            ));
        }
        let program = match &baseline.against {
            Some(path) if path.is_file() => path.canonicalize().unwrap_or_else(|_| path.clone()),
            Some(path) => {
                return Err(Usage::error(format!("--against: there is no program at {}", path.display())));
            }
            None => std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe")),
        };
        words.push(program.to_string_lossy().into_owned());
        let told = ask(&words).map_err(|why| {
            let option = if baseline.against.is_some() { "--against" } else { "--against-with" };
            Usage::error(format!("{option}: `{}` {why}", words.join(" ")))
        })?;
        let ours: Vec<Known> = metas.iter().map(|meta| Known::of(meta)).collect();
        let places = ours.iter().map(|ours| told.probes.iter().position(|theirs| theirs == ours)).collect();
        Ok(Self { words, tool: Tool { version: told.version, commit: told.commit }, places })
    }

    fn worker(&self, sampled: &Sampled) -> Command {
        // What the running program would start, started by the other words.
        let ours = sampled.worker();
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(ours.get_args());
        command
    }
}

/// What the program says of itself, or why it cannot be held against.
fn ask(words: &[String]) -> Result<Protocol, String> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("protocol").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("cannot be started: {error}"))?;
    let told: Protocol = serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().map(|line| format!(" (it says: {line})")).unwrap_or_default();
        format!("is no tollgate that can take turns{said}; build one that knows 'tollgate run --against'")
    })?;
    if told.protocol != PROTOCOL {
        return Err(format!(
            "speaks version {} of the worker's protocol and this tollgate speaks {PROTOCOL}; build both from versions \
             that speak the same, or measure one after the other and use tollgate compare",
            told.protocol
        ));
    }
    Ok(told)
}

/// A bench whose probes have other numbers.
struct Renumbered<'o, B> {
    bench: B,
    places: &'o [Option<usize>],
}

impl<B: Bench> Bench for Renumbered<'_, B> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        let mut request = request.clone();
        if let Request::Open { probe }
        | Request::Close { probe }
        | Request::Visit { probe, .. }
        | Request::Singles { probe, .. }
        | Request::Dissect { probe, .. } = &mut request
        {
            match self.places.get(*probe).copied().flatten() {
                Some(place) => *probe = place,
                None => return Ok(Reply::Failed { reason: "the other program has no such probe".into() }),
            }
        }
        self.bench.ask(&request)
    }

    fn restart(&mut self) -> Result<(), Lost> {
        self.bench.restart()
    }

    fn elapsed_ns(&self) -> u64 {
        self.bench.elapsed_ns()
    }
}

impl<B: PausableBench> PausableBench for Renumbered<'_, B> {
    fn pause(&mut self) {
        self.bench.pause();
    }
}

/// Measures both, saves both, and prints the comparison.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    let wanted = select(&args.patterns).map_err(Usage::error)?;
    let metas = List::Ladder.metas();
    let other = Other::of(&args.baseline, &metas)?;
    let (host, site) = sampling.place()?;
    let mut ours = Session::open(&sampling.destination, host, sampling.seed())?;
    let mut theirs = ours.twin();
    // Each run says with which it took turns, and which program it measured with.
    theirs.run.interleaved_with = Some(ours.run.id.clone());
    ours.run.interleaved_with = Some(theirs.run.id.clone());
    theirs.run.tool = other.tool.clone();
    let plan = run::plan(sampling, ours.run.seed);
    let sampled = Sampled::new(List::Ladder, wanted, site, sampling, plan);
    let turns = Alternation::default();
    let side = |me: usize, session: &mut Session<'_>| {
        let begins = AtomicBool::new(false);
        let own: Vec<Option<usize>> = (0..metas.len()).map(Some).collect();
        let places = if me == 0 { &other.places } else { &own };
        let worker = || if me == 0 { other.worker(&sampled) } else { sampled.worker() };
        let mut bench = Remote::new(worker, sampled.patience_ms);
        if me == 0 && args.baseline.against.is_some() {
            // The worker of an older tollgate ends unless this process is its parent.
            bench = bench.unguarded();
        }
        let bench = Renumbered { bench, places };
        let mut bench = AlternatingBench::new(bench, &turns, me, &begins);
        let mut states = sampled.states();
        for (state, place) in states.iter_mut().zip(places) {
            if place.is_none() && *state == ProbeState::Active {
                *state = missing();
            }
        }
        let begin = || begins.store(true, Ordering::Relaxed);
        sampled.measure_on(&mut bench, states, session, &begin, &mut |_, _| {})
    };
    let (done_theirs, done_ours) = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| side(0, &mut theirs));
        let ours = side(1, &mut ours);
        (theirs.join().unwrap_or_else(|_| Err(anyhow!("the thread of the other side panicked"))), ours)
    });
    done_theirs.map_err(|error| error.context("the other side"))?;
    done_ours?;
    ours.finish_with(|b, sink| {
        theirs.finish_with(|a, _| args.judging.show(std::slice::from_ref(a), std::slice::from_ref(b), sink))
    })
}

fn missing() -> ProbeState {
    ProbeState::Skipped {
        reason: "the other program has no such probe, or measures it in another way".into(),
        enable: "build the other program from a version that has it".into(),
    }
}
