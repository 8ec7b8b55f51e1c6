//! Foreign readers: installed once from their registries into the build's own cache, at pinned versions.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A registry with readers of ours.
#[derive(Clone, Copy)]
pub(crate) enum Foreign {
    /// PyPI, by pip: `requirements.txt`.
    Python,
    /// Go modules: `go.mod`, `go.sum`.
    Go,
    /// npm: `package-lock.json`.
    Node,
}

/// A file of `tests/readers`.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers").join(name)
}

impl Foreign {
    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Go => "go",
            Self::Node => "node",
        }
    }

    /// The programs that install it, and the Debian packages that have them.
    fn needs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Python => &[("python3", "python3"), ("pip3", "python3-pip")],
            Self::Go => &[("go", "golang-go")],
            Self::Node => &[("node", "nodejs"), ("npm", "npm")],
        }
    }

    /// The files that pin its versions: the cache is named after what they say.
    fn pins(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["requirements.txt"],
            Self::Go => &["go.mod", "go.sum"],
            Self::Node => &["package.json", "package-lock.json"],
        }
    }

    /// What was installed: the folder of Python's modules, the benchstat program, the folder of Node's modules. Says that the test
    /// skips, and why, when it is not available here.
    pub(crate) fn ready(self) -> Option<PathBuf> {
        match self.installed() {
            Ok(path) => Some(path),
            Err(why) => {
                let test = std::thread::current().name().unwrap_or_default().to_owned();
                tollgate_testkit::skipped(&format!("tollgate-report::readers::{test}"), None, &why);
                None
            }
        }
    }

    fn installed(self) -> Result<PathBuf, String> {
        for (program, package) in self.needs() {
            if tollgate_testkit::program(program).is_none() {
                return Err(format!("{program} is missing: apt-get install {package}"));
            }
        }
        let pins: String = self.pins().iter().map(|pin| fs::read_to_string(file(pin)).unwrap()).collect();
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readers");
        fs::create_dir_all(&cache).map_err(|error| error.to_string())?;
        let dir = cache.join(format!("{}-{:016x}", self.name(), hash(&pins)));
        let made = dir.join(match self {
            Self::Python => "site",
            Self::Go => "benchstat",
            Self::Node => "node_modules",
        });
        // Tests run side by side, also in several processes: one installs, the others wait.
        let lock =
            File::create(cache.join(format!("{}.lock", self.name()))).map_err(|error| error.to_string())?;
        lock.lock().map_err(|error| error.to_string())?;
        let whole = dir.join("installed");
        if !whole.exists() {
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
            self.install(&dir)?;
            fs::write(whole, "").map_err(|error| error.to_string())?;
        }
        Ok(made)
    }

    fn install(self, dir: &Path) -> Result<(), String> {
        for pin in self.pins() {
            fs::copy(file(pin), dir.join(pin)).map_err(|error| error.to_string())?;
        }
        let step = |program: &str, args: &[&str]| {
            let mut command = Command::new(program);
            command.args(args).current_dir(dir).stdin(Stdio::null());
            if program == "go" {
                // A toolchain of another version is not fetched for this.
                command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=mod -modcacherw");
                command.env("GOPATH", dir.join("modules")).env_remove("GOMODCACHE");
            }
            let output = command.output().map_err(|error| format!("{program}: {error}"))?;
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
            let failed = format!("{program} {} failed (is the registry in reach?): {last}", args[0]);
            if output.status.success() { Ok(()) } else { Err(failed) }
        };
        match self {
            Self::Python => {
                let args = ["install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target", "site"];
                step("pip3", &[&args[..], &["-r", "requirements.txt"]].concat())
            }
            Self::Go => step("go", &["build", "-o", "benchstat", "golang.org/x/perf/cmd/benchstat"]),
            Self::Node => step("npm", &["ci", "--ignore-scripts", "--no-audit", "--no-fund"]),
        }
    }
}

/// FNV-1a: a name for a cache, the same in every build.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What a program prints on standard output and error; it must not fail.
pub(crate) fn run(command: &mut Command) -> (String, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// Python with the modules that were installed.
pub(crate) fn python(site: &Path) -> Command {
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", site).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// What a reader of `read.py` saw in a text.
pub(crate) fn read(site: &Path, format: &str, text: &str) -> serde_json::Value {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("exported");
    fs::write(&path, text).unwrap();
    let (seen, _) = run(python(site).arg(file("read.py")).arg(format).arg(&path));
    serde_json::from_str(&seen).unwrap()
}
