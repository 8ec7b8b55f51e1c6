//! `tollgate riscv bill`: what system calls, faults and switches cost in a real kernel, and where.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_cores::Core;
use tollgate_lab::boot::KernelError;
use tollgate_lab::kernel::{
    BillError, HEADER, Kernel, KernelJob, Kind, Probe, Ready, Rules, crossing, known,
};
use tollgate_lab::source::Recipe;
use tollgate_measure::host;
use tollgate_record::Measurement;
use tollgate_record::parse::share;
use tollgate_riscv::ConfigError;
use tollgate_supervise::Stop;

use super::boot::{ISA, check_writable, save};
use super::options::{built, core, isa, program, read, trusted, within};
use crate::args::{Destination, Usage};
use crate::output::say;
use crate::session::Session;

/// `tollgate riscv bill`.
#[derive(Args)]
#[command(after_help = "Examples:\n  tollgate riscv bill --kernel Image\n  \
                        tollgate riscv bill --kernel Image --call getpid --core rocket\n  \
                        tollgate riscv bill --kernel Image --save image.snap --call all\n  \
                        tollgate riscv bill --from image.snap --call switch-process --core rocket\n  \
                        tollgate riscv bill --kernel Image --against-kernel Image.old\n  \
                        tollgate riscv bill --kernel Image --probe futex.c --core rocket\n  \
                        tollgate riscv bill --kernel xv6/kernel/kernel --drive xv6/fs.img --call all\n  \
                        tollgate riscv bill --kernel sel4/kernel.elf --call call-process --core rocket")]
pub(super) struct BillArgs {
    /// The kernel: Linux's Image, xv6's kernel/kernel with --drive, riscv-pk's pk, or seL4's kernel.elf
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    kernel: Option<PathBuf>,
    /// Compare with the same crossings of another kernel, its image
    #[arg(long, value_name = "OLD", conflicts_with = "save")]
    against_kernel: Option<PathBuf>,
    /// With --against-kernel, fail if a crossing costs more by this share, as 1%
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "against_kernel", allow_hyphen_values = true)]
    fail_above: Option<f64>,
    /// Continue a machine that --save saved, instead of booting
    #[arg(long, value_name = "SNAPSHOT", conflicts_with_all = ["kernel", "save"])]
    from: Option<PathBuf>,
    /// Save the machine as it is after the boot, for --from
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// The drive of xv6, fs.img, which is only read
    ///
    /// A program of this command replaces its /init in memory.
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    drive: Option<PathBuf>,
    /// The rules of phases: linux, xv6, riscv-pk, sel4, or a file that ends in .toml [default: the kernel's]
    #[arg(long, hide_short_help = true, value_name = "RULES")]
    rules: Option<PathBuf>,
    /// The crossings to bill, as getpid,tick, or all [default: getpid,read,write,openat; on seL4 all]
    ///
    /// The crossings are getpid, read, write, openat, fault-anonymous, fault-file, fault-copy, signal, switch-process,
    /// switch-thread, fork, exec, tick, and ipi with --harts 2. xv6 has no faults, signal, switch-thread, tick and ipi; riscv-pk
    /// has the calls, fault-anonymous and fault-file. seL4 has tick and its own: yield, call-process, reply-process, call-thread,
    /// reply-thread, call-slow, notify, fault, fault-reply and fault-page.
    #[arg(long = "call", value_name = "CROSSINGS", value_delimiter = ',')]
    calls: Vec<String>,
    /// Bill what a first process of your own marks: .c, .S, or a static program for Linux
    ///
    /// It includes crossing.h, and writes CROSSING_BEGINS(1) before and CROSSING_ENDS() behind what is billed, many times. Other
    /// numbers, up to 98, mark other kinds.
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["from", "save", "calls", "drive", "harts"])]
    probe: Option<PathBuf>,
    /// Count the cycles of this core, too: a preset, or a file that ends in .toml
    ///
    /// They are counted with warm caches and after eviction.
    #[arg(long, value_name = "CORE")]
    core: Option<String>,
    /// Harts, 1 to 8; the bill is that of the hart with the process
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "from")]
    harts: u64,
    /// The kernel's System.map, if the image contains no symbols
    #[arg(long, value_name = "FILE")]
    symbols: Option<PathBuf>,
    #[command(flatten)]
    destination: Destination,
}

/// Boots the kernel or continues, and bills the crossings.
pub(super) fn run(args: &BillArgs) -> Result<ExitCode> {
    let (kernel, core) = (args.kernel()?, args.core.as_deref().map(core).transpose()?);
    let old = args.against_kernel.as_deref().map(|path| BillArgs::old(path, &kernel)).transpose()?;
    let stop = Stop::on_signal()?;
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.progress.wait("booting the kernel");
    let mut unsaved = None;
    let mut before = session.twin().run;
    if let Some(old) = old {
        before.results =
            args.measure(old, core.clone(), args.against_kernel.as_deref(), &|| stop.is_set(), &mut |_| {})?;
    }
    let results = args.measure(kernel, core, None, &|| stop.is_set(), &mut |error| unsaved = Some(error));
    session.run.results = results?;
    if let Some(error) = unsaved {
        session.fail(error.to_string());
    }
    let Some(path) = args.against_kernel.as_deref().filter(|_| !stop.is_set()) else {
        return session.finish_unless(&stop);
    };
    let new = args.kernel.as_deref().or(args.from.as_deref()).unwrap_or(path);
    let files = [path, new].map(|path| path.display().to_string());
    let mut exceeded = false;
    let limit = args.fail_above;
    let done = session.finish_with(|run, sink| {
        let Some(found) = tollgate_judge::kernels(&before, run, files) else {
            return Err(Usage::error("--against-kernel: the kernels have no crossing in common"));
        };
        exceeded = limit.is_some_and(|limit| found.exceeds(limit));
        sink.deliver_either(&found, |style| tollgate_report::kernel_comparison(&found, style))
    })?;
    if exceeded {
        say("tollgate: a crossing costs more than --fail-above allows");
        return Ok(ExitCode::FAILURE);
    }
    Ok(done)
}

impl BillArgs {
    /// Checks the options, and reads the files; the image is the kernel or the snapshot.
    fn kernel(&self) -> Result<Kernel, Usage> {
        let exists = |name: &String| name == "all" && self.calls.len() == 1 || crossing(name).is_some();
        if let Some(name) = self.calls.iter().find(|name| !exists(name)) {
            let advice = format!("give some of {}, or all", names(known()));
            return Err(Usage::value("--call", name, advice));
        }
        within("--harts", self.harts, "a number", 1..=8)?;
        let map = self.symbols.as_deref().map(read).transpose()?;
        let image = match (&self.from, &self.kernel) {
            (Some(path), _) => trusted(path)?,
            (None, Some(path)) => program(path)?,
            (None, None) => return Err(Usage::new("give --kernel or --from")),
        };
        self.save.as_deref().map(check_writable).transpose()?;
        Ok(Kernel {
            image,
            map: map.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            drive: self.drive.as_deref().map(read).transpose()?,
            rules: self.rules.as_deref().map(rules).transpose()?,
            harts: self.harts as usize,
            probe: self.probe.as_deref().map(probe).transpose()?,
        })
    }

    /// The other kernel of --against-kernel, with all else the same; its symbols are in its image.
    fn old(path: &Path, new: &Kernel) -> Result<Kernel, Usage> {
        let Kernel { drive, rules, probe, .. } = new;
        let (drive, rules, probe) = (drive.clone(), rules.clone(), probe.clone());
        Ok(Kernel { image: program(path)?, map: None, drive, rules, probe, harts: new.harts })
    }

    /// Boots the kernel, or continues, and bills its crossings; `file` is that of --against-kernel. A machine that cannot be saved is
    /// reported to `unsaved`.
    fn measure(
        &self,
        kernel: Kernel,
        core: Option<Core>,
        file: Option<&Path>,
        interrupted: &dyn Fn() -> bool,
        unsaved: &mut dyn FnMut(Usage),
    ) -> Result<Vec<Measurement>, Usage> {
        let explain = |error: BillError| match (&error, &self.symbols) {
            (BillError::NoEntry(_) | BillError::NotAMap, Some(map)) => Usage::file(map, error),
            (BillError::NotXv6(_), _) => Usage::file(self.drive.as_deref().unwrap_or("".as_ref()), error),
            (BillError::Probe(_) | BillError::NoMarks | BillError::ProbeEnded(..), _) => {
                Usage::file(self.probe.as_deref().unwrap_or("".as_ref()), error)
            }
            (BillError::NoSuchCrossing(..) | BillError::OneHart(..), _) => Usage::option("--call", error),
            (
                BillError::Kernel(KernelError::Machine(ConfigError::NoMemory(_)))
                | BillError::Drive
                | BillError::Harts
                | BillError::ProbeOnLinux
                | BillError::NotSaved,
                _,
            ) => Usage::new(error.to_string()),
            _ => match file.or(self.from.as_deref()).or(self.kernel.as_deref()) {
                Some(path) => Usage::file(path, error),
                None => Usage::new(error.to_string()),
            },
        };
        let mut ready = match self.from.as_ref().filter(|_| file.is_none()) {
            Some(_) => Ready::restore(&kernel.image, kernel.map.as_deref(), kernel.rules),
            None => match Ready::boot(kernel, isa(ISA)?, interrupted) {
                // There is nothing to save or to measure.
                Err(BillError::Interrupted) => return Ok(Vec::new()),
                ready => ready,
            },
        }
        .map_err(explain)?;
        let crossings = chosen(&self.calls, ready.crossings(), ready.harts()).map_err(explain)?;
        if let Some(path) = self.save.as_ref().filter(|_| file.is_none())
            && let Err(error) = save(path, &ready.save().map_err(explain)?)
        {
            unsaved(error);
        }
        ready.measure(&KernelJob { crossings, core }, interrupted).map_err(explain)
    }
}

/// The crossings of these names, among those that a kernel has; all are those for which the harts suffice.
fn chosen(calls: &[String], all: &'static [Kind], harts: usize) -> Result<Vec<&'static Kind>, BillError> {
    let named = |name: &String| {
        let found = all.iter().find(|kind| kind.name == name);
        found.ok_or_else(|| BillError::NoSuchCrossing(name.clone(), names(all)))
    };
    match calls {
        [] => {
            let calls: Vec<_> = all.iter().filter(|kind| kind.call.is_some()).collect();
            Ok(if calls.is_empty() { all.iter().collect() } else { calls })
        }
        [name] if name == "all" => Ok(all.iter().filter(|kind| kind.harts <= harts).collect()),
        calls => calls.iter().map(named).collect(),
    }
}

fn names<'a>(kinds: impl IntoIterator<Item = &'a Kind>) -> String {
    kinds.into_iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// A first process, linked or built from a source; its crossings are named after the file.
fn probe(path: &Path) -> Result<Probe, Usage> {
    let recipe = Recipe { headers: &[HEADER], ..Recipe::new("rv64gc", isa("rv64gc")?).for_linux() };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(Probe { name, program: built(path, &recipe)?.elf })
}

/// Rules of a name, or of a file.
fn rules(path: &Path) -> Result<Rules, Usage> {
    if let Some(rules) = path.to_str().and_then(Rules::of) {
        return Ok(rules);
    }
    if path.extension().is_none_or(|end| end != "toml") {
        let advice = format!("give {}, or a file that ends in .toml", Rules::NAMES.join(", "));
        return Err(Usage::value("--rules", path.display(), advice));
    }
    let text = String::from_utf8(trusted(path)?).map_err(|error| Usage::file(path, error))?;
    Rules::parse(&text).map_err(|error| Usage::file(path, error.to_string().trim_end().replace('\n', " ")))
}
