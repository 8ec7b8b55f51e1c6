//! `cargo xtask python`: the Python package, checked, tested, built as a wheel and installed.

mod wheel;

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tollgate_testkit::{Missing, need, printed, workspace};
use wheel::Packer;

/// The Python of the pinned packages: older ones can use the package, and not all of its tests' tools.
const LEAST: (u32, u32) = (3, 11);

/// The other versions that the package promises to work with, where they are found.
const OTHERS: [&str; 5] = ["python3.10", "python3.11", "python3.12", "python3.13", "python3.14"];

/// Makes cargo resolve the features of dependencies as for `cargo test --workspace`, so that it finds them built: it does so
/// when all packages are chosen, and a test of any.
const AS_TESTS: [&str; 3] = ["--workspace", "--test", "tree"];

/// What the output of pip contains if its registry cannot be reached.
const UNREACHABLE: [&str; 4] =
    ["NewConnectionError", "Failed to establish a new connection", "ConnectTimeoutError", "ProxyError"];

/// Check, test and install the Python package
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the tests with these words in their names
    #[arg(value_name = "WORDS")]
    words: Option<String>,
    /// Only build the wheel for this architecture, into target/dist: x86_64, aarch64 or riscv64; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "words")]
    wheel: Vec<String>,
    /// Pack this program in place of one that is built here; needs one --wheel
    #[arg(long, value_name = "FILE", requires = "wheel")]
    program: Option<PathBuf>,
}

impl Args {
    /// Runs everything, or some tests.
    ///
    /// # Errors
    /// What failed, or what is missing.
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let package = Package::ready(&root)?;
        if !self.wheel.is_empty() {
            ensure!(self.program.is_none() || self.wheel.len() == 1, "--program is of one architecture");
            for arch in &self.wheel {
                let components = Some(machines::dist::components(&root, arch)?);
                let program = match &self.program {
                    Some(program) => program.clone(),
                    None => machines::dist::program(&root, arch)?,
                };
                let packer = Packer { components, ..package.packer() };
                let wheel = wheel::pack(packer, &program, arch, &root.join("target/dist"))?;
                println!("{} ({:.2} MB)", wheel.display(), fs::metadata(&wheel)?.len() as f64 / 1e6);
            }
            return Ok(());
        }
        match &self.words {
            Some(words) => package.tests(&["-k", words]),
            None => package.check(),
        }
    }
}

/// The package, the debug build of the program, and the installed tools.
pub(crate) struct Package {
    folder: PathBuf,
    target: PathBuf,
    tools: PathBuf,
}

impl Package {
    /// Builds the program and installs the tools, once for each list of versions.
    ///
    /// # Errors
    /// [`Missing`] without Python, pip or the registry.
    pub(crate) fn ready(root: &Path) -> Result<Self> {
        let folder = root.join("python");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let tools = tools(&folder.join("tests/requirements.txt"), &target.join("python"))?;
        let built =
            workspace::cargo(root).args(["build", "--quiet", "--bin", "tollgate"]).args(AS_TESTS).status()?;
        ensure!(built.success(), "the program was not built");
        Ok(Self { folder, target, tools })
    }

    /// The workspace.
    fn root(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// Style, types, tests, and the wheel.
    ///
    /// # Errors
    /// What failed.
    pub(crate) fn check(&self) -> Result<()> {
        let mut failed = Vec::new();
        for (name, command) in [
            ("ruff check", &mut self.tool("ruff", &["check", "--quiet"])),
            ("ruff format", &mut self.tool("ruff", &["format", "--check", "--quiet"])),
            ("mypy", &mut self.python(&["-m", "mypy", "--no-error-summary"])),
        ] {
            if !command.status()?.success() {
                failed.push(name);
            }
        }
        // The tests mostly wait, and the wheels mostly compile. The wheel from the sources comes last: its build replaces the
        // program of `cross` for this machine by its own.
        let (tests, wheels) = std::thread::scope(|scope| {
            let wheels = scope.spawn(|| {
                self.cross_wheels().context("the wheels of the programs of cross")?;
                self.wheel().context("the wheel")
            });
            (self.tests(&[]), wheels.join())
        });
        let wheels = wheels.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if let Err(error) = tests {
            println!("{error:#}");
            failed.push("pytest");
        }
        if failed.is_empty() {
            return wheels;
        }
        if let Err(error) = wheels {
            println!("{error:#}");
        }
        bail!("{} failed", failed.join(", "))
    }

    /// Runs the tests.
    fn tests(&self, args: &[&str]) -> Result<()> {
        let mut command = self.python(&["-m", "pytest", "-p", "no:cacheprovider"]);
        let status = command.args(args).status().context("pytest could not be started")?;
        ensure!(status.success(), "pytest: {status}");
        Ok(())
    }

    /// Builds a wheel around the quickly built program, installs it into an empty environment of each Python, and calls command
    /// and module.
    fn wheel(&self) -> Result<()> {
        let place = tempfile::tempdir()?;
        let wheel = self.build(&place.path().join("wheels"))?;
        let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
        ensure!(name.contains("manylinux") && name.contains("musllinux"), "{name} is not for every Linux");
        let alone = |program: &Path, args: &[&str]| {
            let mut command = Command::new(program);
            command
                .args(args)
                .current_dir(place.path())
                .env_remove("PYTHONPATH")
                .env_remove("TOLLGATE_PROGRAM");
            printed(&mut command)
        };
        let code = "import tollgate_perf; print(*(row['estimate'] for row in tollgate_perf.riscv.trap(core='rocket').rows()))";
        let mut absent = Vec::new();
        for interpreter in ["python3"].into_iter().chain(OTHERS) {
            let found = Command::new(interpreter).arg("--version").stderr(Stdio::null()).output();
            if !found.is_ok_and(|it| it.status.success()) {
                absent.push(interpreter);
                continue;
            }
            let venv = place.path().join(interpreter);
            printed(Command::new(interpreter).args(["-m", "venv", "--without-pip"]).arg(&venv))?;
            let python = venv.join("bin/python");
            printed(
                Command::new("pip3")
                    .arg("--python")
                    .arg(&python)
                    .args(["install", "--quiet", "--no-index", "--no-deps"])
                    .arg(&wheel),
            )?;
            let (module, command) = (
                alone(&python, &["-c", code]).with_context(|| interpreter.to_owned())?,
                alone(&venv.join("bin/tollgate"), &["riscv", "trap", "--core", "rocket", "--no-save"])?,
            );
            let figure = module.split('.').next().unwrap_or_default();
            ensure!(
                !figure.is_empty() && command.contains(figure),
                "{interpreter}: the module gives {module}the command {command}"
            );
        }
        let linked = printed(Command::new("ldd").arg(place.path().join("python3/bin/tollgate")))?;
        ensure!(linked.contains("statically linked"), "the program of the wheel needs libraries: {linked}");
        if !absent.is_empty() {
            skip(
                "wheel in other versions of Python",
                &format!("{} cannot be started here", absent.join(", ")),
            );
        }
        Ok(())
    }

    /// What makes a wheel around a program.
    fn packer(&self) -> Packer {
        let mut describe = self.tool("maturin", &["pep517", "write-dist-info", "--metadata-directory"]);
        describe.current_dir(self.root());
        Packer {
            module: self.folder.join("src/tollgate_perf"),
            describe,
            pack: self.python(&["-m", "wheel", "pack"]),
            time: machines::dist::time(self.root()),
            components: None,
        }
    }

    /// Packs a wheel around each program of `cargo xtask cross`, installs it, and calls its program.
    fn cross_wheels(&self) -> Result<()> {
        if let Err(missing) = wheel::needs() {
            skip("wheels of the programs of cross", &missing.0);
            return Ok(());
        }
        let args = ["riscv", "trap", "--core", "rocket", "--no-save"];
        let expected = printed(Command::new(self.target.join("debug/tollgate")).args(args))?;
        for it in machines::cross::programs(self.root()) {
            let place = tempfile::tempdir()?;
            match it.program {
                Ok(program) => {
                    let wheel = wheel::pack(self.packer(), &program, it.arch, place.path())?;
                    wheel::check(&wheel, it.arch, it.emulator, &args, &expected)?;
                    let other = tempfile::tempdir()?;
                    let again = wheel::pack(self.packer(), &program, it.arch, other.path())?;
                    ensure!(fs::read(&wheel)? == fs::read(again)?, "two wheels of one program differ");
                }
                Err(why) => skip(&format!("wheel::{}", it.arch), &why),
            }
        }
        Ok(())
    }

    /// The size of the wheel for this machine's architecture, as it is published.
    ///
    /// # Errors
    /// When it cannot be built.
    pub(crate) fn wheel_bytes(&self) -> Result<u64> {
        let (place, arch) = (tempfile::tempdir()?, std::env::consts::ARCH);
        let program = machines::dist::program(self.root(), arch)?;
        Ok(fs::metadata(wheel::pack(self.packer(), &program, arch, place.path())?)?.len())
    }

    /// Packs the sources, and builds a wheel with the program that builds quickly: from the packed sources alone where tests may take
    /// minutes, else from the tree, for which it is built already. It is static, so the wheel is for systems with either C library.
    fn build(&self, wheels: &Path) -> Result<PathBuf> {
        let own = machines::cross::own_build(self.root())?;
        let commit =
            printed(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).current_dir(&self.folder))?;
        let mut maturin = self.tool("maturin", &["build", "--quiet", "--strip"]);
        if tollgate_testkit::all() {
            maturin.arg("--sdist");
        } else {
            let mut pack = self.tool("maturin", &["sdist", "--out"]);
            printed(pack.arg(wheels).current_dir(self.root())).context("the source distribution")?;
        }
        maturin.args(["--compatibility", "manylinux_2_17", "--profile", own.profile, "--target", own.triple]);
        maturin
            .arg("--out")
            .arg(wheels)
            .current_dir(self.root())
            .env_remove("RUSTFLAGS")
            .envs(own.environment);
        printed(maturin.env("TOLLGATE_COMMIT", commit.trim()))?;
        let tag = format!("--platform-tag=+musllinux_1_2_{}", std::env::consts::ARCH);
        printed(self.python(&["-m", "wheel", "tags", "--remove", &tag]).arg(made(wheels)?))?;
        made(wheels)
    }

    /// A program of the tools, in the package's folder.
    fn tool(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(self.tools.join("bin").join(name));
        command.args(args).current_dir(&self.folder).env("PYTHONPATH", &self.tools);
        // Nothing is left in the tree.
        let cache = self.target.join("python/cache");
        command.env("RUFF_CACHE_DIR", cache.join("ruff")).env("MYPY_CACHE_DIR", cache.join("mypy"));
        command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
        command
    }

    /// Python with the tools, the package and the program.
    pub(crate) fn python(&self, args: &[&str]) -> Command {
        let path = std::env::join_paths([self.folder.join("src"), self.tools.clone()]).unwrap_or_default();
        let mut command = self.tool("python3", &[]);
        let mut python = Command::new("python3");
        python.args(args).current_dir(&self.folder).stdin(Stdio::null());
        for (name, value) in command.env("PYTHONPATH", path).get_envs() {
            python.env(name, value.unwrap_or_default());
        }
        python.env("TOLLGATE_PROGRAM", self.target.join("debug/tollgate"));
        python
    }
}

/// Says that something was not checked, and why.
fn skip(what: &str, why: &str) {
    tollgate_testkit::skipped(&format!("python::{what}"), None, why);
}

/// The wheel in a folder.
fn made(folder: &Path) -> Result<PathBuf> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let paths: Vec<PathBuf> = paths.collect::<std::io::Result<_>>()?;
    let wheel = paths.into_iter().find(|path| path.extension().is_some_and(|it| it == "whl"));
    wheel.context("maturin made no wheel")
}

/// The folder with the pinned packages.
fn tools(list: &Path, cache: &Path) -> Result<PathBuf> {
    need("python3", "apt-get install python3")?;
    need("pip3", "apt-get install python3-pip")?;
    let version = printed(Command::new("python3").args(["-c", "import sys; print(*sys.version_info[:2])"]))?;
    let mut numbers = version.split_whitespace().filter_map(|it| it.parse::<u32>().ok());
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) < LEAST {
        bail!(Missing(format!("python3 is {major}.{minor}, the tests' tools need {}.{}", LEAST.0, LEAST.1)));
    }
    let text = fs::read_to_string(list)?;
    let name = format!("{major}.{minor}-{:016x}", hash(&text));
    tollgate_testkit::cache::obtain(cache, &name, |folder| {
        println!("  pip3 install -r {}", list.display());
        let output = Command::new("pip3")
            .args(["install", "--quiet", "--no-deps", "--only-binary", ":all:", "--retries", "2", "--target"])
            .arg(folder)
            .arg("--requirement")
            .arg(list)
            .stdin(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() && UNREACHABLE.iter().any(|sign| said.contains(sign)) {
            bail!(Missing("pip cannot reach its registry".to_owned()));
        }
        if !output.status.success() {
            std::io::stderr().write_all(&output.stderr)?;
            bail!("pip3 install failed, see above");
        }
        Ok(())
    })
}

/// FNV-1a: a name for a cache, the same in every build.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
