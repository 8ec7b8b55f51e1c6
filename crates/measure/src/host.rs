//! The machine: everything known of it that changes what a crossing costs.
//!
//! [`facts`] reads files below a root and nothing else, so other machines can be read from recorded trees.
//! [`live`] adds what only system calls and instructions of the running machine give. A fact that cannot be
//! read is absent; nothing here fails.

mod arm;
mod attempt;
mod audit;
mod cache;
mod cgroup;
mod child;
mod cpu;
pub(crate) mod files;
mod hypervisor;
mod kernel;
mod live;
mod memory;
mod pmu;
mod power;
mod process;
mod storage;

use files::Files;
use std::path::Path;
use tollgate_record::Host;

pub use attempt::{Attempts, attempts};
pub use audit::audited;
pub use child::{Attempt, in_child};
pub use live::{is_translated, live};
pub use pmu::why_not as why_no_pmu;
pub use storage::usable_store;

/// Everything about a machine that files below `root` contain (`/` for this one).
#[must_use]
pub fn facts(root: &Path) -> Host {
    facts_of(&Files::once_below(root))
}

fn facts_of(files: &Files) -> Host {
    let mut host = Host {
        name: files.word("proc/sys/kernel/hostname").unwrap_or_default(),
        machine: hypervisor::machine(files),
        unreadable: missing(files),
        ..Host::default()
    };
    process::read(files, &mut host);
    cpu::read(files, &mut host);
    kernel::read(files, &mut host);
    memory::read(files, &mut host);
    host.cgroup = cgroup::read(files);
    host.hypervisor = hypervisor::from_files(files);
    // Until the measured CPU is known, the first that may be used stands for all.
    let first = host.cpu.allowed.first().or(host.cpu.online.first()).copied().unwrap_or(0);
    describe_cpu(files, &mut host, first);
    host
}

/// This machine: [`facts`] of `/`, and [`live`]. Call it before pinning, which reduces the
/// allowed CPUs to one.
#[must_use]
pub fn here() -> Host {
    let files = Files::once_below(Path::new("/"));
    let mut host = facts_of(&files);
    host.unreadable.extend(hidden(&files));
    live(&mut host);
    host
}

/// Notes where the measurement runs, and describes that CPU where CPUs differ (two kinds of core in
/// one processor, a governor of its own).
pub fn place(root: &Path, host: &mut Host, cpu: usize, peer: Option<usize>) {
    host.cpu.measured = Some(cpu);
    host.cpu.peer = peer;
    host.cpu.peer_relation =
        peer.map(|peer| crate::placement::relation_in(&host.cpu.cores, cpu, peer).name().into());
    let files = Files::once_below(root);
    describe_cpu(&files, host, cpu);
    live::translated(host, &cpu::architecture(&files));
}

/// The facts that belong to one CPU.
fn describe_cpu(files: &Files, host: &mut Host, cpu: usize) {
    cpu::identify(files, &mut host.cpu, cpu);
    power::read(files, &mut host.cpu, cpu);
    host.caches = cache::read(files, cpu);
}

/// Missing directories without which there are few facts.
fn missing(files: &Files) -> Vec<String> {
    // An empty mount point has no facts either, so a file of each is looked up.
    DIRECTORIES
        .iter()
        .filter(|(_, file, _)| !files.exists(file))
        .map(|(directory, _, _)| (*directory).to_owned())
        .collect()
}

/// Files that hold something on every running machine and are hidden here, as container runtimes do, in
/// directories that are there.
fn hidden(files: &Files) -> Vec<String> {
    DIRECTORIES
        .iter()
        .filter(|(_, file, _)| files.exists(file))
        .flat_map(|(_, _, usual)| *usual)
        .filter(|file| files.word(file).is_none())
        .map(|&file| file.to_owned())
        .collect()
}

/// A directory of the system, a file that shows that it is mounted, and the files with facts.
type Directory = (&'static str, &'static str, &'static [&'static str]);

const DIRECTORIES: &[Directory] = &[
    ("/proc", "proc/self/status", &["/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/interrupts"]),
    ("/sys", "sys/devices/system", &["/sys/devices/system/cpu/online"]),
];
