//! C, built by a compiler that is installed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};
use tempfile::TempDir;
use tollgate_record::trust;
use tollgate_riscv::{Elf, Extension, Isa};

use super::error::SourceError;
use super::executable::Executable;
use super::library;
use super::lines::Lines;
use super::recipe::{Library, Recipe};
use crate::sections::executable_sections;

/// What compiles C, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compiler {
    /// Debian's compiler for bare machines.
    Bare,
    /// Debian's compiler for Linux, which builds bare programs as well.
    Linux,
    /// With its own linker: the name of the program, and that of the linker.
    Clang(&'static str, &'static str),
}

impl Compiler {
    /// Debian's names of clang, the newest last but for the one without a number.
    const CLANGS: [Self; 3] = [
        Self::Clang("clang", "ld.lld"),
        Self::Clang("clang-22", "ld.lld-22"),
        Self::Clang("clang-19", "ld.lld-19"),
    ];
    const GCCS: [Self; 2] = [Self::Bare, Self::Linux];

    fn find(library: Library, isa: Isa) -> Result<Self, SourceError> {
        let runs =
            |name: &str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
        if library == Library::Linux {
            return runs(Self::Linux.name()).then_some(Self::Linux).ok_or(SourceError::NoLinuxCompiler);
        }
        let is_there = |it: &Self| match it {
            Self::Clang(name, linker) => runs(name) && runs(linker),
            gcc => runs(gcc.name()),
        };
        // Debian's GCC 12 makes no use of vectors.
        let (first, then) = if isa.vlen().is_some() {
            (&Self::CLANGS[..], &Self::GCCS[..])
        } else {
            (&Self::GCCS[..], &Self::CLANGS[..])
        };
        first.iter().chain(then).copied().find(is_there).ok_or(SourceError::NoCompiler)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bare => "riscv64-unknown-elf-gcc",
            Self::Linux => "riscv64-linux-gnu-gcc",
            Self::Clang(name, _) => name,
        }
    }

    /// The instruction set. GCC does not assemble the counters and CSRs of a set that does not name them.
    fn march(self, recipe: &Recipe<'_>) -> String {
        let named = recipe.march.contains("zicsr")
            || recipe.march.chars().nth(4).is_some_and(|c| c.eq_ignore_ascii_case(&'g'));
        if named || matches!(self, Self::Clang(..)) {
            recipe.march.to_owned()
        } else {
            format!("{}_zicsr", recipe.march)
        }
    }

    /// The floating-point registers in which functions pass arguments.
    fn float(isa: Isa) -> &'static str {
        match () {
            () if isa.has(Extension::D) => "d",
            () if isa.has(Extension::F) => "f",
            () => "",
        }
    }

    /// The options of every call.
    fn command(self, recipe: &Recipe<'_>) -> Command {
        let mut command = Command::new(self.name());
        if let Self::Clang(..) = self {
            let target = if recipe.isa.is_rv64() { "riscv64-unknown-elf" } else { "riscv32-unknown-elf" };
            command.arg(format!("--target={target}"));
        }
        let abi = if recipe.isa.is_rv64() { "lp64" } else { "ilp32" };
        command.arg(format!("-march={}", self.march(recipe)));
        command.arg(format!("-mabi={abi}{}", Self::float(recipe.isa)));
        // RV64 cannot name the start of RAM with two instructions from zero.
        command.arg(if recipe.isa.is_rv64() { "-mcmodel=medany" } else { "-mcmodel=medlow" });
        command.arg(format!("-O{}", recipe.opt));
        command.args(["-g", "-ffreestanding", "-fno-pic", "-fno-asynchronous-unwind-tables"]);
        command
    }

    /// Its library with the operations that the instructions do not have, as division.
    fn operations(self, recipe: &Recipe<'_>) -> Option<PathBuf> {
        let has = match self {
            Self::Bare => true,
            Self::Linux => recipe.isa.is_rv64() && recipe.isa.has(Extension::D),
            Self::Clang(..) => false,
        };
        // It has a variant for the set as it was named, and the general one for names that it does not know.
        let mut command = self.command(recipe);
        command.arg(format!("-march={}", recipe.march)).arg("-print-libgcc-file-name");
        let output = has.then(|| command.output().ok()).flatten()?;
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());
        path.is_file().then_some(path)
    }

    /// Runs it; its words when it refuses.
    fn run(self, march: &str, command: &mut Command) -> Result<(), SourceError> {
        let output = command.output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        Err(SourceError::Compile { compiler: self.name(), march: march.to_owned(), said })
    }
}

/// Compiles and links a file.
pub(super) fn compile(source: &Path, recipe: &Recipe<'_>) -> Result<Executable, SourceError> {
    let compiler = Compiler::find(recipe.library, recipe.isa)?;
    let folder = tempfile::tempdir_in(trust::temporary()?)?;
    if recipe.library == Library::Linux {
        return for_linux(compiler, source, recipe, &folder);
    }
    let headers = folder.path().join("include");
    write_all(&headers, recipe.headers)?;
    if recipe.library != Library::None {
        write_all(&headers, library::HEADERS)?;
    }
    let object = folder.path().join("object.o");
    let mut command = compiler.command(recipe);
    command.arg("-isystem").arg(&headers);
    command.args(recipe.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
    // A source whose name begins with a dash must not become an option.
    compiler.run(recipe.march, command.args(["-c", "-o"]).arg(&object).arg(std::path::absolute(source)?))?;
    let object_bytes = fs::read(&object)?;
    let object_text = executable_sections(&object_bytes).iter().map(|(_, data)| data.len() as u64).sum();
    let symbols = Symbols::of(&object_bytes);
    let mut units: Vec<(&str, &str)> = recipe.units.to_vec();
    let started = symbols.need_start(recipe);
    if started {
        units.extend(library::UNITS);
    } else if matches!(recipe.library, Library::Start | Library::IfUsed) && symbols.need_functions() {
        units.extend(library::FUNCTIONS);
    }
    if recipe.library == Library::Start && !recipe.entries.iter().any(|name| symbols.defines(name)) {
        return Err(SourceError::NoMain(recipe.entries.join(" or ")));
    }
    let entry = match started {
        true => library::ENTRY,
        false => recipe.entries.iter().find(|name| symbols.defines(name)).copied().unwrap_or("main"),
    };
    let elf = link(compiler, recipe, &folder, &object, &units, entry)?;
    let lines = lines(source)?;
    let main = Elf::parse(&elf).ok().filter(|_| started).and_then(|elf| elf.symbol("main"));
    Ok(Executable { elf, lines, object_text: Some(object_text), needs_stack: !started, main })
}

/// What is shown of the lines of a source, which the compiler knows by its absolute path.
fn lines(source: &Path) -> io::Result<Lines> {
    let known = std::path::absolute(source)?.to_string_lossy().into_owned();
    let text = String::from_utf8_lossy(&fs::read(source)?).into_owned();
    Ok(Lines::of_compiled(known, source.to_string_lossy().into_owned(), text))
}

/// Builds a static program for Linux, with all that the compiler brings along.
fn for_linux(
    compiler: Compiler,
    source: &Path,
    recipe: &Recipe<'_>,
    folder: &TempDir,
) -> Result<Executable, SourceError> {
    let linked = folder.path().join("linked.elf");
    let mut command = Command::new(compiler.name());
    command.args(["-g", "-static", "-o"]).arg(&linked).arg(format!("-O{}", recipe.opt));
    if !recipe.headers.is_empty() {
        let headers = folder.path().join("include");
        write_all(&headers, recipe.headers)?;
        command.arg("-isystem").arg(&headers);
    }
    compiler.run(recipe.march, command.arg(std::path::absolute(source)?))?;
    Ok(Executable { elf: fs::read(&linked)?, lines: lines(source)?, ..Executable::default() })
}

/// Links an object with sources in memory.
fn link(
    compiler: Compiler,
    recipe: &Recipe<'_>,
    folder: &TempDir,
    object: &Path,
    units: &[(&str, &str)],
    entry: &str,
) -> Result<Vec<u8>, SourceError> {
    let linked = folder.path().join("linked.elf");
    let before = folder.path().join("before.o");
    if recipe.skipped > 0 {
        let empty = folder.path().join("before.s");
        // The linker puts this section first, before that of `main`.
        fs::write(&empty, format!(".section .text.unlikely,\"ax\"\n.skip {}\n", recipe.skipped))?;
        let mut command = compiler.command(recipe);
        compiler.run(recipe.march, command.args(["-c", "-o"]).arg(&before).arg(&empty))?;
    }
    let mut command = compiler.command(recipe);
    command.args(["-nostdlib", "-static", "-Wl,--build-id=none"]);
    match compiler {
        Compiler::Clang(..) => {
            command.args(["-fuse-ld=lld", &format!("-Wl,--image-base={:#x}", recipe.base)])
        }
        _ => command
            .args(["-nostartfiles", "-Wl,--no-warn-rwx-segments"])
            .arg(format!("-Wl,-Ttext-segment={:#x}", recipe.base)),
    };
    command.arg(format!("-Wl,-e,{entry}")).arg("-o").arg(&linked);
    command.args((recipe.skipped > 0).then_some(&before)).arg(object);
    if !units.is_empty() {
        // A loop of the library must not become a call of itself.
        command.arg("-fno-builtin");
        if !matches!(compiler, Compiler::Clang(..)) {
            command.arg("-fno-tree-loop-distribute-patterns");
        }
        command.arg("-isystem").arg(folder.path().join("include"));
        let place = folder.path().join("units");
        // Lines name the library, not a folder that is gone.
        command.arg(format!("-fdebug-prefix-map={}=(library)", place.display()));
        command.args(write_all(&place, units)?);
    }
    command.args(compiler.operations(recipe));
    compiler.run(recipe.march, &mut command)?;
    Ok(fs::read(&linked)?)
}

/// Writes texts into a folder; their paths.
fn write_all(folder: &Path, texts: &[(&str, &str)]) -> io::Result<Vec<PathBuf>> {
    let write = |(name, text): &(&str, &str)| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, text)?;
        Ok(path)
    };
    fs::create_dir_all(folder)?;
    texts.iter().map(write).collect()
}

/// The names that an object defines and uses.
struct Symbols {
    defined: Vec<String>,
    undefined: Vec<String>,
}

impl Symbols {
    fn of(object: &[u8]) -> Self {
        let (mut defined, mut undefined) = (Vec::new(), Vec::new());
        if let Ok(file) = object::File::parse(object) {
            for symbol in file.symbols() {
                let name = symbol.name().unwrap_or_default().to_owned();
                match symbol.is_undefined() {
                    true if !name.is_empty() => undefined.push(name),
                    false if symbol.is_global() => defined.push(name),
                    _ => {}
                }
            }
        }
        Self { defined, undefined }
    }

    fn defines(&self, name: &str) -> bool {
        self.defined.iter().any(|defined| defined == name)
    }

    /// Whether our start-up code and library belong to the program.
    fn need_start(&self, recipe: &Recipe<'_>) -> bool {
        if self.defines(library::ENTRY) || !self.defines("main") {
            return false;
        }
        match recipe.library {
            Library::None | Library::Linux => false,
            Library::Start => true,
            Library::IfUsed => self.need_functions(),
        }
    }

    /// Whether functions are used that are not defined. What begins with an underscore comes from the linker or from the
    /// compiler's own library.
    fn need_functions(&self) -> bool {
        self.undefined.iter().any(|name| !name.starts_with('_'))
    }
}
