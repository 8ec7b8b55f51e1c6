//! What can be loaded, and the machine for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tollgate_cores::Core;
use tollgate_lab::source::Executable;
use tollgate_lab::{Crossing, Design, Experiment, USUAL, prepare};
use tollgate_riscv::{Boot, Config, Elf, Isa, Machine, MachineKind, ram_below};

use crate::assemble::{self, Places};
use crate::failure::Failure;
use crate::request::{CoreChoice, Load, Program, SourceFile};

/// RAM where none is asked for: with the rest of the page it stays small, because a page's memory never shrinks.
const RAM: u64 = 16 << 20;
const MOST_RAM: u64 = 1 << 30;
/// Output that is kept.
const CONSOLE: usize = 1 << 20;
/// The room above a stack at the end of RAM.
const ABOVE_STACK: u64 = 16;
const RAM_BASE: u64 = 0x8000_0000;
const CROSSINGS: u64 = 10;
const MOST_CROSSINGS: u64 = 1_000_000;

/// A program before its first instruction.
pub(crate) struct Loaded {
    /// What is shown of it.
    pub(crate) name: String,
    pub(crate) executable: Executable,
    pub(crate) elf: Elf,
    pub(crate) places: Places,
    pub(crate) isa: Isa,
    /// The instruction set as it was asked for.
    pub(crate) march: String,
    pub(crate) kind: MachineKind,
    pub(crate) ram_bytes: u64,
    pub(crate) core: Option<Core>,
    pub(crate) machine: Machine,
}

pub(crate) fn core(choice: &CoreChoice) -> Result<Core, Failure> {
    match choice {
        CoreChoice::Name { name } => Core::preset(name),
        CoreChoice::Toml { toml } => Core::from_toml(toml),
    }
    .map_err(Failure::request)
}

/// The bytes of a file.
fn bytes(name: &str, base64: &str) -> Result<Vec<u8>, Failure> {
    STANDARD.decode(base64).map_err(|error| Failure::request(format!("{name} is not valid base64: {error}")))
}

pub(crate) fn design(name: &str) -> Result<&'static Design<'static>, Failure> {
    Design::find(name).ok_or_else(|| {
        let names: Vec<_> = tollgate_lab::DESIGNS.iter().map(|design| design.name).collect();
        Failure::request(format!("no kernel is called '{name}'; there are {}", names.join(", ")))
    })
}

/// The crossing of an experiment with a kernel.
pub(crate) fn crossing(design: &Design, name: Option<&str>) -> Result<Crossing, Failure> {
    match (design.crossing, name) {
        (Some(own), _) => Ok(own),
        (None, Some(name)) => Crossing::parse(name).map_err(Failure::request),
        (None, None) => Ok(USUAL[0]),
    }
}

fn image(design: &Design, name: Option<&str>, iterations: Option<u64>) -> Result<Vec<u8>, Failure> {
    let iterations = iterations.unwrap_or(CROSSINGS).clamp(1, MOST_CROSSINGS);
    prepare(&Experiment { design, crossing: crossing(design, name)?, iterations }).map_err(Failure::request)
}

fn first_name(files: &[SourceFile]) -> String {
    files.first().map(|file| file.name.clone()).unwrap_or_default()
}

/// Builds the machine with its program.
pub(crate) fn load(request: &Load) -> Result<Loaded, Failure> {
    let core = request.core.as_ref().map(core).transpose()?;
    let ram_bytes = request.ram_bytes.unwrap_or(RAM);
    if ram_bytes > MOST_RAM {
        return Err(Failure::request(format!("{ram_bytes} bytes of RAM: a page has at most {MOST_RAM}")));
    }
    let kind = request.machine.as_deref().map_or(Ok(MachineKind::default()), str::parse);
    let mut kind = kind.map_err(Failure::request)?;
    let mut march = request.isa.clone().unwrap_or_else(|| "rv64gc".into());
    let mut boot = None;
    let mut entry_lines = None;
    let (name, executable) = match &request.program {
        Program::Source { files } => (first_name(files), assemble::program(files, &march, None)?),
        Program::Elf { name, base64 } => (name.clone(), bytes(name, base64)?.into()),
        Program::Kernel { kernel, crossing, iterations } => {
            let design = design(kernel)?;
            march = design.isa.into();
            (kernel.clone(), image(design, crossing.as_deref(), *iterations)?.into())
        }
        Program::Entry { files, crossing, iterations } => {
            let own = assemble::entry(files)?;
            let design = own.design();
            march = design.isa.into();
            let image = image(&design, crossing.as_deref(), *iterations)?;
            entry_lines = Some(own.source().lines.clone());
            (first_name(files), image.into())
        }
        Program::Boot { name, kernel, drive, bootargs } => {
            let drive = drive.as_deref().map(|drive| bytes("the drive", drive)).transpose()?;
            kind = MachineKind::Virt;
            boot = Some((drive, bootargs.clone().unwrap_or_default()));
            (name.clone(), bytes(name, kernel)?.into())
        }
    };
    let executable = Executable { lines: entry_lines.unwrap_or(executable.lines), ..executable };
    let isa = assemble::isa(Some(&march))?;
    let elf = match Elf::parse(&executable.elf) {
        Ok(elf) => elf,
        // Linux's image is not an ELF file, and has no symbols here.
        Err(_) if boot.is_some() => {
            Elf { entry: 0, xlen: isa.xlen(), segments: Vec::new(), symbols: Vec::new() }
        }
        Err(error) => return Err(Failure::request(format!("{name}: {error}"))),
    };
    let usual = core.as_ref().map_or_else(Config::default, Core::config);
    let config = Config { isa, machine: kind, ram_bytes, console_bytes: CONSOLE, ..usual };
    let machine = match boot {
        Some((drive, bootargs)) => booted(config, &executable.elf, drive, bootargs)?,
        None => bare(config, &elf, &executable)?,
    };
    let places = Places::new(&elf);
    let isa = machine.config().isa;
    Ok(Loaded { name, places, executable, elf, isa, march, kind, ram_bytes, core, machine })
}

/// A machine with a bare program, as `tollgate riscv run` builds it.
fn bare(config: Config, elf: &Elf, executable: &Executable) -> Result<Machine, Failure> {
    let first = elf.segments.first().map_or(RAM_BASE, |segment| segment.address);
    let end = elf.segments.last().map_or(RAM_BASE, |last| last.address.saturating_add(last.memory_size));
    let below = ram_below(first, end, config.ram_bytes).filter(|_| config.machine == MachineKind::Spike);
    let config = match below {
        Some((ram_base, ram_bytes)) => Config { ram_base, ram_bytes, ..config },
        None => config,
    };
    let mut machine = Machine::new(config).map_err(Failure::request)?;
    machine.load(elf).map_err(Failure::request)?;
    let Config { ram_base, ram_bytes, .. } = *machine.config();
    if executable.needs_stack || ram_base != RAM_BASE {
        machine.set_x(2, ram_base + ram_bytes - ABOVE_STACK);
        machine.set_x(3, elf.symbol("__global_pointer$").unwrap_or(0));
    }
    machine.answer_ecalls();
    let code = executable.image().into_iter().flat_map(|image| &image.sections).filter(|it| it.exec);
    machine.exit_behind(code.map(|it| it.address.wrapping_add(it.size)).collect());
    Ok(machine)
}

fn booted(
    config: Config,
    kernel: &[u8],
    drive: Option<Vec<u8>>,
    bootargs: String,
) -> Result<Machine, Failure> {
    // As QEMU does it, which kernels of its machine expect.
    let config = Config { misaligned: true, coherent_code: true, bootargs, ..config };
    let mut machine = Machine::new(config).map_err(Failure::request)?;
    let boot = Boot {
        kernel,
        firmware: None,
        initrd: None,
        drive: drive.map(|drive| Box::new(drive) as _),
        console: false,
        network: false,
        seed: 0,
    };
    machine.boot(boot).map_err(Failure::request)?;
    Ok(machine)
}
