//! `cargo xtask guests`: builds the guest images, or checks that those in the tree equal what their sources give. The images
//! for RISC-V are in `guests/riscv`, the one for x86-64 is in `guests/x86`, the BPF programs of `exec` in `guests/bpf`,
//! the program and the object of `interpose/preload` in `guests/preload`.
//!
//! A source file names its images in its first lines: `// image: NAME [OPTION...]`. An option is one for the compiler
//! (`-DNAME`), `kernel=NAME` (a program for this kernel), `linux` (a static program for Linux or the proxy kernel), `bare`
//! (a program for machine mode without a kernel) or `alone` (one C file for RV32, without start-up code). The image of a
//! kernel contains the program of the bill.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{need, printed};

/// Debian's bare-metal cross compiler; `apt-get install gcc-riscv64-unknown-elf`.
pub(crate) const COMPILER: &str = "riscv64-unknown-elf-gcc";
/// Another release may generate other instructions than those that the documentation counts.
const RELEASE: &str = "12.2";

/// No option may make the image depend on the place or time of the build.
const COMPILE: &[&str] = &[
    "-march=rv64gc",
    "-mabi=lp64",
    "-mcmodel=medany",
    "-O2",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-pic",
    "-fno-ident",
    "-fno-asynchronous-unwind-tables",
    // A loop must not become a call of memcpy: there is no C library.
    "-fno-tree-loop-distribute-patterns",
    "-Wall",
    "-Wextra",
    // The system call table sets a default for all entries first.
    "-Wno-override-init",
    "-Werror",
    "-Iinclude",
    "-Iuser",
];
const LINK: &[&str] = &[
    "-march=rv64gc",
    "-mabi=lp64",
    "-nostdlib",
    "-nostartfiles",
    "-static",
    "-Wl,--build-id=none",
    "-Wl,--strip-debug",
    "-Wl,-z,max-page-size=4096",
    "-Wl,--no-warn-rwx-segments",
];

/// The sources that all kernels share.
const KERNEL: &[&str] = &[
    "kernel/boot.S",
    "kernel/boot.c",
    "kernel/calls.c",
    "kernel/devices.c",
    "kernel/devicetree.c",
    "kernel/space.c",
];
const START: &str = "user/start.S";
const LINUX_START: &str = "user/linux.S";
const BILL: &[&str] = &["user/cross.S", "user/bill.c"];

/// One image to build.
struct Image {
    name: String,
    /// More options of the compiler.
    flags: Vec<String>,
    /// Options of the linker.
    link: &'static [&'static str],
    kernel: Vec<String>,
    user: Vec<String>,
}

/// After the kernel, at addresses without devices.
const WITH_KERNEL: &[&str] = &["-Wl,-T,link.ld"];
/// At the address of Linux programs in the default linker script.
const LINUX: &[&str] = &["-Wl,-e,user_start"];
/// At the start of RAM. Without relaxation, which would use gp: no code sets it.
const BARE: &[&str] = &["-Wl,-Ttext-segment=0x80000000", "-Wl,--no-relax"];
/// With default options, but at the start of RAM; relaxation is part of the experiment. The linker warns that there is no
/// `_start`, and uses the start of .text.
const ALONE: &[&str] = &["-Wl,-Ttext-segment=0x80000000"];
/// With few options, because those of the other images would move main.
const COMPILE_ALONE: &[&str] = &[
    "-mabi=ilp32",
    "-fno-pic",
    "-fno-ident",
    "-fno-asynchronous-unwind-tables",
    "-Wall",
    "-Wextra",
    "-Werror",
];

/// GCC for x86-64, by its name on every architecture of Debian.
const X86_COMPILER: &str = "x86_64-linux-gnu-gcc";
const X86_INSTALL: &str = "apt-get install gcc (on x86-64) or gcc-x86-64-linux-gnu (elsewhere)";

/// The bare guest: a few files of assembly, one flat image. In their order in the image.
const X86_SOURCES: &[&str] = &["image", "boot", "phases"];
const X86_LINK: &[&str] = &[
    "-nostdlib",
    "-static",
    "-no-pie",
    "-Wl,-T,link.ld",
    "-Wl,--oformat=binary",
    "-Wl,--build-id=none",
    "-Wl,-z,noexecstack",
    "-Wl,--no-warn-rwx-segments",
];

/// The BPF compiler, and the release whose instructions and type information are in the tree.
const BPF_COMPILER: &str = "clang-14";
const BPF_INSTALL: &str = "apt-get install clang-14 llvm-14";
const BPF_COMPILE: &[&str] = &[
    "-target",
    "bpf",
    "-mcpu=v3",
    "-O2",
    "-g",
    "-fdebug-compilation-dir=.",
    "-Wall",
    "-Werror",
    "-c",
    "toll.c",
];

/// The architecture, and the dynamic loader of its GNU C library.
const PRELOAD: &[(&str, &str)] = &[
    ("x86_64", "/lib64/ld-linux-x86-64.so.2"),
    ("aarch64", "/lib/ld-linux-aarch64.so.1"),
    ("riscv64", "/lib/ld-linux-riscv64-lp64d.so.1"),
];
/// No start-up code and nothing else of a C library, so that the bytes do not depend on its release.
const PRELOAD_COMPILE: &[&str] = &[
    "-O2",
    "-fPIC",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-ident",
    "-fno-asynchronous-unwind-tables",
    "-fno-stack-protector",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-nostdlib",
    "-s",
    "-Wl,-z,now,-z,norelro,-z,noexecstack,-z,noseparate-code",
    "-Wl,--build-id=none,--hash-style=gnu",
];

/// Build the guest images (x86-64: gcc; RISC-V: Debian's gcc-riscv64-unknown-elf; BPF: clang-14; preload: gcc of three architectures)
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if the images in the tree differ from what their sources give
    #[arg(long)]
    check: bool,
}

impl Args {
    /// Builds or checks.
    ///
    /// # Errors
    /// When a compiler is missing or fails, or when an image differs.
    pub(crate) fn run(&self) -> Result<()> {
        x86(self.check)?;
        bpf(self.check)?;
        preload(self.check)?;
        guests(self.check)
    }
}

/// Builds all images into the tree, or with `check` compares them.
pub(crate) fn guests(check: bool) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/riscv");
    let compiler = need(COMPILER, "apt-get install gcc-riscv64-unknown-elf")?;
    let version = printed(Command::new(compiler).arg("-dumpfullversion"))?;
    ensure!(
        version.starts_with(RELEASE),
        "{COMPILER} is release {}; the images are built with {RELEASE}, as in Debian 12",
        version.trim()
    );
    let work = tempfile::tempdir()?;
    let built = images(&root)?.into_iter().map(|image| {
        let bytes = build(&root, work.path(), &image).with_context(|| format!("image {}", image.name))?;
        Ok((format!("{}.elf", image.name), bytes))
    });
    let mut built = built.collect::<Result<Vec<_>>>()?;
    for (name, march, abi) in [("libc-rv64.s", "rv64i", "lp64"), ("libc-rv32.s", "rv32i", "ilp32")] {
        built.push((name.to_owned(), library(&root, work.path(), march, abi)?));
    }
    keep(&root, check, &built)
}

/// Writes the images into the folder of their sources, or with `check` compares them with what is there.
fn keep(root: &Path, check: bool, built: &[(String, Vec<u8>)]) -> Result<()> {
    let (kept, guests) = (root.join("images"), root.file_name().unwrap_or_default().display());
    let mut differing = Vec::new();
    for (name, bytes) in built {
        let place = kept.join(name);
        if !check {
            fs::write(&place, bytes).with_context(|| place.display().to_string())?;
        } else if fs::read(&place).ok().as_ref() != Some(bytes) {
            differing.push(name.as_str());
        }
    }
    for entry in fs::read_dir(&kept)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let known = built.iter().any(|(built, _)| *built == name);
        ensure!(known, "guests/{guests}/images/{name} is not named by any source; remove it");
    }
    ensure!(
        differing.is_empty(),
        "images of guests/{guests} that differ from their sources: {}; run `cargo xtask guests` and commit the result",
        differing.join(", ")
    );
    Ok(())
}

/// The functions of the C library of sources as assembly, for programs in assembly that call them.
fn library(root: &Path, work: &Path, march: &str, abi: &str) -> Result<Vec<u8>> {
    let out = work.join("libc.s");
    let mut command = Command::new(COMPILER);
    command.current_dir(root).args(COMPILE).args([format!("-march={march}"), format!("-mabi={abi}")]);
    compile(command.args(["-isystem", "libc", "-S", "libc/libc.c", "-o"]).arg(&out))?;
    Ok(fs::read(&out)?)
}

/// Reads the `// image:` lines of all kernels and programs.
fn images(root: &Path) -> Result<Vec<Image>> {
    let mut images = Vec::new();
    for folder in ["kernels", "programs"] {
        let mut files: Vec<PathBuf> = fs::read_dir(root.join(folder))?
            .map(|entry| entry.map(|e| e.path()))
            .collect::<Result<_, _>>()?;
        files.sort();
        for file in files {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let source = format!("{folder}/{name}");
            let before = images.len();
            for line in text.lines().map_while(|line| line.strip_prefix("// image: ")) {
                images.push(image(line, folder, &source)?);
            }
            ensure!(images.len() > before, "{source} does not begin with a line `// image: NAME`");
        }
    }
    Ok(images)
}

fn image(line: &str, folder: &str, source: &str) -> Result<Image> {
    let mut words = line.split_whitespace();
    let name = words.next().with_context(|| format!("{source}: an image without a name"))?.to_owned();
    let mut image = Image { name, flags: Vec::new(), link: &[], kernel: Vec::new(), user: Vec::new() };
    let mut kernel = (folder == "kernels").then(|| source.to_owned());
    for word in words {
        match word.split_once('=') {
            Some(("kernel", name)) => kernel = Some(format!("kernels/{name}.S")),
            None if word == "linux" => image.link = LINUX,
            None if word == "bare" => image.link = BARE,
            None if word == "alone" => image.link = ALONE,
            _ if word.starts_with('-') => image.flags.push(word.to_owned()),
            _ => bail!("{source}: unknown image option `{word}`"),
        }
    }
    ensure!(
        kernel.is_some() == image.link.is_empty(),
        "{source}: {} needs one of kernel=NAME, linux, bare and alone",
        image.name
    );
    let files = |files: &[&str]| files.iter().map(|&file| file.to_owned()).collect::<Vec<_>>();
    if image.link == LINUX {
        image.user = files(&[LINUX_START]);
    }
    if let Some(kernel) = kernel {
        image.link = WITH_KERNEL;
        image.kernel = files(KERNEL);
        image.kernel.push(kernel);
        image.user = files(&[START]);
    }
    match folder {
        "kernels" => image.user.extend(files(BILL)),
        _ => image.user.push(source.to_owned()),
    }
    Ok(image)
}

/// Compiles and links one image and returns its bytes.
fn build(root: &Path, work: &Path, image: &Image) -> Result<Vec<u8>> {
    let folder = work.join(&image.name);
    fs::create_dir_all(&folder)?;
    let mut objects = Vec::new();
    for (prefix, sources) in [("kernel-", &image.kernel), ("user-", &image.user)] {
        for source in sources {
            // The linker script separates kernel, user and handler code by these names.
            let stem = source.rsplit('/').next().unwrap_or(source).replace('.', "-");
            let object = folder.join(format!("{prefix}{stem}.o"));
            let mut command = Command::new(COMPILER);
            let usual = if image.link == ALONE { COMPILE_ALONE } else { COMPILE };
            command.current_dir(root).args(usual).args(&image.flags);
            compile(command.args(["-c", source, "-o"]).arg(&object))?;
            objects.push(object);
        }
    }
    let out = folder.join("image.elf");
    let mut command = Command::new(COMPILER);
    command.current_dir(root).args(LINK).args(image.link);
    if image.link == ALONE {
        command.arg("-mabi=ilp32");
    }
    command.args(&image.flags);
    compile(command.arg("-o").arg(&out).args(&objects))?;
    Ok(fs::read(&out)?)
}

/// Runs a compiler or linker. The error is all that it prints.
fn compile(command: &mut Command) -> Result<()> {
    let output =
        command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// Builds `images/tolls.bin`, or with `check` compares it with what its sources give.
fn x86(check: bool) -> Result<()> {
    need(X86_COMPILER, X86_INSTALL)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/x86");
    let work = tempfile::tempdir()?;
    let image = work.path().join("tolls.bin");
    let mut link = Command::new(X86_COMPILER);
    link.current_dir(&root).args(X86_LINK).arg("-o").arg(&image);
    for source in X86_SOURCES {
        let object = work.path().join(format!("{source}.o"));
        let mut command = Command::new(X86_COMPILER);
        command.current_dir(&root).args(["-Wall", "-Werror", "-c"]).arg(format!("{source}.S"));
        compile(command.arg("-o").arg(&object))?;
        link.arg(object);
    }
    compile(&mut link)?;
    keep(&root, check, &[("tolls.bin".to_owned(), fs::read(&image)?)])
}

/// Builds `images/toll.o`, or with `check` compares it with what its source gives.
fn bpf(check: bool) -> Result<()> {
    need(BPF_COMPILER, BPF_INSTALL)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/bpf");
    let work = tempfile::tempdir()?;
    let object = work.path().join("toll.o");
    compile(Command::new(BPF_COMPILER).current_dir(&root).args(BPF_COMPILE).arg("-o").arg(&object))?;
    compile(Command::new("llvm-strip-14").arg("-g").arg(&object))?;
    keep(&root, check, &[("toll.o".to_owned(), fs::read(&object)?)])
}

/// Builds `images/caller-*` and `images/interposer-*`, or with `check` compares them with what their sources give.
fn preload(check: bool) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/preload");
    let work = tempfile::tempdir()?;
    let mut built = Vec::new();
    for (arch, loader) in PRELOAD {
        let (compiler, install) = preload_compiler(arch);
        need(&compiler, &install)?;
        let link = |source: &str, name: &str, options: &[&str], library: Option<&Path>| -> Result<PathBuf> {
            let out = work.path().join(format!("{name}-{arch}"));
            let mut command = Command::new(&compiler);
            command.current_dir(&root).args(PRELOAD_COMPILE).args(options);
            compile(command.arg(source).args(library).arg("-o").arg(&out))?;
            Ok(out)
        };
        let start = format!("-Wl,--dynamic-linker={loader}");
        for (source, name, library, options) in [
            ("caller.c", "caller", "libc.so.6", ["-pie", start.as_str()]),
            // Where dlsym is, or was before glibc 2.34.
            ("interposer.c", "interposer", "libdl.so.2", ["-shared", "-Wl,-soname=tollgate-interposer.so"]),
        ] {
            let soname = format!("-Wl,-soname={library}");
            let library = link("library.c", library, &["-shared", &soname], None)?;
            built.push((format!("{name}-{arch}"), fs::read(link(source, name, &options, Some(&library))?)?));
        }
    }
    keep(&root, check, &built)
}

/// GCC for an architecture, by its name on every architecture of Debian, and what installs it.
fn preload_compiler(arch: &str) -> (String, String) {
    let package = arch.replace('_', "-");
    (format!("{arch}-linux-gnu-gcc"), format!("apt-get install gcc-{package}-linux-gnu"))
}

#[cfg(test)]
mod tests {
    use super::{
        BPF_COMPILER, BPF_INSTALL, COMPILER, PRELOAD, X86_COMPILER, X86_INSTALL, bpf, guests, image, preload,
        preload_compiler, x86,
    };

    #[test]
    fn images_agree_with_their_sources() {
        if tollgate_testkit::program(COMPILER).is_none() {
            return tollgate_testkit::skip!("{COMPILER} is missing: apt-get install gcc-riscv64-unknown-elf");
        }
        guests(true).expect("the images agree");
    }

    #[test]
    fn an_image_names_exactly_one_environment() {
        assert!(image("a linux", "programs", "programs/a.c").is_ok());
        assert!(image("a kernel=full -O0", "programs", "programs/a.c").is_ok());
        assert!(image("a -DX", "kernels", "kernels/a.S").is_ok());
        for wrong in ["", "a", "a linux kernel=full", "a bear"] {
            assert!(image(wrong, "programs", "programs/a.c").is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_image_agrees_with_its_sources() {
        if tollgate_testkit::program(X86_COMPILER).is_none() {
            return tollgate_testkit::skip!("{X86_COMPILER} is missing: {X86_INSTALL}");
        }
        x86(true).expect("the image agrees");
    }

    #[test]
    fn the_bpf_object_agrees_with_its_source() {
        if tollgate_testkit::program(BPF_COMPILER).is_none() {
            return tollgate_testkit::skip!("{BPF_COMPILER} is missing: {BPF_INSTALL}");
        }
        bpf(true).expect("the object agrees");
    }

    #[test]
    fn the_preloaded_objects_agree_with_their_sources() {
        for (arch, _) in PRELOAD {
            let (compiler, install) = preload_compiler(arch);
            if tollgate_testkit::program(&compiler).is_none() {
                return tollgate_testkit::skip!("{compiler} is missing: {install}");
            }
        }
        preload(true).expect("the objects agree");
    }
}
