//! Where the programs come from: the tree, or a compiler.

use std::path::Path;
use std::process::Command;

use tollgate_record::trust;
use tollgate_riscv::{Elf, Extension, Isa};

use super::error::IcacheError;
use super::settings::Build;
use crate::sections::executable_sections;

/// A program of the tree, as GCC 12.2 builds it.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// What it was built for.
    pub isa: &'static str,
    /// The level of optimization, after `-O`.
    pub opt: &'static str,
    /// Bytes of code in its object; the linker makes less of them.
    object_text: u64,
    elf: &'static [u8],
}

impl Bundled {
    /// The program.
    pub fn build(&self) -> Build {
        Build {
            name: self.isa.to_owned(),
            // The four strings below are tested.
            isa: self.isa.parse().unwrap_or_default(),
            object_text: Some(self.object_text),
            elf: self.elf.to_vec(),
        }
    }
}

macro_rules! bundled {
    ($isa:literal, $opt:literal, $object:literal) => {
        Bundled {
            isa: $isa,
            opt: $opt,
            object_text: $object,
            elf: include_bytes!(concat!("../../guests/riscv/images/icache-", $isa, "-O", $opt, ".elf")),
        }
    };
}

/// `guests/riscv/programs/icache.c` with and without the C extension, at two levels of optimization.
pub const BUNDLED: [Bundled; 4] = [
    bundled!("rv32im", "1", 160),
    bundled!("rv32imc", "1", 98),
    bundled!("rv32im", "2", 160),
    bundled!("rv32imc", "2", 98),
];

/// The source of the bundled programs.
pub(super) const SOURCE: &str = include_str!("../../guests/riscv/programs/icache.c");

/// Debian's bare-metal compiler.
const GCC: &str = "riscv64-unknown-elf-gcc";

/// What compiles.
#[derive(Clone, Copy)]
enum Compiler {
    Gcc,
    /// With its own linker.
    Clang,
}

impl Compiler {
    fn find() -> Option<Self> {
        let runs =
            |name: &str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
        match () {
            () if runs(GCC) => Some(Self::Gcc),
            () if runs("clang") && runs("ld.lld") => Some(Self::Clang),
            () => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gcc => GCC,
            Self::Clang => "clang",
        }
    }

    fn command(self, isa: &str, parsed: Isa) -> Command {
        let mut command = Command::new(self.name());
        if let Self::Clang = self {
            let target = if parsed.is_rv64() { "riscv64-unknown-elf" } else { "riscv32-unknown-elf" };
            command.arg(format!("--target={target}")).arg("-fuse-ld=lld");
        }
        let float = match () {
            () if parsed.has(Extension::D) => "d",
            () if parsed.has(Extension::F) => "f",
            () => "",
        };
        let abi = if parsed.is_rv64() { "lp64" } else { "ilp32" };
        command.arg(format!("-march={isa}")).arg(format!("-mabi={abi}{float}"));
        // RV64 cannot name the start of RAM with two instructions from zero.
        command.arg(if parsed.is_rv64() { "-mcmodel=medany" } else { "-mcmodel=medlow" });
        command
    }

    /// Runs it; its words when it refuses.
    fn run(self, isa: &str, command: &mut Command) -> Result<(), IcacheError> {
        let output = command.output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        Err(IcacheError::Compile { compiler: self.name().into(), isa: isa.into(), said })
    }
}

/// The bundled program for an ISA: a prebuilt image, or its source compiled.
pub fn bundled(isa: &str, parsed: Isa, opt: &str) -> Result<Build, IcacheError> {
    if let Some(bundled) = BUNDLED.iter().find(|bundled| bundled.isa == isa && bundled.opt == opt) {
        return Ok(bundled.build());
    }
    let folder = tempfile::tempdir_in(trust::temporary()?)?;
    let source = folder.path().join("icache.c");
    std::fs::write(&source, SOURCE)?;
    compile(&source, isa, parsed, opt)
}

/// Builds a C source for an ISA: without start-up code or libraries, at the start of RAM. Execution begins at
/// `_start` if there is one, else at `main`. Nothing is left behind.
pub fn compile(source: &Path, isa: &str, parsed: Isa, opt: &str) -> Result<Build, IcacheError> {
    compile_at(source, isa, parsed, opt, (0x8000_0000, 0), &["main", "_start"])
}

/// How many places the code of [`aligned`] has.
const PLACES: u64 = 8;

/// The same at eight places, each as far from the next as instructions may begin, since the lines that a loop touches depend
/// on where it begins.
pub fn aligned(source: &Path, isa: &str, parsed: Isa, opt: &str) -> Result<Vec<Build>, IcacheError> {
    let step = if parsed.has(Extension::C) { 2 } else { 4 };
    let at = |place: u64| {
        let skipped = place * step;
        let entries = ["main", "_start"];
        let build = compile_at(source, isa, parsed, opt, (0x8000_0000, skipped), &entries)?;
        Ok(Build { name: format!("{isa} +{skipped}"), ..build })
    };
    (0..PLACES).map(at).collect()
}

/// The source of the bundled programs at eight places.
pub fn bundled_aligned(isa: &str, parsed: Isa, opt: &str) -> Result<Vec<Build>, IcacheError> {
    let folder = tempfile::tempdir_in(trust::temporary()?)?;
    let source = folder.path().join("icache.c");
    std::fs::write(&source, SOURCE)?;
    aligned(&source, isa, parsed, opt)
}

/// The same at another address, behind so many bytes of nothing; execution begins at the last of `entries` that there is, else at the first.
pub(crate) fn compile_at(
    source: &Path,
    isa: &str,
    parsed: Isa,
    opt: &str,
    (base, skipped): (u64, u64),
    entries: &[&str],
) -> Result<Build, IcacheError> {
    let compiler = Compiler::find().ok_or(IcacheError::NoCompiler)?;
    let folder = tempfile::tempdir_in(trust::temporary()?)?;
    let object = folder.path().join("object.o");
    let linked = folder.path().join("linked.elf");
    let option = format!("-O{opt}");
    let mut compile = compiler.command(isa, parsed);
    compile.args([option.as_str(), "-g0", "-ffreestanding", "-fno-pic", "-fno-asynchronous-unwind-tables"]);
    // A source whose name begins with a dash must not become an option.
    let source = std::path::absolute(source)?;
    compiler.run(isa, compile.args(["-c", "-o"]).arg(&object).arg(&source))?;
    let object_bytes = std::fs::read(&object)?;
    let object_text = executable_sections(&object_bytes).iter().map(|(_, data)| data.len() as u64).sum();
    let before = folder.path().join("before.o");
    if skipped > 0 {
        let empty = folder.path().join("before.s");
        // The linker puts this section first, before that of `main`.
        std::fs::write(&empty, format!(".section .text.unlikely,\"ax\"\n.skip {skipped}\n"))?;
        compiler.run(isa, compiler.command(isa, parsed).args(["-c", "-o"]).arg(&before).arg(&empty))?;
    }
    let link = |entry: &str| {
        let mut command = compiler.command(isa, parsed);
        command.args(["-nostdlib", "-nostartfiles", "-static", "-Wl,--build-id=none"]);
        command.arg(format!("-Wl,-Ttext-segment={base:#x}")).arg("-Wl,--no-warn-rwx-segments");
        command.arg(format!("-Wl,-e,{entry}")).arg("-o").arg(&linked);
        command.args((skipped > 0).then_some(&before)).arg(&object);
        compiler.run(isa, &mut command)
    };
    let (first, others) = entries.split_first().unwrap_or((&"main", &[]));
    link(first)?;
    let mut elf = std::fs::read(&linked)?;
    for entry in others {
        if Elf::parse(&elf).is_ok_and(|program| program.symbol(entry).is_some()) {
            link(entry)?;
            elf = std::fs::read(&linked)?;
        }
    }
    Ok(Build { name: isa.to_owned(), isa: parsed, object_text: Some(object_text), elf })
}
