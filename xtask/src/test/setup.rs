//! What the tests need beyond the toolchain, as a table, and its installation if that is allowed.

use super::summary::Session;
use anyhow::{Result, bail};
use std::process::Command;
use tollgate_testkit::{Missing, printed, program, workspace};

/// A program or file that tests need.
pub(super) struct Need {
    /// Its Debian package, under the names of several releases.
    pub(super) packages: &'static [&'static str],
    /// The program on `PATH` or the file.
    pub(super) shown_by: &'static str,
    /// The tests that are skipped without it.
    pub(super) tests: &'static str,
}

/// All needs. Tests look for `shown_by` themselves.
static NEEDS: &[Need] = &[
    Need {
        packages: &["qemu-user"],
        shown_by: "qemu-riscv64",
        tests: "comparison of RISC-V user programs with QEMU, and programs for aarch64 and riscv64",
    },
    Need {
        packages: &["qemu-system-riscv", "qemu-system-misc"],
        shown_by: "qemu-system-riscv64",
        tests: "comparison of bare RISC-V programs with QEMU",
    },
    Need {
        packages: &["gcc-riscv64-unknown-elf"],
        shown_by: "riscv64-unknown-elf-gcc",
        tests: "rebuilding the RISC-V guests and comparing their bytes",
    },
    Need {
        packages: &["gcc-riscv64-linux-gnu"],
        shown_by: "riscv64-linux-gnu-gcc",
        tests: "static Linux programs on the RISC-V machine, and the program for riscv64",
    },
    Need {
        packages: &["libc6-dev-riscv64-cross"],
        shown_by: "/usr/riscv64-linux-gnu/lib/libc.a",
        tests: "static Linux programs on the RISC-V machine, and the program for riscv64",
    },
    Need {
        packages: &["gcc-aarch64-linux-gnu"],
        shown_by: "aarch64-linux-gnu-gcc",
        tests: "the program for aarch64, under qemu-user",
    },
    Need {
        packages: &["libc6-dev-arm64-cross"],
        shown_by: "/usr/aarch64-linux-gnu/lib/libc.a",
        tests: "the program for aarch64, under qemu-user",
    },
    Need {
        packages: &["advancecomp"],
        shown_by: "advzip",
        tests: "wheels of the Python package around programs for other architectures",
    },
    Need {
        packages: &["qemu-system-x86"],
        shown_by: "qemu-system-x86_64",
        tests: "x86 guests under QEMU's software emulation",
    },
    Need {
        packages: &["qemu-system-arm"],
        shown_by: "qemu-system-aarch64",
        tests: "hardware counters on an emulated Arm machine",
    },
    Need {
        packages: &["xz-utils"],
        shown_by: "xz",
        tests: "modules of Debian's kernels in emulated machines",
    },
    Need { packages: &["verilator"], shown_by: "verilator", tests: "cycles of RISC-V cores from their RTL" },
    Need { packages: &["cpio"], shown_by: "cpio", tests: "reading the file systems of emulated machines" },
    Need { packages: &["g++"], shown_by: "g++", tests: "switches in C++" },
    Need {
        packages: &["libboost-fiber-dev"],
        // (Any package of Boost has all headers; the library is where no other package names it.)
        shown_by: "/usr/share/doc/libboost-fiber-dev/copyright",
        tests: "switches of Boost.Fiber and Boost.Context",
    },
    Need { packages: &["golang-go"], shown_by: "go", tests: "switches and foreign calls of Go" },
    Need {
        packages: &["default-jdk-headless"],
        shown_by: "javac",
        tests: "switches and foreign calls of Java",
    },
    Need { packages: &["nodejs"], shown_by: "node", tests: "switches and foreign calls of Node" },
    Need {
        packages: &["libnode-dev"],
        shown_by: "/usr/include/node/node_api.h",
        tests: "foreign calls of Node by Node-API",
    },
    Need {
        packages: &["npm"],
        shown_by: "npm",
        tests: "the report's page in a browser, reading exported traces back",
    },
    Need { packages: &["chromium"], shown_by: "chromium", tests: "the report's page in a browser" },
    Need { packages: &["python3"], shown_by: "python3", tests: "switches and foreign calls of Python" },
    Need { packages: &["python3-dev"], shown_by: "python3-config", tests: "foreign calls of Python" },
    Need {
        packages: &["python3-pip"],
        shown_by: "pip3",
        tests: "switches of greenlet, reading exports back in Python",
    },
    Need {
        packages: &["libbenchmark-tools"],
        shown_by: "/usr/share/benchmark/compare.py",
        tests: "reading exports back with google-benchmark's compare.py",
    },
    Need {
        packages: &["gcc-x86-64-linux-gnu", "gcc"],
        shown_by: "x86_64-linux-gnu-gcc",
        tests: "rebuilding the x86-64 guest and comparing its bytes",
    },
    Need {
        packages: &["clang-14"],
        shown_by: "clang-14",
        tests: "rebuilding the BPF programs of exec and comparing their bytes",
    },
    Need {
        packages: &["llvm-14"],
        shown_by: "llvm-strip-14",
        tests: "rebuilding the BPF programs of exec and comparing their bytes",
    },
    Need { packages: &["strace"], shown_by: "strace", tests: "counts of exec against those of strace" },
    Need { packages: &["sqlite3"], shown_by: "sqlite3", tests: "counts of exec against those of strace" },
    Need {
        packages: &["linux-perf"],
        shown_by: "perf",
        tests: "importing what perf bench prints in five locales",
    },
    Need {
        packages: &["hyperfine"],
        shown_by: "hyperfine",
        tests: "importing what hyperfine writes in five locales",
    },
    Need {
        packages: &["locales"],
        shown_by: "/usr/share/i18n/locales/de_DE",
        tests: "importing what perf bench and hyperfine print in five locales",
    },
    Need { packages: &["dash"], shown_by: "dash", tests: "ten thousand children of one command" },
];

/// Components of the Rust toolchain that a minimal installation does not have, with their cargo commands.
static COMPONENTS: &[(&str, &str)] = &[("rustfmt", "fmt"), ("clippy", "clippy")];

/// Installs what is missing if that is allowed. Otherwise prints which tests will be skipped.
pub(super) fn run(session: &mut Session) -> Result<()> {
    if !session.fast && !forbidden() {
        components(session);
    }
    let mut missing = self::missing();
    let permission = if session.fast { Err("--fast installs nothing".to_owned()) } else { permission() };
    let mut why = "the packages of this release do not contain them".to_owned();
    if !missing.is_empty() {
        let packages = missing.iter().map(|need| need.packages);
        let installed =
            permission.and_then(|sudo| install(packages, sudo).map_err(|error| format!("{error:#}")));
        installed.unwrap_or_else(|error| why = error);
        missing = self::missing();
    }
    if missing.is_empty() {
        return Ok(());
    }
    println!("  these programs are missing, so tests will be skipped: {why}");
    for need in &missing {
        println!("  {}", without(need));
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.packages[need.packages.len() - 1]).collect();
    bail!(Missing(format!("{why}: apt-get install {}", packages.join(" "))))
}

/// The programs with which RTL is obtained, verilated and compiled.
pub(crate) const RTL: &[&str] = &["verilator", "pip3", "g++"];

/// Installs those of these programs that are missing, if that is allowed.
///
/// # Errors
/// What is missing and why it was not installed.
pub(crate) fn provide(programs: &[&str]) -> Result<()> {
    let wanted =
        || NEEDS.iter().filter(|need| programs.contains(&need.shown_by) && program(need.shown_by).is_none());
    if wanted().next().is_none() {
        return Ok(());
    }
    let installed = permission().and_then(|sudo| {
        install(wanted().map(|need| need.packages), sudo).map_err(|error| format!("{error:#}"))
    });
    if let Some(need) = wanted().next() {
        let why =
            installed.err().unwrap_or_else(|| "the packages of this release do not contain it".to_owned());
        bail!(
            "{} is missing and was not installed: {why}; apt-get install {}",
            need.shown_by,
            need.packages[0]
        );
    }
    Ok(())
}

fn missing() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| program(need.shown_by).is_none()).collect()
}

fn without(need: &Need) -> String {
    format!("  without {} ({}): {}", need.shown_by, need.packages.join(" or "), need.tests)
}

/// Whether the toolchain in use has the component of a cargo command.
pub(super) fn has_component(session: &Session, subcommand: &str) -> bool {
    printed(workspace::cargo(&session.root).args([subcommand, "--version"])).is_ok()
}

/// Adds the components to a minimal toolchain. The toolchain belongs to the user, so rustup needs no privilege.
fn components(session: &Session) {
    let missing = COMPONENTS.iter().filter(|(_, subcommand)| !has_component(session, subcommand));
    let missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
    if missing.is_empty() || program("rustup").is_none() {
        return;
    }
    println!("  rustup component add {}", missing.join(" "));
    // If that fails, the steps that need them are skipped.
    let _ =
        printed(Command::new("rustup").args(["component", "add"]).args(&missing).current_dir(&session.root));
}

/// Whether the environment forbids installing anything.
pub(super) fn forbidden() -> bool {
    std::env::var_os("TOLLGATE_NO_INSTALL").is_some_and(|value| value == "1")
}

/// Whether packages may be installed, and with `sudo`; or why not. Checks the environment, the system and the user id.
fn permission() -> Result<bool, String> {
    if forbidden() {
        return Err("TOLLGATE_NO_INSTALL=1 forbids installing them".to_owned());
    }
    if program("apt-get").is_none() {
        return Err("apt-get is missing".to_owned());
    }
    if printed(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0") {
        return Ok(false);
    }
    let sudo = printed(Command::new("sudo").args(["-n", "true"]));
    sudo.map(|_| true).map_err(|_| "not root, and sudo asks for a password".to_owned())
}

/// Installs packages: of each list the first that this release has. If they cannot be installed together, each is
/// installed alone, so that one that conflicts with what is here costs only its own tests.
///
/// # Errors
/// When apt-get fails: the last line of its output.
fn install(wanted: impl Iterator<Item = &'static [&'static str]>, sudo: bool) -> Result<()> {
    println!("  apt-get update (TOLLGATE_NO_INSTALL=1 forbids installing)");
    // A package source that fails must not stop the others: the next command reports missing packages.
    let update = apt_get(sudo, &["update"]);
    let packages: Vec<&str> =
        wanted.filter_map(|names| names.iter().copied().find(|name| offered(name))).collect();
    if packages.is_empty() {
        update?;
        bail!("no package source of this system has them");
    }
    println!("  apt-get install {}", packages.join(" "));
    let install = |packages: &[&str]| {
        let args = [&["install", "--yes", "--no-install-recommends"], packages].concat();
        apt_get(sudo, &args).map(drop)
    };
    install(&packages).or_else(|error| {
        println!("  {error:#}; each alone:");
        let alone: Vec<Result<()>> = packages.iter().map(|package| install(&[*package])).collect();
        alone.into_iter().collect()
    })
}

fn apt_get(sudo: bool, args: &[&str]) -> Result<String> {
    let mut command = Command::new(if sudo { "sudo" } else { "apt-get" });
    if sudo {
        command.args(["-n", "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get"]);
    }
    command.args(["-q", "-oDPkg::Lock::Timeout=120", "-oAcquire::Retries=2", "-oAcquire::http::Timeout=30"]);
    printed(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Whether a package source has this package. A virtual package has no candidate.
fn offered(package: &str) -> bool {
    let policy = printed(Command::new("apt-cache").args(["policy", package]));
    policy.is_ok_and(|policy| has_candidate(&policy))
}

fn has_candidate(policy: &str) -> bool {
    policy
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Candidate:"))
        .any(|version| version.trim() != "(none)")
}

#[cfg(test)]
mod tests {
    use super::{NEEDS, has_candidate, without};

    #[test]
    fn each_need_is_complete_and_listed_once() {
        for (index, need) in NEEDS.iter().enumerate() {
            assert!(!need.packages.is_empty() && !need.tests.is_empty(), "{}", need.shown_by);
            assert!(!NEEDS[..index].iter().any(|other| other.shown_by == need.shown_by), "{}", need.shown_by);
        }
    }

    #[test]
    fn what_the_rtl_needs_is_listed() {
        for program in super::RTL {
            assert!(NEEDS.iter().any(|need| need.shown_by == *program), "{program}");
        }
    }

    #[test]
    fn a_missing_program_is_printed_with_its_tests() {
        assert_eq!(
            without(&NEEDS[1]),
            "  without qemu-system-riscv64 (qemu-system-riscv or qemu-system-misc): comparison of bare RISC-V \
             programs with QEMU"
        );
    }

    #[test]
    fn a_package_is_offered_when_it_has_a_candidate() {
        assert!(has_candidate("qemu-user:\n  Installed: (none)\n  Candidate: 1:7.2\n"));
        assert!(!has_candidate("qemu-system-riscv:\n  Installed: (none)\n  Candidate: (none)\n"));
        assert!(!has_candidate(""));
    }
}
