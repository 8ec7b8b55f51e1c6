//! The crossings that a first process of the user's marks.

use tollgate_cores::Core;
use tollgate_record::family::Caches;
use tollgate_record::{Measurement, Per};
use tollgate_riscv::{Elf, Xlen};

use super::entry::{What, entry_of};
use super::watch::{Bill, Watch};

/// The header that marks crossings, as sources include it: its name and its text.
pub const HEADER: (&str, &str) = ("crossing.h", include_str!("../../guests/riscv/include/crossing.h"));

/// A first process of Linux, which marks its crossings.
#[derive(Clone)]
pub struct Probe {
    /// The name of its crossings; if it marks several kinds, their number follows.
    pub name: String,
    /// A static program for Linux.
    pub program: Vec<u8>,
}

impl Probe {
    /// Why the kernel cannot start it, if that is so.
    pub(super) fn check(&self) -> Result<(), String> {
        let elf = Elf::parse(&self.program).map_err(|error| error.to_string())?;
        match elf.xlen {
            Xlen::Rv64 => Ok(()),
            Xlen::Rv32 => Err("a program of 32 bits, and Linux here has 64".into()),
        }
    }
}

/// The bills of all crossings that were marked, in the order of their numbers.
pub(super) fn bills(
    core: Option<&Core>,
    name: &str,
    (kernel, isa): (&str, &str),
    watch: &Watch,
) -> Vec<Measurement> {
    let result = |(mark, found): (&u16, &Vec<Bill>)| {
        // The first half warms the caches.
        let warm = &found[found.len() / 2..];
        let name = if watch.crossings.len() == 1 { name.to_owned() } else { format!("{name}-{mark}") };
        let about = format!("marked by {name}; warm, the median one");
        let what = What { name: &name, per: Per::Trap, call: None };
        entry_of(core, kernel, isa, &what, (Caches::Warm, about), warm, watch)
    };
    watch.crossings.iter().filter_map(result).collect()
}

/// How the first process ended, if not well.
pub(super) fn failure(console: &[u8]) -> Option<String> {
    let code = exit_code(console).filter(|&code| code != 0)?;
    Some(match code & 0x7f {
        0 => format!("with the status {}", code >> 8),
        signal => format!("by the signal {signal}"),
    })
}

/// How the first process ended, as the kernel's panic says it (`kernel/exit.c` of Linux): as wait(2) has it.
fn exit_code(console: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(console);
    let (_, rest) = text.split_once("Attempted to kill init! exitcode=0x")?;
    u32::from_str_radix(rest.get(..8)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_first_process_is_read_from_the_panic() {
        let code = |text: &str| exit_code(text.as_bytes());
        let panic = "Kernel panic - not syncing: Attempted to kill init! exitcode=";
        assert_eq!(code(&format!("{panic}0x0000000b\n")), Some(11));
        assert_eq!(code(&format!("{panic}0x00000300")), Some(0x300));
        assert_eq!(code(&format!("{panic}0x00")), None);
        assert_eq!(code("Kernel panic - not syncing: VFS"), None);
        let failure = |text: &str| failure(format!("{panic}{text}").as_bytes());
        assert_eq!(failure("0x0000000b").unwrap(), "by the signal 11");
        assert_eq!(failure("0x00000300").unwrap(), "with the status 3");
        assert_eq!(failure("0x00000000"), None);
    }

    #[test]
    fn what_linux_cannot_start_is_refused() {
        let probe = |program: &[u8]| Probe { name: "mine".into(), program: program.into() };
        assert!(probe(b"int main;").check().is_err());
        let image = |name| std::fs::read(format!("guests/riscv/images/{name}.elf")).unwrap();
        assert_eq!(probe(&image("probe")).check(), Ok(()));
        assert!(probe(&image("icache-rv32im-O1")).check().unwrap_err().contains("32 bits"));
    }
}
