//! The kernels whose traps can be billed. A bundled one is a file in `guests/riscv/kernels` and a row here; a user's
//! is made of a file by [`own`](crate::own).

use crate::call::Crossing;

/// One way to build the kernel's side of a trap, and the crossing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design<'a> {
    /// Its name, as `--kernel` takes it.
    pub name: &'a str,
    /// The built image.
    pub image: &'a [u8],
    /// The machine that it needs.
    pub isa: &'static str,
    /// The crossing of a design that has only one: an interrupt, a switch, a nested trap.
    pub crossing: Option<Crossing>,
    /// Whether the program dirties the floating-point registers before each crossing, or uses vectors behind each switch.
    pub dirty_fp: bool,
    /// One line on what it does.
    pub about: &'a str,
    /// Whether it is a user's entry, which answers no calls but those that are measured.
    pub own: bool,
}

impl Design<'_> {
    /// The bundled design of that name.
    pub fn find(name: &str) -> Option<&'static Design<'static>> {
        DESIGNS.iter().chain(VECTOR_DESIGNS).find(|design| design.name == name)
    }

    /// Whether the machine needs vectors.
    pub fn has_vectors(&self) -> bool {
        self.isa.starts_with("rv64gcv")
    }

    /// The same design on a machine whose vector registers have this many bits; `None` if no machine's have.
    pub fn with_vlen(self, vlen: u64) -> Option<Self> {
        let isa = match vlen {
            128 => "rv64gcv",
            256 => "rv64gcv_zvl256b",
            512 => "rv64gcv_zvl512b",
            1024 => "rv64gcv_zvl1024b",
            _ => return None,
        };
        Some(Self { isa: if self.has_vectors() { isa } else { self.isa }, ..self })
    }

    /// Whether the machine needs an extension that the machines of other engines do not have: one of our own, or vectors.
    pub fn is_custom(&self) -> bool {
        self.isa != GC
    }
}

pub(crate) const GC: &str = "rv64gc";

macro_rules! image {
    ($name:literal) => {
        include_bytes!(concat!("../guests/riscv/images/", $name, ".elf"))
    };
}

const fn row(name: &'static str, image: &'static [u8], about: &'static str) -> Design<'static> {
    Design { name, image, isa: GC, crossing: None, dirty_fp: false, about, own: false }
}

const fn fixed(
    name: &'static str,
    image: &'static [u8],
    crossing: Crossing,
    about: &'static str,
) -> Design<'static> {
    Design { crossing: Some(crossing), ..row(name, image, about) }
}

const fn vector(
    name: &'static str,
    image: &'static [u8],
    used: bool,
    about: &'static str,
) -> Design<'static> {
    Design { isa: "rv64gcv", dirty_fp: used, ..fixed(name, image, Crossing::Yield, about) }
}

/// Designs of a switch with vectors, which no timed core has. They are not among [`DESIGNS`], whose machines have none.
pub static VECTOR_DESIGNS: &[Design<'static>] = &[
    vector("vector-eager", image!("vector-eager"), true, "vectors saved always; used"),
    vector("vector-dirty", image!("vector-dirty"), true, "vectors saved if dirty; used"),
    vector("vector-lazy", image!("vector-lazy"), true, "vectors loaded by a trap; used"),
    vector("eager-unused", image!("vector-eager"), false, "vectors saved always; not used"),
    vector("dirty-unused", image!("vector-dirty"), false, "vectors saved if dirty; not used"),
    vector("lazy-unused", image!("vector-lazy"), false, "vectors loaded by a trap; not used"),
];

/// All designs, in the order in which a table of them reads best. The first is the default.
pub static DESIGNS: &[Design<'static>] = &[
    row("full", image!("full"), "S-mode, Sv39, all registers saved"),
    row("full-m", image!("full-m"), "the same in M-mode, none delegated"),
    row("caller", image!("caller"), "only what C may overwrite is saved"),
    row("fp-eager", image!("fp-eager"), "full, and floating point every time"),
    row("fp-lazy", image!("fp-lazy"), "full, FP only if dirty: it is clean"),
    Design {
        dirty_fp: true,
        ..row("fp-lazy-dirty", image!("fp-lazy"), "full, FP only if dirty: it is dirty")
    },
    Design { isa: "rv64gc_xtollbank", ..row("bank", image!("bank"), "second register bank (our extension)") },
    Design {
        isa: "rv64gc_xtollstack",
        ..row("stack", image!("stack"), "stacked in hardware (our extension)")
    },
    row("nested", image!("nested"), "full, interrupts open in the handler"),
    fixed("nested-taken", image!("nested"), Crossing::Call(244), "the same, and one nests in the call"),
    fixed("direct", image!("full-m"), Crossing::SoftInterrupt, "M-mode, one entry for all causes"),
    fixed("vectored", image!("vectored"), Crossing::SoftInterrupt, "M-mode, an entry for each cause"),
    fixed("switch-same", image!("switch-same"), Crossing::Yield, "one address space"),
    fixed("switch-space", image!("switch-space"), Crossing::Yield, "other address space, TLB flushed"),
    fixed("switch-asid", image!("switch-asid"), Crossing::Yield, "other address space, with ASIDs"),
    fixed("timer-same", image!("switch-same"), Crossing::Timer, "one address space"),
    fixed("timer-space", image!("switch-space"), Crossing::Timer, "other address space, TLB flushed"),
    fixed("timer-asid", image!("switch-asid"), Crossing::Timer, "other address space, with ASIDs"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_fit_their_column() {
        let all = || DESIGNS.iter().chain(VECTOR_DESIGNS);
        let names: BTreeSet<_> = all().map(|design| design.name).collect();
        assert_eq!(names.len(), DESIGNS.len() + VECTOR_DESIGNS.len());
        assert!(all().all(|design| design.name.len() <= 13 && design.about.len() <= 36));
    }

    #[test]
    fn the_first_is_the_default() {
        assert_eq!(Design::find("full"), Some(&DESIGNS[0]));
        assert_eq!(Design::find("Full"), None);
    }
}
