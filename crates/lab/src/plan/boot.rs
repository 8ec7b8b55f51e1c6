//! How a kernel is booted.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use tollgate_record::family::ProgramAsked;
use tollgate_record::file;
use tollgate_riscv::{BootError, ConfigError, Firmware, Machine, Privilege, SnapshotError, Storage};

use super::options::{PlanError, check_budget, core, isa, one_of, program, read, trusted, within};
use super::program::{MODES, number};
use crate::boot::{self, BootEnding, BootJob, BootOutcome, Input, KernelError, Until};
use crate::status::FAILED;
use crate::system::{self, Program, Watch};
use crate::tier::Tier;
use crate::trace::{Filter, Trace, Tracer};

/// A kernel and its machine.
#[derive(clap::Args, Clone, Debug)]
pub struct BootRequest {
    /// The kernel: Linux's Image, a vmlinux, or another ELF
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    pub kernel: Option<PathBuf>,
    /// Continue a machine that --save-at saved; --drive is then the file that it had
    #[arg(
        long,
        value_name = "SNAPSHOT",
        conflicts_with_all = ["kernel", "initrd", "bios", "append", "isa", "harts"]
    )]
    pub from: Option<PathBuf>,
    /// Save the machine and stop: at a time (1500ms), after a number of instructions, at an address (0x80200000), at a symbol
    /// of an ELF kernel, or when the console shows the text POINT
    #[arg(long, num_args = 2, value_names = ["POINT", "FILE"])]
    pub save_at: Vec<String>,
    /// The initial RAM disk
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,
    /// A virtio drive; what the kernel writes to it stays in memory, the file is only read
    #[arg(long, value_name = "FILE")]
    pub drive: Option<PathBuf>,
    /// A virtio network device: what is sent is lost, and nothing comes
    #[arg(long, conflicts_with = "from")]
    pub network: bool,
    /// The firmware: sbi (built in), none, or a file [default: none if the kernel is where firmware would be, else sbi]
    #[arg(long, value_name = "FIRMWARE")]
    pub bios: Option<PathBuf>,
    /// The kernel's command line
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    pub append: String,
    /// The machine's instructions
    #[arg(long, default_value = ISA, value_name = "ISA")]
    pub isa: String,
    /// How many harts, 1 to 8; they take turns of 10,000 instructions
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub harts: u64,
    /// RAM in MiB [default: 512]; with --from the most RAM that the saved machine may have [default: 2048]
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u64>,
    /// Print and save a profile afterwards: where the instructions of the whole system went, by function
    #[arg(long)]
    pub profile: bool,
    /// Count cycles on this core as well: a preset, or a file that ends in .toml. Print and save the profile with cycles by
    /// function, cause and caller
    #[arg(long, value_name = "CORE")]
    pub core: Option<String>,
    /// Functions that are printed; the record has all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: u64,
    /// The kernel's symbols for the profile: a System.map, an ELF or an image that contains them [default: the kernel]
    #[arg(long, value_name = "FILE")]
    pub symbols: Option<PathBuf>,
    /// A program that runs on the kernel, for its functions in the profile: a static ELF with symbols. Again for more
    #[arg(long, value_name = "ELF")]
    pub user: Vec<PathBuf>,
    /// Write every instruction to standard error
    #[arg(long, value_parser = one_of(Trace::NAMES), value_name = "KIND", conflicts_with_all = ["profile", "core"])]
    pub trace: Option<Trace>,
    /// Trace only what happens in these modes: u, s, m, as u,s
    #[arg(long, value_parser = one_of(MODES), value_name = "MODES", value_delimiter = ',', requires = "trace")]
    pub trace_mode: Vec<Privilege>,
    /// Trace only this address space: its identifier, or the whole value of satp
    #[arg(long, value_parser = number, value_name = "SPACE", requires = "trace")]
    pub trace_space: Option<u64>,
    /// Write traps, interrupts and switches of address spaces over time to this file, as a Chrome trace
    #[arg(long, value_name = "FILE", conflicts_with_all = ["profile", "core", "trace"])]
    pub timeline: Option<PathBuf>,
    /// Stop a kernel that has not ended after so many instructions
    #[arg(long, default_value_t = 100_000_000_000, value_name = "N")]
    pub max_instructions: u64,
    /// How instructions are executed; what the kernel does is the same
    #[arg(long, value_parser = one_of(Tier::NAMES), default_value = "auto", value_name = "TIER")]
    pub tier: Tier,
}

/// The instructions of QEMU's `virt`, as far as they are here.
pub(super) const ISA: &str = "rv64gc_zba_zbb_zbs_zicbom_zicboz_sstc_svinval_svpbmt";

/// RAM in MiB of a machine that is booted, and the most that a snapshot may take without being allowed to.
const MEMORY: u64 = 512;
const MOST_MEMORY: u64 = 2048;

impl BootRequest {
    /// Reads the files and prepares the machine.
    ///
    /// # Errors
    /// The option or file that is wrong, and what to do.
    pub fn prepare(&self) -> Result<Machine, PlanError> {
        let mut machine = self.machine()?;
        self.tier.prepare(&mut machine).map_err(|error| PlanError::option("--tier", error))?;
        Ok(machine)
    }

    /// The machine, booted or continued.
    fn machine(&self) -> Result<Machine, PlanError> {
        check_budget(self.max_instructions)?;
        within("--harts", self.harts, "a number", 1..=8)?;
        let memory = self.memory();
        within("--memory", memory, "MiB", 1..=65536)?;
        let drive = self.drive.as_deref().map(open_drive).transpose()?;
        let kernel = match (&self.from, &self.kernel) {
            (Some(path), _) => {
                let restored = Machine::restore_within(memory << 20, &trusted(path)?, drive);
                return restored.map_err(|error| self.explain(&error.into()));
            }
            (None, Some(path)) => program(path)?,
            (None, None) => return Err(PlanError::conflict("give --kernel or --from")),
        };
        let firmware = match self.bios.as_deref() {
            None => None,
            Some(path) if path == Path::new("sbi") => Some(Firmware::BuiltIn),
            Some(path) if path == Path::new("none") => Some(Firmware::Nothing),
            Some(path) => Some(Firmware::File(read(path)?)),
        };
        let job = BootJob {
            isa: isa(&self.isa)?,
            harts: self.harts as usize,
            ram_bytes: memory << 20,
            kernel,
            firmware,
            initrd: self.initrd.as_deref().map(read).transpose()?,
            append: self.append.clone(),
            network: self.network,
            max_instructions: self.max_instructions,
        };
        boot::prepare(&job, drive).map_err(|error| self.explain(&error))
    }

    /// RAM in MiB, or the most of it.
    fn memory(&self) -> u64 {
        self.memory.unwrap_or(if self.from.is_some() { MOST_MEMORY } else { MEMORY })
    }

    /// What to watch.
    ///
    /// # Errors
    /// An unknown core, several harts, or a kernel whose functions are not known.
    pub fn watch(&self, machine: &Machine) -> Result<Watch, PlanError> {
        let profiled = self.profile || self.core.is_some();
        if !profiled && !self.user.is_empty() {
            return Err(PlanError::conflict("--user is about a profile: give --profile or --core as well"));
        }
        if !profiled && self.trace.is_none() && self.timeline.is_none() {
            return Ok(Watch::Nothing);
        }
        if machine.config().harts > 1 {
            let why = "what is watched (--profile, --core, --trace, --timeline) is one hart: give --harts 1";
            return Err(PlanError::conflict(why));
        }
        if !matches!(self.tier, Tier::Interpret | Tier::Auto) {
            return Err(PlanError::option("--tier", "what is watched is interpreted: leave --tier out"));
        }
        if let Some(kind) = self.trace {
            let filter = Filter { modes: self.trace_mode.clone(), space: self.trace_space };
            let tracer = Tracer::new(kind, machine.config().isa).filtered(filter);
            return Ok(Watch::Trace(Box::new(tracer)));
        }
        if !profiled {
            return Ok(Watch::Events(Box::default()));
        }
        let core = self.core.as_deref().map(core).transpose()?;
        let Some(path) = self.symbols.as_deref().or(self.kernel.as_deref()) else {
            let why = "a snapshot has no symbols: give the kernel, its ELF or System.map with --symbols";
            return Err(PlanError::conflict(why));
        };
        let functions = system::functions(&read(path)?);
        let none =
            || PlanError::file(path, "no symbols; give a System.map or an ELF that has some with --symbols");
        let programs = programs(&self.user)?;
        let watch = Watch::profile(machine, functions.ok_or_else(none)?, &programs, core.as_ref());
        watch.map_err(|error| PlanError::option("--core", error))
    }

    /// Writes the timeline, if there is one; yields a sentence about it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save_timeline(&self, watch: &Watch) -> Result<Option<String>, PlanError> {
        let (Some(path), Watch::Events(events)) = (&self.timeline, watch) else { return Ok(None) };
        let text = events.json();
        file::replace(path, text.as_bytes())
            .map_err(|error| PlanError::file(path, lost("the timeline", &error)))?;
        let dropped = events.dropped();
        Ok((dropped > 0).then(|| format!("{}: {dropped} events more are not in it", path.display())))
    }

    /// What the record says of the request.
    pub fn asked(&self) -> ProgramAsked {
        let path = self.from.as_deref().or(self.kernel.as_deref());
        let name = path.and_then(Path::file_name).unwrap_or_default();
        ProgramAsked {
            program: name.to_string_lossy().into_owned(),
            isa: self.isa.clone(),
            machine: "virt".into(),
            core: None,
            top: Some(self.top),
        }
    }

    /// Where to stop and save.
    ///
    /// # Errors
    /// The point is empty, or the kernel cannot be read.
    pub fn until(&self) -> Result<Option<Until>, PlanError> {
        let [point, file] = &self.save_at[..] else { return Ok(None) };
        check_writable(Path::new(file))?;
        let kernel = self.kernel.as_deref().map(read).transpose()?;
        let until = Until::parse(point, kernel.as_deref());
        until.map(Some).ok_or_else(|| PlanError::option("--save-at", "give a time, a symbol or a text"))
    }

    /// What is done where the machine is to be saved.
    pub fn saving(&self) -> Saving<'_> {
        Saving { request: self, saved: None }
    }

    fn save(&self, machine: &mut Machine) -> Result<String, PlanError> {
        let [_, file] = &self.save_at[..] else { return Ok(String::new()) };
        let bytes = machine.save().map_err(|error| self.explain(&error.into()))?;
        save(Path::new(file), &bytes)?;
        Ok(format!("saved to {file}, {}", tollgate_record::number::bytes(bytes.len() as f64)))
    }

    /// The option or file that caused an error, and what to do.
    fn explain(&self, error: &KernelError) -> PlanError {
        let given = self.from.as_deref().or(self.kernel.as_deref()).unwrap_or(Path::new("kernel"));
        let file = |path: &Option<PathBuf>| PlanError::file(path.as_deref().unwrap_or(given), error);
        match error {
            KernelError::Boot(BootError::Initrd { .. }) => {
                let path = self.initrd.as_deref().unwrap_or(given);
                PlanError::file(path, format!("{error}; --memory {} gives it room", self.memory() * 2))
            }
            KernelError::Snapshot(SnapshotError::TooLarge { has, .. }) => {
                PlanError::file(given, format!("{error}; --memory {} allows it", has.div_ceil(1 << 20)))
            }
            KernelError::Boot(BootError::Drive(_))
            | KernelError::Snapshot(
                SnapshotError::NoDrive | SnapshotError::OtherDrive | SnapshotError::DriveFile(_),
            ) => file(&self.drive),
            KernelError::Snapshot(SnapshotError::DriveMissing) => PlanError::option("--drive", error),
            KernelError::Boot(BootError::Firmware(_)) => file(&self.bios),
            KernelError::Boot(BootError::Config(_)) | KernelError::Machine(ConfigError::DeviceTree(..)) => {
                PlanError::option("--append", error)
            }
            KernelError::Machine(_) => PlanError::value("--memory", self.memory(), error),
            _ => file(&None),
        }
    }
}

/// Saves a machine once, where that was asked for.
pub struct Saving<'a> {
    request: &'a BootRequest,
    /// A sentence about the file, or nothing if it could not be written.
    saved: Option<Result<String, ()>>,
}

impl Saving<'_> {
    /// Saves the machine; whether it stops there. If the file cannot be written, that is reported to `unsaved`, and what was
    /// computed until here is not lost: the machine runs on.
    pub fn save(&mut self, machine: &mut Machine, unsaved: impl FnOnce(String)) -> bool {
        let done = self.request.save(machine);
        self.saved.insert(done.map_err(|error| unsaved(format!("{error}; the kernel runs on")))).is_ok()
    }

    /// How the machine ended, and where it was saved.
    ///
    /// # Errors
    /// It ended before it came to where it was to be saved.
    pub fn verdict(&self, outcome: &BootOutcome) -> Result<String, PlanError> {
        let verdict = outcome.verdict();
        match (&self.saved, &self.request.save_at[..]) {
            (Some(Ok(saved)), _) => Ok(format!("{verdict}; {saved}")),
            (None, [point, _]) if outcome.ending != BootEnding::Interrupted => {
                let why = format!("the kernel did not come there, so nothing is saved; {verdict}");
                Err(PlanError::value("--save-at", format_args!("'{point}'"), why))
            }
            _ => Ok(verdict),
        }
    }

    /// The exit status: the kernel's, unless that is 0 and nothing was saved.
    pub fn exit_status(&self, outcome: &BootOutcome) -> u8 {
        match outcome.exit_status() {
            0 if self.saved == Some(Err(())) => FAILED,
            status => status,
        }
    }
}

/// The programs whose functions are named.
fn programs(paths: &[PathBuf]) -> Result<Vec<Program>, PlanError> {
    let mut programs = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let program = Program::new(&name, &program(path)?).map_err(|error| PlanError::file(path, error))?;
        program.beside(&programs).map_err(|error| PlanError::file(path, error))?;
        programs.push(program);
    }
    Ok(programs)
}

/// Writes a snapshot; what was there before stays until it is whole.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), PlanError> {
    file::replace(path, bytes).map_err(|error| PlanError::file(path, lost("the machine", &error)))
}

/// What a file that cannot be written costs.
fn lost(what: &str, error: &io::Error) -> String {
    format!("{what} is not saved: {error}")
}

/// Refuses a file that cannot be written, before the time for its contents is spent.
pub(super) fn check_writable(path: &Path) -> Result<(), PlanError> {
    if path.is_dir() {
        return Err(PlanError::file(path, "is a directory; add a file name"));
    }
    file::check_replaceable(path).map_err(|error| {
        PlanError::file(
            path,
            format!("cannot be written: {error}; give a file in a directory that is there and writable"),
        )
    })
}

fn open(path: &Path) -> Result<(File, u64), PlanError> {
    let refused = |error: io::Error| PlanError::file(path, error);
    let kind = std::fs::metadata(path).map_err(refused)?;
    if !kind.is_file() {
        return Err(PlanError::file(path, "not a regular file"));
    }
    Ok((File::open(path).map_err(refused)?, kind.len()))
}

/// A file as a drive. It is only read: what the guest writes stays in the machine.
struct Drive {
    file: File,
    len: u64,
}

fn open_drive(path: &Path) -> Result<Box<dyn Storage>, PlanError> {
    let (file, len) = open(path)?;
    Ok(Box::new(Drive { file, len }))
}

impl Storage for Drive {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, at)
    }
}

/// The most that waits between the reader and the machine, in pieces of up to 4 KiB.
const PIECES: usize = 64;
/// The most that is typed from a regular file.
const MOST_TYPED: u64 = 1 << 20;

/// What is typed: the bytes of a regular file are there from the beginning, so that two runs are the same; those of a
/// pipe or terminal come when they come.
///
/// # Errors
/// A file that cannot be read.
pub fn input(mut from: impl Read + AsFd + IsTerminal + Send + 'static) -> io::Result<Input> {
    let person = from.is_terminal();
    let (sender, bytes) = mpsc::sync_channel(PIECES);
    let mut first = Vec::new();
    if File::from(from.as_fd().try_clone_to_owned()?).metadata()?.is_file() {
        from.take(MOST_TYPED).read_to_end(&mut first)?;
        return Ok(Input { first, bytes, person });
    }
    // It ends with the input, or with the process.
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            if sender.send(buffer[..n].to_vec()).is_err() {
                break;
            }
        }
    });
    Ok(Input { first, bytes, person })
}
