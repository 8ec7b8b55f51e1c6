//! The kernels whose traps can be billed. A bundled one is a file in `guests/riscv/kernels` and a row here; a user's
//! is made of a file by [`own`](crate::own).

use tollgate_record::family::{FeatureAsked, Policy};

use crate::call::Crossing;
use crate::deflated::image;

/// One way to build the kernel's side of a trap, and the crossing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design<'a> {
    /// Its name, as `--kernel` takes it.
    pub name: &'a str,
    /// The built image; a bundled one is deflated.
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
        Self::named().find(|design| design.name == name)
    }

    /// All bundled designs: those of `all`, and those for special machines.
    pub fn named() -> impl Iterator<Item = &'static Design<'static>> {
        DESIGNS.iter().chain(SPECIAL_DESIGNS)
    }

    /// Whether the machine needs vectors.
    pub fn has_vectors(&self) -> bool {
        self.isa.starts_with("rv64gcv")
    }

    fn has_clic(&self) -> bool {
        self.isa.contains("smclic")
    }

    /// Why a core of this microarchitecture does not time the design.
    pub fn untimed_on(&self, core: tollgate_cores::Design) -> Option<&'static str> {
        match core {
            _ if self.has_vectors() => Some("no core here has vectors"),
            _ if self.isa.contains("zicfiss") => Some("no core here has shadow stacks"),
            tollgate_cores::Design::Cv32e40x => None,
            _ if self.has_clic() => Some("only the core cv32e40x has a CLIC"),
            _ => None,
        }
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

    /// Whether only our own machine can run it: no other engine has our extensions or the CLIC.
    pub fn is_custom(&self) -> bool {
        self.isa.contains("_xtoll") || self.has_clic()
    }
}

pub(crate) const GC: &str = "rv64gc";

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

const fn clic(name: &'static str, image: &'static [u8], about: &'static str) -> Design<'static> {
    Design { isa: "rv64gc_smclic", ..fixed(name, image, Crossing::SoftInterrupt, about) }
}

/// Designs for machines that few timed cores or none have: a switch with vectors or a shadow stack, interrupts with a CLIC, and two
/// interrupts to compare with. They are not among [`DESIGNS`], whose table has one row for each kind of crossing.
static SPECIAL_DESIGNS: &[Design<'static>] = &[
    vector("vector-eager", image!("vector-eager"), true, "vectors saved always; used"),
    vector("vector-dirty", image!("vector-dirty"), true, "vectors saved if dirty; used"),
    vector("vector-lazy", image!("vector-lazy"), true, "vectors loaded by a trap; used"),
    vector("eager-unused", image!("vector-eager"), false, "vectors saved always; not used"),
    vector("dirty-unused", image!("vector-dirty"), false, "vectors saved if dirty; not used"),
    vector("lazy-unused", image!("vector-lazy"), false, "vectors loaded by a trap; not used"),
    Design {
        isa: "rv64gc_zimop_zicfiss",
        ..fixed("shadow-stack", image!("shadow-stack"), Crossing::Yield, "one address space, shadow stacks")
    },
    clic("clic", image!("clic"), "CLIC, M-mode, one entry"),
    clic("clic-table", image!("clic-table"), "CLIC, handlers by the table"),
    clic("clic-next", image!("clic-next"), "CLIC, one entry and mnxti"),
    fixed("pair", image!("pair"), Crossing::SoftInterrupt, "direct, another one is pending"),
    fixed(
        "pair-vectored",
        image!("pair-vectored"),
        Crossing::SoftInterrupt,
        "vectored, another one is pending",
    ),
    clic("pair-clic", image!("pair-clic"), "clic, another one is pending"),
    clic("pair-table", image!("pair-table"), "clic-table, another one is pending"),
    clic("pair-next", image!("pair-next"), "clic-next, another one is pending"),
];

/// What a machine can have, and the designs that switch its state: each costs what it adds to the first one, which does not.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// The name by which it is chosen; features with the same one are chosen together.
    pub key: &'static str,
    /// Its name in a table.
    pub name: &'static str,
    /// Bits of a vector register.
    vlen: u64,
    designs: &'static [(Policy, Option<bool>, &'static str)],
}

impl Feature {
    /// Its designs, each with what is measured of it.
    pub fn designs(&self) -> impl Iterator<Item = (FeatureAsked, Design<'static>)> {
        self.designs.iter().filter_map(move |&(policy, used, name)| {
            let design = Design::find(name)?.with_vlen(self.vlen)?;
            Some((FeatureAsked { name: self.name.into(), policy, used }, design))
        })
    }
}

const fn feature(
    key: &'static str,
    name: &'static str,
    designs: &'static [(Policy, Option<bool>, &'static str)],
) -> Feature {
    Feature { key, name, vlen: 128, designs }
}

const fn vectors(name: &'static str, vlen: u64) -> Feature {
    const DESIGNS: &[(Policy, Option<bool>, &str)] = &[
        (Policy::Without, None, "switch-same"),
        (Policy::Always, Some(true), "vector-eager"),
        (Policy::Always, Some(false), "eager-unused"),
        (Policy::IfDirty, Some(true), "vector-dirty"),
        (Policy::IfDirty, Some(false), "dirty-unused"),
        (Policy::ByTrap, Some(true), "vector-lazy"),
        (Policy::ByTrap, Some(false), "lazy-unused"),
    ];
    Feature { vlen, ..feature("vector", name, DESIGNS) }
}

/// The features that have designs.
pub static FEATURES: &[Feature] = &[
    feature(
        "fp",
        "floating point, in a call",
        &[
            (Policy::Without, None, "full"),
            (Policy::Always, Some(true), "fp-eager"),
            (Policy::Always, Some(false), "fp-eager"),
            (Policy::IfDirty, Some(true), "fp-lazy-dirty"),
            (Policy::IfDirty, Some(false), "fp-lazy"),
        ],
    ),
    vectors("vectors of 128 bits, in a switch", 128),
    vectors("vectors of 256 bits, in a switch", 256),
    vectors("vectors of 512 bits, in a switch", 512),
    vectors("vectors of 1024 bits, in a switch", 1024),
    feature(
        "shadow-stack",
        "shadow stack, in a switch",
        &[(Policy::Without, None, "switch-same"), (Policy::Always, None, "shadow-stack")],
    ),
    feature(
        "space",
        "address space with a flush, in a switch",
        &[(Policy::Without, None, "switch-same"), (Policy::Always, None, "switch-space")],
    ),
    feature(
        "asid",
        "address space with ASIDs, in a switch",
        &[(Policy::Without, None, "switch-same"), (Policy::Always, None, "switch-asid")],
    ),
    feature(
        "bank",
        "second register bank, in a call",
        &[(Policy::Without, None, "full"), (Policy::Always, None, "bank")],
    ),
    feature(
        "stack",
        "stacking in hardware, in a call",
        &[(Policy::Without, None, "full"), (Policy::Always, None, "stack")],
    ),
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
        let all = Design::named;
        let names: BTreeSet<_> = all().map(|design| design.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(all().all(|design| design.name.len() <= 13 && design.about.len() <= 36));
    }

    #[test]
    fn every_feature_has_all_its_designs_and_one_without_it() {
        for feature in FEATURES {
            let designs: Vec<_> = feature.designs().collect();
            assert_eq!(designs.len(), feature.designs.len(), "{}", feature.name);
            let without = designs.iter().filter(|(asked, _)| asked.policy == Policy::Without).count();
            assert_eq!((without, designs[0].0.policy), (1, Policy::Without), "{}", feature.name);
        }
    }

    #[test]
    fn the_first_is_the_default() {
        assert_eq!(Design::find("full"), Some(&DESIGNS[0]));
        assert_eq!(Design::find("Full"), None);
    }
}
