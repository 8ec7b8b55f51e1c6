//! `tollgate riscv boot`: a real kernel on the embedded machine.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::boot::{self, BootEnding, BootJob, BootOutcome, DriveFile, KernelError, Terminal, Until};
use tollgate_lab::status::{EXIT_STATUS, FAILED};
use tollgate_lab::system::{self, Program, Watch};
use tollgate_lab::{Filter, Tier, Trace, Tracer};
use tollgate_progress::Console;
use tollgate_record::family::ProgramAsked;
use tollgate_record::file;
use tollgate_riscv::{BootError, ConfigError, Firmware, Machine, Privilege, SnapshotError, Storage};
use tollgate_supervise::Stop;

use super::options::{MODES, check_budget, core, isa, number, program, read, trusted, within};
use crate::args::{Destination, Usage, one_of};
use crate::output::{reader_gone, say};
use crate::session::Session;

/// `tollgate riscv boot`.
#[derive(Args)]
#[command(
    after_help = format!("{EXIT_STATUS}\n\nExamples:\n  tollgate riscv boot --kernel Image --initrd initrd.cpio --append console=ttyS0\n  \
                        tollgate riscv boot --kernel xv6/kernel/kernel --drive xv6/fs.img --memory 128\n  \
                        tollgate riscv boot --kernel Image --initrd initrd.cpio --append console=ttyS0 --save-at '# ' shell.snap\n  \
                        tollgate riscv boot --from shell.snap\n  \
                        tollgate riscv boot --from shell.snap --core rocket --symbols System.map --max-instructions 10000000\n  \
                        tollgate riscv boot --from shell.snap --timeline trace.json --max-instructions 10000000")
)]
pub(super) struct BootArgs {
    /// The kernel: Linux's Image, or an ELF as vmlinux
    #[arg(long, value_name = "FILE", required_unless_present = "from")]
    kernel: Option<PathBuf>,
    /// Continue a machine that --save-at saved
    ///
    /// If it has a drive, give the same file with --drive.
    #[arg(
        long,
        value_name = "SNAPSHOT",
        conflicts_with_all = ["kernel", "initrd", "bios", "append", "isa", "harts"]
    )]
    from: Option<PathBuf>,
    /// Save the machine at this point and stop
    ///
    /// --from continues it. AT is a time (1500ms), a number of instructions, an address (0x80200000), a symbol of an ELF kernel, or a text that
    /// appears on the console.
    #[arg(long, num_args = 2, value_names = ["AT", "FILE"])]
    save_at: Vec<String>,
    /// The initial RAM disk
    #[arg(long, value_name = "FILE")]
    initrd: Option<PathBuf>,
    /// A virtio drive; the file is not written
    #[arg(long, value_name = "FILE")]
    drive: Option<PathBuf>,
    /// A virtio network device that is connected to nothing
    #[arg(long, hide_short_help = true, conflicts_with = "from")]
    network: bool,
    /// The firmware: sbi (built in), none, or a file [default: none if the kernel is at the address of firmware, else sbi]
    #[arg(long, hide_short_help = true, value_name = "FIRMWARE")]
    bios: Option<PathBuf>,
    /// The kernel's command line
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    append: String,
    /// The instruction set
    #[arg(long, hide_short_help = true, default_value = ISA, value_name = "ISA")]
    isa: String,
    /// Harts, 1 to 8; they take turns of 10,000 instructions
    #[arg(long, hide_short_help = true, default_value_t = 1, value_name = "N")]
    harts: u64,
    /// RAM in MiB [default: 512]
    ///
    /// With --from the most RAM that the saved machine may have [default: 2048].
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,
    /// Profile the instructions of the system by function
    ///
    /// The profile is printed and saved.
    #[arg(long)]
    profile: bool,
    /// Profile the cycles of this core by cause
    ///
    /// A core is a preset, or a file that ends in .toml. The profile, by function, cause and caller, is printed and saved.
    #[arg(long, value_name = "CORE")]
    core: Option<String>,
    /// Functions that are printed; the record has all
    #[arg(long, value_name = "N", default_value_t = 20, allow_hyphen_values = true)]
    top: u64,
    /// Symbols for the profile: a System.map or ELF [default: the kernel]
    #[arg(long, value_name = "FILE")]
    symbols: Option<PathBuf>,
    /// A static ELF on the kernel, for its symbols; can be repeated
    #[arg(long, value_name = "ELF")]
    user: Vec<PathBuf>,
    /// Write every instruction to standard error
    #[arg(long, value_parser = one_of(Trace::NAMES), value_name = "KIND", conflicts_with_all = ["profile", "core"])]
    trace: Option<Trace>,
    /// Trace only these modes, as u,s
    #[arg(long, hide_short_help = true, value_parser = one_of(MODES), value_name = "MODES", value_delimiter = ',', requires = "trace")]
    trace_mode: Vec<Privilege>,
    /// Trace only this address space: its identifier, or the value of satp
    #[arg(long, hide_short_help = true, value_parser = number, value_name = "SPACE", requires = "trace")]
    trace_space: Option<u64>,
    /// Write traps, interrupts, switches as a Chrome trace
    #[arg(long, value_name = "FILE", conflicts_with_all = ["profile", "core", "trace"])]
    timeline: Option<PathBuf>,
    /// Stop the kernel after N instructions
    #[arg(long, hide_short_help = true, default_value_t = 100_000_000_000, value_name = "N")]
    max_instructions: u64,
    /// How instructions are executed; the results are the same
    #[arg(long, hide_short_help = true, value_parser = one_of(Tier::NAMES), default_value = "auto", value_name = "TIER")]
    tier: Tier,
    #[command(flatten)]
    destination: Destination,
}

/// Boots the kernel; the terminal is its console.
pub(super) fn run(args: &BootArgs) -> Result<ExitCode> {
    let mut machine = args.prepare()?;
    let mut watch = args.watch(&machine)?;
    let session = Session::of_profile(watch.is_profile(), &args.destination)?;
    let (until, most) = (args.until()?, args.max_instructions);
    let stop = Stop::on_signal()?;
    let terminal = Terminal::take()?;
    let input = boot::input(io::stdin())?;
    let mut console = Console::of_guest("the kernel runs", args.destination.output.json);
    let mut saving = args.saving();
    let mut reached = |machine: &mut _| saving.save(machine, |text| say(format!("tollgate: {text}")));
    let limits = (most, until.as_ref(), &mut reached as &mut dyn FnMut(&mut _) -> bool);
    let outcome = watch.run(&mut machine, limits, &input, &mut console, &|| stop.is_set());
    drop((terminal, console));
    let outcome = outcome.map_err(reader_gone)?;
    if let Some(mut session) = session {
        session.run.results.extend(watch.result(args.asked()));
        session.finish_unless(&stop)?;
    }
    let timeline = args.save_timeline(&watch);
    timeline.iter().flatten().for_each(say);
    say(saving.verdict(&outcome)?);
    timeline?;
    Ok(ExitCode::from(stop.status(saving.exit_status(&outcome))))
}

/// The instructions of QEMU's `virt`, as far as they are here.
pub(super) const ISA: &str = "rv64gc_zba_zbb_zbs_zicbom_zicboz_sstc_svinval_svpbmt";

/// RAM in MiB of a machine that is booted, and the most that a snapshot may take without being allowed to.
const MEMORY: u64 = 512;
const MOST_MEMORY: u64 = 2048;

impl BootArgs {
    /// Reads the files and prepares the machine.
    ///
    /// # Errors
    /// The option or file that is wrong, and what to do.
    fn prepare(&self) -> Result<Machine, Usage> {
        let mut machine = self.machine()?;
        self.tier.prepare(&mut machine).map_err(|error| Usage::option("--tier", error))?;
        Ok(machine)
    }

    /// The machine, booted or continued.
    fn machine(&self) -> Result<Machine, Usage> {
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
            (None, None) => return Err(Usage::new("give --kernel or --from")),
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
    fn watch(&self, machine: &Machine) -> Result<Watch, Usage> {
        let profiled = self.profile || self.core.is_some();
        if !profiled && !self.user.is_empty() {
            return Err(Usage::new("--user is about a profile: give --profile or --core as well"));
        }
        if !profiled && self.trace.is_none() && self.timeline.is_none() {
            return Ok(Watch::Nothing);
        }
        if machine.config().harts > 1 {
            let why = "what is watched (--profile, --core, --trace, --timeline) is one hart: give --harts 1";
            return Err(Usage::new(why));
        }
        if !matches!(self.tier, Tier::Interpret | Tier::Auto) {
            return Err(Usage::option("--tier", "what is watched is interpreted: leave --tier out"));
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
            return Err(Usage::new(why));
        };
        let functions = system::functions(&read(path)?);
        let none =
            || Usage::file(path, "no symbols; give a System.map or an ELF that has some with --symbols");
        let programs = programs(&self.user)?;
        let watch = Watch::profile(machine, functions.ok_or_else(none)?, &programs, core.as_ref());
        watch.map_err(|error| Usage::option("--core", error))
    }

    /// Writes the timeline, if there is one; yields a sentence about it.
    ///
    /// # Errors
    /// The file cannot be written.
    fn save_timeline(&self, watch: &Watch) -> Result<Option<String>, Usage> {
        let (Some(path), Watch::Events(events)) = (&self.timeline, watch) else { return Ok(None) };
        let text = events.json();
        file::replace(path, text.as_bytes())
            .map_err(|error| Usage::file(path, lost("the timeline", &error)))?;
        let dropped = events.dropped();
        Ok((dropped > 0).then(|| format!("{}: {dropped} events more are not in it", path.display())))
    }

    /// What the record says of the request.
    fn asked(&self) -> ProgramAsked {
        let path = self.from.as_deref().or(self.kernel.as_deref());
        let name = path.and_then(Path::file_name).unwrap_or_default();
        ProgramAsked {
            program: name.to_string_lossy().into_owned(),
            isa: self.isa.clone(),
            machine: "virt".into(),
            core: None,
            top: Some(self.top),
            command: Vec::new(),
        }
    }

    /// Where to stop and save.
    ///
    /// # Errors
    /// The point is empty, or the kernel cannot be read.
    fn until(&self) -> Result<Option<Until>, Usage> {
        let [point, file] = &self.save_at[..] else { return Ok(None) };
        check_writable(Path::new(file))?;
        let kernel = self.kernel.as_deref().map(read).transpose()?;
        let until = Until::parse(point, kernel.as_deref());
        until.map(Some).ok_or_else(|| Usage::option("--save-at", "give a time, a symbol or a text"))
    }

    /// What is done where the machine is to be saved.
    fn saving(&self) -> Saving<'_> {
        Saving { request: self, saved: None }
    }

    fn save(&self, machine: &mut Machine) -> Result<String, Usage> {
        let [_, file] = &self.save_at[..] else { return Ok(String::new()) };
        let bytes = machine.save().map_err(|error| self.explain(&error.into()))?;
        save(Path::new(file), &bytes)?;
        Ok(format!("saved to {file}, {}", tollgate_record::number::bytes(bytes.len() as f64)))
    }

    /// The option or file that caused an error, and what to do.
    fn explain(&self, error: &KernelError) -> Usage {
        let given = self.from.as_deref().or(self.kernel.as_deref()).unwrap_or(Path::new("kernel"));
        let file = |path: &Option<PathBuf>| Usage::file(path.as_deref().unwrap_or(given), error);
        match error {
            KernelError::Boot(BootError::Initrd { .. }) => {
                let path = self.initrd.as_deref().unwrap_or(given);
                Usage::file(path, format!("{error}; --memory {} gives it room", self.memory() * 2))
            }
            KernelError::Snapshot(SnapshotError::TooLarge { has, .. }) => {
                Usage::file(given, format!("{error}; --memory {} allows it", has.div_ceil(1 << 20)))
            }
            KernelError::Boot(BootError::Drive(_))
            | KernelError::Snapshot(
                SnapshotError::NoDrive | SnapshotError::OtherDrive | SnapshotError::DriveFile(_),
            ) => file(&self.drive),
            KernelError::Snapshot(SnapshotError::DriveMissing) => Usage::option("--drive", error),
            KernelError::Boot(BootError::Firmware(_)) => file(&self.bios),
            KernelError::Boot(BootError::Config(_)) | KernelError::Machine(ConfigError::DeviceTree(..)) => {
                Usage::option("--append", error)
            }
            KernelError::Machine(_) => Usage::value("--memory", self.memory(), error),
            _ => file(&None),
        }
    }
}

/// Saves a machine once, where that was asked for.
struct Saving<'a> {
    request: &'a BootArgs,
    /// A sentence about the file, or nothing if it could not be written.
    saved: Option<Result<String, ()>>,
}

impl Saving<'_> {
    /// Saves the machine; whether it stops there. If the file cannot be written, that is reported to `unsaved`, and what was
    /// computed until here is not lost: the machine runs on.
    fn save(&mut self, machine: &mut Machine, unsaved: impl FnOnce(String)) -> bool {
        let done = self.request.save(machine);
        self.saved.insert(done.map_err(|error| unsaved(format!("{error}; the kernel runs on")))).is_ok()
    }

    /// How the machine ended, and where it was saved.
    ///
    /// # Errors
    /// It ended before the point at which it was to be saved.
    fn verdict(&self, outcome: &BootOutcome) -> Result<String, Usage> {
        let verdict = outcome.verdict();
        match (&self.saved, &self.request.save_at[..]) {
            (Some(Ok(saved)), _) => Ok(format!("{verdict}; {saved}")),
            (None, [point, _]) if outcome.ending != BootEnding::Interrupted => {
                let why = format!("the kernel did not come there, so nothing is saved; {verdict}");
                Err(Usage::value("--save-at", format_args!("'{point}'"), why))
            }
            _ => Ok(verdict),
        }
    }

    /// The exit status: the kernel's, unless that is 0 and nothing was saved.
    fn exit_status(&self, outcome: &BootOutcome) -> u8 {
        match outcome.exit_status() {
            0 if self.saved == Some(Err(())) => FAILED,
            status => status,
        }
    }
}

/// The programs whose functions are named.
fn programs(paths: &[PathBuf]) -> Result<Vec<Program>, Usage> {
    let mut programs = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let program = Program::new(&name, &program(path)?).map_err(|error| Usage::file(path, error))?;
        program.beside(&programs).map_err(|error| Usage::file(path, error))?;
        programs.push(program);
    }
    Ok(programs)
}

/// Writes a snapshot; an older file stays until it is complete.
pub(super) fn save(path: &Path, bytes: &[u8]) -> Result<(), Usage> {
    file::replace(path, bytes).map_err(|error| Usage::file(path, lost("the machine", &error)))
}

/// What a file that cannot be written costs.
pub(super) fn lost(what: &str, error: &io::Error) -> String {
    format!("{what} is not saved: {error}")
}

/// Refuses a file that cannot be written, before the time for its contents is spent.
pub(super) fn check_writable(path: &Path) -> Result<(), Usage> {
    if path.is_dir() {
        return Err(Usage::file(path, "is a directory; add a file name"));
    }
    file::check_replaceable(path).map_err(|error| {
        Usage::file(
            path,
            format!("cannot be written: {error}; give a file in a directory that is there and writable"),
        )
    })
}

fn open_drive(path: &Path) -> Result<Box<dyn Storage>, Usage> {
    Ok(Box::new(DriveFile::open(path).map_err(|error| Usage::file(path, error))?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;

    use tollgate_lab::boot::Input;

    use super::*;
    use crate::riscv::options::parsed;

    /// Linux's header, then instructions that print K by the legacy console and switch off.
    fn image() -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(&0x0400_006f_u32.to_le_bytes()); // j 64
        bytes[8..16].copy_from_slice(&0x20_0000_u64.to_le_bytes());
        bytes[56..60].copy_from_slice(b"RSC\x05");
        // li a7, 1; li a0, 'K'; ecall; li a7, 8; ecall
        for word in [0x0010_0893_u32, 0x04b0_0513, 0x73, 0x0080_0893, 0x73] {
            bytes.extend(word.to_le_bytes());
        }
        bytes
    }

    /// A folder with the kernel, and the options that boot it.
    fn folder() -> (tempfile::TempDir, impl Fn(&[&str]) -> BootArgs) {
        let dir = tempfile::tempdir().unwrap();
        let kernel = dir.path().join("Image");
        fs::write(&kernel, image()).unwrap();
        let args = move |more: &[&str]| {
            let usual = ["--memory", "8", "--max-instructions", "10000000"];
            let kernel = ["--kernel", kernel.to_str().unwrap()];
            let first = if more.contains(&"--from") { &[][..] } else { &kernel[..] };
            // Of an option that comes twice the last one counts.
            let usual = usual.chunks(2).filter(|pair| !more.contains(&pair[0])).flatten().copied();
            parsed(&first.iter().copied().chain(usual).chain(more.iter().copied()).collect::<Vec<_>>())
        };
        (dir, args)
    }

    #[test]
    fn errors_name_their_option_or_file() {
        let (dir, args) = folder();
        let file = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, bytes).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let text = file("text", b"#!/bin/sh\n");
        let odd = file("odd", &[0; 1000]);
        let large = file("large", &vec![0; 16 << 20]);
        let folder = dir.path().to_str().unwrap();
        let none = format!("{folder}/none");
        let cases: [(&[&str], &str); 9] = [
            (&["--isa", "rv32gc"], "an image for RV64, the machine is RV32"),
            (&["--initrd", &large], "large: as the initial RAM disk: 16777216 bytes"),
            (&["--initrd", &large], "--memory 16 gives it room"),
            (&["--drive", &odd], "odd: as the drive: 1000 bytes"),
            (&["--bios", &large], "large: as firmware: "),
            (&["--harts", "0"], "--harts 0: give a number from 1 to 8"),
            (&["--max-instructions", "0"], "--max-instructions 0: give at least 1"),
            (&["--from", &text], "text: not a snapshot of a machine"),
            (&["--from", &none], "none: No such file"),
        ];
        let refused = |args: BootArgs| args.prepare().map(drop).unwrap_err().to_string();
        for (words, expected) in cases {
            let error = refused(args(words));
            assert!(error.contains(expected), "{expected}: {error}");
        }
        for (kernel, expected) in
            [(text.as_str(), "text: as the kernel: neither an ELF file nor"), (folder, "Is a directory")]
        {
            let error = refused(parsed(&["--memory", "8", "--kernel", kernel]));
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn a_profile_needs_one_hart_symbols_and_a_known_core() {
        let (dir, args) = folder();
        let map = dir.path().join("System.map");
        fs::write(&map, "0000000080200040 T prints\n").unwrap();
        let symbols = ["--symbols", map.to_str().unwrap()];
        let watch = |words: &[&str]| {
            let args = args(words);
            args.watch(&args.prepare().unwrap()).map(|watch| watch.is_profile())
        };
        let refused = |words: &[&str]| watch(words).unwrap_err().to_string();
        assert!(watch(&[&symbols[..], &["--profile"]].concat()).unwrap());
        let error = refused(&[&symbols[..], &["--profile", "--harts", "2"]].concat());
        assert!(error.ends_with("is one hart: give --harts 1"), "{error}");
        let error = refused(&["--profile"]);
        assert!(error.contains("Image: no symbols"), "{error}");
        let error = refused(&[&symbols[..], &["--core", "rockt"]].concat());
        assert!(error.contains("rocket"), "{error}");
    }

    #[test]
    fn a_point_that_is_not_reached_leaves_the_file_as_it_was() {
        let (dir, args) = folder();
        let snapshot = dir.path().join("snapshot");
        fs::write(&snapshot, "before").unwrap();
        let save_at = |point: &str, file: &Path| -> anyhow::Result<String> {
            let args = args(&["--save-at", point, file.to_str().unwrap()]);
            let (mut machine, until, mut saving) = (args.prepare()?, args.until()?, args.saving());
            let input = Input { first: Vec::new(), bytes: mpsc::sync_channel(1).1, person: false };
            let most = args.max_instructions;
            let outcome = boot::run(&mut machine, most, until.as_ref(), &input, &mut Vec::new(), &|| false)?;
            if outcome.ending == BootEnding::Reached {
                saving.save(&mut machine, |why| panic!("{why}"));
            }
            Ok(saving.verdict(&outcome)?)
        };
        let error = save_at("M", &snapshot).unwrap_err().to_string();
        let expected = "--save-at 'M': the kernel did not come there, so nothing is saved";
        assert!(error.starts_with(expected) && error.contains("powered off after"), "{error}");
        assert_eq!(fs::read(&snapshot).unwrap(), b"before");
        let error = save_at("K", &dir.path().join("no/file")).unwrap_err().to_string();
        assert!(error.contains("give a file in a directory"), "{error}");
        assert!(save_at("", &snapshot).is_err());
        let saved = save_at("3", &snapshot).unwrap();
        assert!(saved.contains("snapshot, "), "{saved}");
        assert!(args(&["--from", snapshot.to_str().unwrap()]).prepare().is_ok());
    }
}
