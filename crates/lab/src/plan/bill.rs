//! Which crossings of which kernel are billed.

use std::path::PathBuf;

use tollgate_record::Measurement;

use super::boot::{ISA, regular, save};
use super::options::{PlanError, core, isa, read};
use crate::boot::KernelError;
use crate::kernel::{BillError, CROSSINGS, KernelJob, Kind, Ready, crossing};

/// A kernel and what is crossed.
#[derive(clap::Args, Clone, Debug)]
pub struct BillRequest {
    /// The kernel: Linux's Image
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    pub kernel: Option<PathBuf>,
    /// Continue a machine that --save saved, instead of booting
    #[arg(long, value_name = "SNAPSHOT", conflicts_with_all = ["kernel", "save"])]
    pub from: Option<PathBuf>,
    /// Save the machine as it is after the boot, for --from
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// What is crossed, as getpid,switch-process; all; or of getpid, read, write, openat, fault-anonymous, fault-file,
    /// fault-copy, signal, switch-process, switch-thread, fork, exec, tick [default: getpid,read,write,openat]
    #[arg(long = "call", value_name = "CROSSINGS", value_delimiter = ',')]
    pub calls: Vec<String>,
    /// Count cycles on this core as well, with warm caches and after eviction: a preset, or a file that ends in .toml
    #[arg(long, value_name = "CORE")]
    pub core: Option<String>,
    /// The kernel's System.map, if the image contains no symbols
    #[arg(long, value_name = "FILE")]
    pub symbols: Option<PathBuf>,
}

/// A request that was checked.
pub struct BillPlan {
    request: BillRequest,
    job: KernelJob,
    /// The contents of the kernel or snapshot, and of the map.
    start: Vec<u8>,
    map: Option<String>,
}

impl BillPlan {
    /// Reads the files.
    ///
    /// # Errors
    /// The option or file that is wrong, and what to do.
    pub fn new(request: &BillRequest) -> Result<Self, PlanError> {
        let named = |name: &String| {
            let names = CROSSINGS.each_ref().map(|kind| kind.name).join(", ");
            let advice = format_args!("give some of {names}, or all");
            crossing(name).ok_or_else(|| PlanError::value("--call", name, advice))
        };
        let crossings: Vec<&Kind> = match &request.calls[..] {
            [] => CROSSINGS.iter().filter(|kind| kind.call.is_some()).collect(),
            [all] if all == "all" => CROSSINGS.iter().collect(),
            names => names.iter().map(named).collect::<Result<_, _>>()?,
        };
        let core = request.core.as_deref().map(core).transpose()?;
        let map = request.symbols.as_deref().map(regular).transpose()?;
        let map = map.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let start = match (&request.from, &request.kernel) {
            (Some(path), _) => read(path)?,
            (None, Some(path)) => regular(path)?,
            (None, None) => return Err(PlanError::conflict("give --kernel or --from")),
        };
        Ok(Self { request: request.clone(), job: KernelJob { crossings, core }, start, map })
    }

    /// Boots the kernel, or continues, and bills its crossings.
    ///
    /// # Errors
    /// The file that is wrong, or what the kernel did.
    pub fn measure(self) -> Result<Vec<Measurement>, PlanError> {
        let Self { request, job, start, map } = self;
        let explain = |error: BillError| match (&error, &request.symbols) {
            (BillError::NoEntry(_) | BillError::NotAMap, Some(map)) => PlanError::file(map, error),
            (BillError::Kernel(KernelError::NoMemory(_)), _) => PlanError::conflict(error.to_string()),
            _ => match request.from.as_ref().or(request.kernel.as_ref()) {
                Some(path) => PlanError::file(path, error),
                None => PlanError::conflict(error.to_string()),
            },
        };
        let mut ready = match &request.from {
            Some(_) => Ready::restore(&start, map.as_deref()),
            None => Ready::boot(start, map.as_deref(), isa(ISA)?),
        }
        .map_err(explain)?;
        if let Some(path) = &request.save {
            save(path, &ready.save().map_err(explain)?)?;
        }
        ready.measure(&job).map_err(explain)
    }
}
