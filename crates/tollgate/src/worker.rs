//! Worker processes: the command that starts one, and the hidden subcommand that runs in it.

use crate::args::ClockChoice;
use clap::ValueEnum;
use std::path::Path;
use std::process::{Command, ExitCode};
use tollgate_boundary::ring::{RingProbe, Spec, threads_beside};
use tollgate_measure::clock::Source;
use tollgate_measure::other::fix_addresses;
use tollgate_measure::placement::on_stack;
use tollgate_measure::{Meta, Probe, Site, worker};

/// Names the program that runs this one, where the system does not start it by itself: qemu-user, without an entry
/// in binfmt_misc. For tests on another architecture.
const EMULATOR: &str = "TOLLGATE_EMULATOR";

/// The list to which the numbers of probes refer.
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
    pub(crate) fn probes(self) -> &'static [&'static dyn Probe] {
        match self {
            Self::Ladder => tollgate_boundary::PROBES,
            Self::Crossings => tollgate_boundary::CROSSINGS,
            Self::Faults => tollgate_boundary::FAULT_KINDS,
        }
    }

    pub(crate) fn metas(self) -> Vec<&'static Meta> {
        self.probes().iter().map(|probe| probe.meta()).collect()
    }
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Process that started this one
    #[arg(long)]
    parent: u32,
    /// The measured CPU
    #[arg(long)]
    cpu: usize,
    /// The CPU of the other side
    #[arg(long)]
    peer: Option<usize>,
    /// The clock that times the batches
    #[arg(long, value_enum)]
    clock: ClockChoice,
    /// Rings to measure instead of the listed probes, as JSON
    #[arg(long)]
    rings: Option<String>,
    /// Bytes by which the stack begins below the end of a page [default: where the system puts it]
    #[arg(long)]
    stack: Option<usize>,
    /// The list to which the numbers of probes refer
    #[arg(long, value_enum, conflicts_with = "rings", default_value_t = List::Ladder)]
    list: List,
}

/// The command that starts a worker: this program again.
pub(crate) fn command(site: Site, source: Source) -> Command {
    // The link names the running program even when its file has been replaced; without /proc the
    // name that it was called by must do.
    let link = Path::new("/proc/self/exe");
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

/// The command that starts a worker with one of the lists.
pub(crate) fn of_list(site: Site, source: Source, list: List) -> Command {
    let mut command = command(site, source);
    if let Some(list) = list.to_possible_value() {
        command.args(["--list", list.get_name()]);
    }
    command
}

/// Gives a worker the addresses of every other one that is the `number`th of its side: no randomization by the system, and a
/// stack that does not depend on arguments and environment. Where in a page it begins differs from number to number, evenly.
pub(crate) fn place(command: &mut Command, seed: u64, number: u64) {
    fix_addresses(command);
    // Multiples of the golden ratio, modulo 1, are spread evenly however many there are; 12 bits of it are left.
    let below = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> (64 - 12);
    command.args(["--stack", &below.to_string()]);
}

/// `tollgate worker`: answers the requests of the process that started it.
pub(crate) fn worker(args: &Args) -> anyhow::Result<ExitCode> {
    let rings: Vec<Spec> = args.rings.as_deref().map(serde_json::from_str).transpose()?.unwrap_or_default();
    let threads = threads_beside(&rings);
    let rings: Vec<RingProbe> = rings.into_iter().map(RingProbe::new).collect();
    let probes: Vec<&dyn Probe> = match &args.rings {
        Some(_) => rings.iter().map(|ring| ring as &dyn Probe).collect(),
        None => args.list.probes().iter().map(|probe| *probe as &dyn Probe).collect(),
    };
    let site = Site { cpu: args.cpu, peer: args.peer };
    let serve = || worker::serve(&probes, site, args.clock.source(), threads, args.parent);
    match args.stack {
        Some(below) => on_stack(below, serve)??,
        None => serve()?,
    }
    Ok(ExitCode::SUCCESS)
}
