//! Which calls of which kernel are billed.

use std::path::PathBuf;

use tollgate_record::Measurement;

use super::boot::{ISA, regular};
use super::options::{PlanError, core, isa};
use crate::boot::KernelError;
use crate::kernel::{self, BillError, CALLS, KernelJob};

/// A kernel and its calls.
#[derive(clap::Args, Clone, Debug)]
pub struct BillRequest {
    /// The kernel: Linux's Image
    #[arg(long, value_name = "FILE")]
    pub kernel: PathBuf,
    /// The calls, as getpid,openat [default: getpid,read,write,openat]
    #[arg(long = "call", value_name = "CALLS", value_delimiter = ',')]
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
}

impl BillPlan {
    /// Reads the files.
    ///
    /// # Errors
    /// The option or file that is wrong, and what to do.
    pub fn new(request: &BillRequest) -> Result<Self, PlanError> {
        let number = |name: &String| {
            let known = CALLS.iter().find(|(known, _)| known == name).map(|&(_, number)| number);
            let names = CALLS.map(|(name, _)| name).join(", ");
            known.ok_or_else(|| PlanError::value("--call", name, format_args!("give some of {names}")))
        };
        let calls = match &request.calls[..] {
            [] => CALLS.iter().map(|&(_, number)| number).collect(),
            names => names.iter().map(number).collect::<Result<_, _>>()?,
        };
        let map = request.symbols.as_deref().map(regular).transpose()?;
        let job = KernelJob {
            kernel: regular(&request.kernel)?,
            map: map.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            calls,
            core: request.core.as_deref().map(core).transpose()?,
            isa: isa(ISA)?,
        };
        Ok(Self { request: request.clone(), job })
    }

    /// Boots the kernel and bills its calls.
    ///
    /// # Errors
    /// The file that is wrong, or what the kernel did.
    pub fn measure(&self) -> Result<Vec<Measurement>, PlanError> {
        kernel::measure(&self.job).map_err(|error| match (&error, &self.request.symbols) {
            (BillError::NoEntry(_) | BillError::NotAMap, Some(map)) => PlanError::file(map, error),
            (BillError::Kernel(KernelError::NoMemory(_)), _) => PlanError::conflict(error.to_string()),
            _ => PlanError::file(&self.request.kernel, error),
        })
    }
}
