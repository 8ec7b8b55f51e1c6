//! Which phase of a crossing an instruction of a kernel belongs to: rules over its functions, in a file for each kernel.

use serde::Deserialize;
use tollgate_riscv::{Class, Insn, Op, X_NAMES};

use super::crossings::System;
use super::kallsyms::Symbol;
use crate::phase::Phase;

/// The rules of one kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Whose system calls it has: which first process makes the crossings.
    pub(crate) system: System,
    /// The function that begins at the trap vector.
    pub(crate) entry: String,
    /// Other functions that the kernel has, if others have one of that name.
    #[serde(default)]
    requires: Vec<String>,
    #[serde(default, rename = "alias")]
    aliases: Vec<Alias>,
    #[serde(rename = "rule")]
    rules: Vec<Rule>,
}

/// A page of the kernel that every address space has at another address as well.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Alias {
    symbol: String,
    at: u64,
}

const PAGE: u64 = 4096;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(deserialize_with = "phase")]
    phase: Phase,
    functions: Vec<String>,
    only: Option<Only>,
    frame: Option<Frame>,
}

/// Where the registers of a program are: loads and stores of other addresses are not meant.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    /// The register with its address.
    #[serde(deserialize_with = "register")]
    base: u8,
    bytes: u16,
}

/// The instructions to which a rule applies.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Only {
    Load,
    Store,
    Csr,
    /// The address space, and what is forgotten of it.
    Space,
    System,
}

/// The number of the register with the address space.
const SATP: i64 = 0x180;

fn phase<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Phase, D::Error> {
    let name = String::deserialize(from)?;
    name.parse().map_err(|_| serde::de::Error::custom(format!("there is no phase '{name}'")))
}

fn register<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
    let name = String::deserialize(from)?;
    let number = (0..32).find(|&number| X_NAMES[usize::from(number)] == name);
    number.ok_or_else(|| serde::de::Error::custom(format!("there is no register '{name}'")))
}

impl Rule {
    fn fits(&self, insn: &Insn) -> bool {
        self.only.is_none_or(|only| only.fits(insn)) && self.frame.is_none_or(|frame| frame.holds(insn))
    }
}

impl Frame {
    fn holds(self, insn: &Insn) -> bool {
        let is_memory = matches!(insn.row().class, Class::Load | Class::Store);
        is_memory && insn.rs1 == self.base && (0..i64::from(self.bytes)).contains(&insn.imm)
    }
}

impl Only {
    fn fits(self, insn: &Insn) -> bool {
        let class = insn.row().class;
        match self {
            Self::Space => {
                matches!(insn.op, Op::SfenceVma | Op::SinvalVma)
                    || class == Class::Csr && insn.imm & 0xfff == SATP
            }
            Self::Load => matches!(class, Class::Load),
            Self::Store => matches!(class, Class::Store),
            Self::Csr => matches!(class, Class::Csr),
            Self::System => matches!(class, Class::System),
        }
    }
}

/// The kernels whose rules are here.
const KNOWN: [(&str, &str); 4] = [
    ("linux", include_str!("linux.toml")),
    ("xv6", include_str!("xv6.toml")),
    ("riscv-pk", include_str!("riscv-pk.toml")),
    ("sel4", include_str!("sel4.toml")),
];

impl Rules {
    /// The names of the kernels whose rules are known.
    pub const NAMES: [&str; 4] = [KNOWN[0].0, KNOWN[1].0, KNOWN[2].0, KNOWN[3].0];

    /// Reads a file of rules.
    ///
    /// # Errors
    /// The place that is wrong, and why.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Those of a kernel by its name.
    pub fn of(name: &str) -> Option<Self> {
        let (_, text) = KNOWN.iter().find(|known| known.0 == name)?;
        Self::parse(text).ok()
    }

    /// Those whose trap handler, and what else they require, is among the symbols.
    pub(crate) fn detect(symbols: &[Symbol]) -> Option<Self> {
        let known = Self::NAMES.iter().filter_map(|name| Self::of(name));
        let has = |name: &String| symbols.iter().any(|symbol| symbol.0 == *name);
        known.into_iter().find(|rules| rules.entry(symbols).is_some() && rules.requires.iter().all(has))
    }

    /// Where traps are taken, by the symbols.
    pub(crate) fn entry(&self, symbols: &[Symbol]) -> Option<u64> {
        let all = symbols.iter().cloned().chain(self.moved(symbols));
        all.filter(|symbol| symbol.0 == self.entry).map(|symbol| symbol.1).next_back()
    }

    /// The functions of pages that are at other addresses as well.
    pub(crate) fn moved(&self, symbols: &[Symbol]) -> Vec<Symbol> {
        let page = |alias: &Alias| {
            let from = symbols.iter().find(|symbol| symbol.0 == alias.symbol).map(|symbol| symbol.1);
            let at = alias.at;
            let offset =
                move |address: u64| Some(address.wrapping_sub(from?)).filter(|offset| *offset < PAGE);
            let moved = |symbol: &Symbol| Some((symbol.0.clone(), at.wrapping_add(offset(symbol.1)?)));
            symbols.iter().filter_map(moved).collect::<Vec<_>>()
        };
        self.aliases.iter().flat_map(page).collect()
    }

    /// The phase of an instruction of a function, if a rule names it.
    pub(crate) fn phase(&self, function: &str, insn: &Insn) -> Option<Phase> {
        let named = |name: &String| match name.strip_suffix('*') {
            Some(begin) => function.starts_with(begin),
            None => function == name,
        };
        let rule = self.rules.iter().find(|rule| rule.fits(insn) && rule.functions.iter().any(named));
        rule.map(|rule| rule.phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_riscv::{Op, Operands};

    #[test]
    fn the_first_rule_that_fits_holds() {
        let rules = Rules::of("linux").unwrap();
        assert_eq!(rules.entry, "handle_exception");
        let phase = |function: &str, op: Op| {
            let decoder = tollgate_riscv::Decoder::new("rv64gc".parse().unwrap());
            rules.phase(function, &decoder.decode(Insn::encode(op, Operands::default())).unwrap())
        };
        assert_eq!(phase("handle_exception", Op::Sd), Some(Phase::Save));
        assert_eq!(phase("handle_exception", Op::Csrrs), Some(Phase::Save));
        assert_eq!(phase("handle_exception", Op::Ld), Some(Phase::StackSwitch));
        assert_eq!(phase("ret_from_exception", Op::Ld), Some(Phase::Restore));
        assert_eq!(phase("ret_from_exception", Op::Sret), Some(Phase::Return));
        assert_eq!(phase("syscall_exit_to_user_mode", Op::Ld), Some(Phase::Dispatch));
        assert_eq!(phase("__riscv_sys_getpid", Op::Ld), Some(Phase::Handler));
        assert_eq!(phase("try_to_wake_up", Op::Ld), Some(Phase::Wake));
        assert_eq!(phase("_raw_spin_lock", Op::Ld), None);
    }

    /// By `kernel/trampoline.S` of xv6.
    #[test]
    fn the_trampoline_of_xv6_is_where_programs_have_it() {
        let rules = Rules::of("xv6").unwrap();
        let symbols: Vec<Symbol> = [
            ("kernelvec", 0x8000_5ab0),
            ("trampoline", 0x8000_7000),
            ("uservec", 0x8000_7000),
            ("userret", 0x8000_709c),
            ("etext", 0x8000_8000),
        ]
        .map(|(name, at): (&str, u64)| (name.to_owned(), at))
        .into();
        assert_eq!(rules.entry(&symbols), Some(0x3f_ffff_f000));
        let moved = rules.moved(&symbols);
        assert!(moved.contains(&("userret".to_owned(), 0x3f_ffff_f09c)), "{moved:?}");
        assert_eq!(moved.len(), 3);
        assert_eq!(Rules::detect(&symbols).map(|rules| rules.system), Some(System::Xv6));
        assert!(Rules::detect(&symbols[3..]).is_none());

        let decoder = tollgate_riscv::Decoder::new("rv64gc".parse().unwrap());
        let phase = |function: &str, word: u32| rules.phase(function, &decoder.decode(word).unwrap());
        // csrw sscratch, a0; csrw satp, a0; sfence.vma; sd ra, 40(a0); ld ra, 40(a0); sret.
        assert_eq!(phase("uservec", 0x1405_1073), Some(Phase::Save));
        assert_eq!(phase("uservec", 0x1805_1073), Some(Phase::Space));
        assert_eq!(phase("userret", 0x1200_0073), Some(Phase::Space));
        assert_eq!(phase("uservec", 0x0215_3423), Some(Phase::Save));
        assert_eq!(phase("userret", 0x0285_3083), Some(Phase::Restore));
        assert_eq!(phase("userret", 0x1020_0073), Some(Phase::Return));
    }

    /// By `pk/entry.S` of riscv-pk.
    #[test]
    fn riscv_pk_is_known_by_more_than_the_name_of_its_trap_handler() {
        let symbols = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 0)).collect::<Vec<_>>();
        let system = |names: &[&str]| Rules::detect(&symbols(names)).map(|rules| rules.system);
        assert_eq!(system(&["trap_entry", "start_user", "frontend_syscall"]), Some(System::Pk));
        assert_eq!(system(&["trap_entry", "start_user"]), None);

        let rules = Rules::of("riscv-pk").unwrap();
        let decoder = tollgate_riscv::Decoder::new("rv64gc".parse().unwrap());
        let phase = |function: &str, word: u32| rules.phase(function, &decoder.decode(word).unwrap());
        // csrrw sp, sscratch, sp; addi sp, sp, -320; sd ra, 8(sp); ld ra, 8(a0); sret.
        assert_eq!(phase("trap_entry", 0x1401_1173), Some(Phase::Save));
        assert_eq!(phase("trap_entry", 0xec01_0113), Some(Phase::StackSwitch));
        assert_eq!(phase("trap_entry", 0x0011_3423), Some(Phase::Save));
        assert_eq!(phase("start_user", 0x0085_3083), Some(Phase::Restore));
        assert_eq!(phase("start_user", 0x1020_0073), Some(Phase::Return));
        assert_eq!(phase("sys_getpid", 0x0000_8067), Some(Phase::Handler));
        assert_eq!(phase("memcpy", 0x0000_8067), None);
    }

    /// By `src/arch/riscv/traps.S` and `include/arch/riscv/arch/fastpath/fastpath.h` of seL4.
    #[test]
    fn the_fast_path_of_sel4_restores_what_is_at_t0() {
        let symbols = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 0)).collect::<Vec<_>>();
        let system = |names: &[&str]| Rules::detect(&symbols(names)).map(|rules| rules.system);
        assert_eq!(system(&["trap_entry", "restore_user_context", "c_handle_syscall"]), Some(System::Sel4));
        assert_eq!(system(&["trap_entry", "c_handle_syscall"]), None);

        let rules = Rules::of("sel4").unwrap();
        let decoder = tollgate_riscv::Decoder::new("rv64gc".parse().unwrap());
        let phase = |function: &str, word: u32| rules.phase(function, &decoder.decode(word).unwrap());
        // csrrw t0, sscratch, t0; sd ra, 0(t0); auipc gp, 9; csrr s0, scause; bltz s0, 8.
        assert_eq!(phase("trap_entry", 0x1402_92f3), Some(Phase::Save));
        assert_eq!(phase("trap_entry", 0x0012_b023), Some(Phase::Save));
        assert_eq!(phase("trap_entry", 0x0000_9197), Some(Phase::StackSwitch));
        assert_eq!(phase("trap_entry", 0x1420_2473), Some(Phase::Save));
        // ld ra, 0(t0); ld a5, 352(t0); ld a5, 8(a0); csrw satp, a0; sfence.vma; csrw sepc, t1; sret.
        for function in ["c_handle_fastpath_call", "c_handle_fastpath_reply_recv"] {
            assert_eq!(phase(function, 0x0002_b083), Some(Phase::Restore));
            assert_eq!(phase(function, 0x1602_b783), Some(Phase::Handler));
            assert_eq!(phase(function, 0x0085_3783), Some(Phase::Handler));
            assert_eq!(phase(function, 0x1805_1073), Some(Phase::Space));
            assert_eq!(phase(function, 0x1200_0073), Some(Phase::Space));
            assert_eq!(phase(function, 0x1413_1073), Some(Phase::Restore));
            assert_eq!(phase(function, 0x1020_0073), Some(Phase::Return));
        }
        assert_eq!(phase("restore_user_context", 0x0085_3783), Some(Phase::Restore));
        assert_eq!(phase("restore_user_context", 0x1020_0073), Some(Phase::Return));
        for (function, of) in [
            ("handle_syscall", Some(Phase::Dispatch)),
            ("lookupCapAndSlot", Some(Phase::Dispatch)),
            ("setVMRoot", Some(Phase::Space)),
            ("schedule", Some(Phase::Schedule)),
            ("switchToThread", Some(Phase::Switch)),
            ("possibleSwitchTo", Some(Phase::Wake)),
            ("sendFaultIPC", Some(Phase::Handler)),
            ("cteInsert", None),
        ] {
            // ret.
            assert_eq!(phase(function, 0x0000_8067), of, "{function}");
        }
        let error = Rules::parse(
            "system = \"sel4\"\nentry = \"a\"\n[[rule]]\nphase = \"save\"\nfunctions = []\nframe = { base = \"t9\", bytes = 8 }",
        );
        assert!(error.unwrap_err().to_string().contains("there is no register 't9'"));
    }

    #[test]
    fn a_wrong_file_of_rules_is_refused_with_the_reason() {
        let rules = |rest: &str| Rules::parse(&format!("entry = \"trap\"\n{rest}")).unwrap_err().to_string();
        assert!(
            rules("system = \"minix\"\nrule = []")
                .contains("expected one of `linux`, `xv6`, `riscv-pk`, `sel4`")
        );
        assert!(rules("rule = []").contains("missing field `system`"));
        let error = rules("system = \"xv6\"\n[[rule]]\nphase = \"sleep\"\nfunctions = []");
        assert!(error.contains("there is no phase 'sleep'"), "{error}");
    }
}
