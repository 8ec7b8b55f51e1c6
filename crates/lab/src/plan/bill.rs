//! Which crossings of which kernel are billed.

use std::path::{Path, PathBuf};

use tollgate_cores::Core;
use tollgate_record::Measurement;

use super::boot::{ISA, check_writable, save};
use super::options::{PlanError, core, isa, program, read, trusted, within};
use crate::boot::KernelError;
use crate::kernel::{BillError, CROSSINGS, Kernel, KernelJob, Kind, Ready, Rules, crossing};

/// A kernel and what is crossed.
#[derive(clap::Args, Clone, Debug)]
pub struct BillRequest {
    /// The kernel: Linux's Image, xv6's kernel/kernel with --drive, or riscv-pk's pk
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    pub kernel: Option<PathBuf>,
    /// Continue a machine that --save saved, instead of booting
    #[arg(long, value_name = "SNAPSHOT", conflicts_with_all = ["kernel", "save"])]
    pub from: Option<PathBuf>,
    /// Save the machine as it is after the boot, for --from
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// The drive of xv6, fs.img; it is only read, and a program of the command takes the place of its /init
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub drive: Option<PathBuf>,
    /// Whose instructions belong to which phase: linux, xv6, riscv-pk, or a file of rules that ends in .toml [default: the kernel's]
    #[arg(long, value_name = "RULES")]
    pub rules: Option<PathBuf>,
    /// What is crossed, as getpid,switch-process; all; or of getpid, read, write, openat, fault-anonymous, fault-file,
    /// fault-copy, signal, switch-process, switch-thread, fork, exec, tick, and ipi with --harts 2 (xv6 has no faults, signal,
    /// switch-thread, tick and ipi; riscv-pk has the calls, fault-anonymous and fault-file) [default: getpid,read,write,openat]
    #[arg(long = "call", value_name = "CROSSINGS", value_delimiter = ',')]
    pub calls: Vec<String>,
    /// Count cycles on this core as well, with warm caches and after eviction: a preset, or a file that ends in .toml
    #[arg(long, value_name = "CORE")]
    pub core: Option<String>,
    /// How many harts, 1 to 8; the bill is of the one with the process
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "from")]
    pub harts: u64,
    /// The kernel's System.map, if the image contains no symbols
    #[arg(long, value_name = "FILE")]
    pub symbols: Option<PathBuf>,
}

/// A request that was checked.
pub struct BillPlan {
    request: BillRequest,
    core: Option<Core>,
    /// The contents of the files; the image is the kernel or the snapshot.
    kernel: Kernel,
}

impl BillPlan {
    /// Reads the files.
    ///
    /// # Errors
    /// The option or file that is wrong, and what to do.
    pub fn new(request: &BillRequest) -> Result<Self, PlanError> {
        let known = |name: &String| name == "all" && request.calls.len() == 1 || crossing(name).is_some();
        if let Some(name) = request.calls.iter().find(|name| !known(name)) {
            let advice = format!("give some of {}, or all", names(&CROSSINGS));
            return Err(PlanError::value("--call", name, advice));
        }
        within("--harts", request.harts, "a number", 1..=8)?;
        let core = request.core.as_deref().map(core).transpose()?;
        let map = request.symbols.as_deref().map(read).transpose()?;
        let map = map.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let drive = request.drive.as_deref().map(read).transpose()?;
        let rules = request.rules.as_deref().map(rules).transpose()?;
        let harts = request.harts as usize;
        let image = match (&request.from, &request.kernel) {
            (Some(path), _) => trusted(path)?,
            (None, Some(path)) => program(path)?,
            (None, None) => return Err(PlanError::conflict("give --kernel or --from")),
        };
        request.save.as_deref().map(check_writable).transpose()?;
        Ok(Self { request: request.clone(), core, kernel: Kernel { image, map, drive, rules, harts } })
    }

    /// Boots the kernel, or continues, and bills its crossings; a machine that cannot be saved is reported to `unsaved`.
    ///
    /// # Errors
    /// The file that is wrong, or what the kernel did.
    pub fn measure(
        self,
        interrupted: &dyn Fn() -> bool,
        unsaved: &mut dyn FnMut(PlanError),
    ) -> Result<Vec<Measurement>, PlanError> {
        let Self { request, core, kernel } = self;
        let explain = |error: BillError| match (&error, &request.symbols) {
            (BillError::NoEntry(_) | BillError::NotAMap, Some(map)) => PlanError::file(map, error),
            (BillError::NotXv6(_), _) => {
                PlanError::file(request.drive.as_deref().unwrap_or("".as_ref()), error)
            }
            (BillError::NoSuchCrossing(..) | BillError::OneHart(..), _) => PlanError::option("--call", error),
            (
                BillError::Kernel(KernelError::NoMemory(_))
                | BillError::Drive
                | BillError::Harts
                | BillError::NotSaved,
                _,
            ) => PlanError::conflict(error.to_string()),
            _ => match request.from.as_ref().or(request.kernel.as_ref()) {
                Some(path) => PlanError::file(path, error),
                None => PlanError::conflict(error.to_string()),
            },
        };
        let mut ready = match &request.from {
            Some(_) => Ready::restore(&kernel.image, kernel.map.as_deref(), kernel.rules),
            None => match Ready::boot(kernel, isa(ISA)?, interrupted) {
                // There is nothing to save or to measure.
                Err(BillError::Interrupted) => return Ok(Vec::new()),
                ready => ready,
            },
        }
        .map_err(explain)?;
        let crossings = chosen(&request.calls, ready.crossings(), ready.harts()).map_err(explain)?;
        if let Some(path) = &request.save
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
        [] => Ok(all.iter().filter(|kind| kind.call.is_some()).collect()),
        [name] if name == "all" => Ok(all.iter().filter(|kind| kind.harts <= harts).collect()),
        calls => calls.iter().map(named).collect(),
    }
}

fn names(kinds: &[Kind]) -> String {
    kinds.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// Rules of a name, or of a file.
fn rules(path: &Path) -> Result<Rules, PlanError> {
    if let Some(rules) = path.to_str().and_then(Rules::of) {
        return Ok(rules);
    }
    if path.extension().is_none_or(|end| end != "toml") {
        let advice = format!("give {}, or a file that ends in .toml", Rules::NAMES.join(", "));
        return Err(PlanError::value("--rules", path.display(), advice));
    }
    let text = String::from_utf8(trusted(path)?).map_err(|error| PlanError::file(path, error))?;
    Rules::parse(&text)
        .map_err(|error| PlanError::file(path, error.to_string().trim_end().replace('\n', " ")))
}
