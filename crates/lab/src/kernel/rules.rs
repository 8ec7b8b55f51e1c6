//! Which phase of a crossing an instruction of a kernel belongs to: rules over its functions, in a file for each kernel.

use serde::Deserialize;
use tollgate_riscv::{Class, Insn};

use crate::phase::Phase;

/// The rules of one kernel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    /// The function that begins at the trap vector.
    pub(crate) entry: String,
    #[serde(rename = "rule")]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    phase: String,
    functions: Vec<String>,
    only: Option<Only>,
}

/// What instructions a rule is about.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Only {
    Load,
    Store,
    Csr,
    System,
}

impl Only {
    fn fits(self, class: Class) -> bool {
        match self {
            Self::Load => matches!(class, Class::Load),
            Self::Store => matches!(class, Class::Store),
            Self::Csr => matches!(class, Class::Csr),
            Self::System => matches!(class, Class::System),
        }
    }
}

/// Linux's.
const LINUX: &str = include_str!("linux.toml");

impl Rules {
    /// The rules for Linux.
    pub(crate) fn linux() -> Result<Self, toml::de::Error> {
        toml::from_str(LINUX)
    }

    /// The phase of an instruction of a function, if a rule names it.
    pub(crate) fn phase(&self, function: &str, insn: &Insn) -> Option<Phase> {
        let class = insn.row().class;
        let named = |name: &String| match name.strip_suffix('*') {
            Some(begin) => function.starts_with(begin),
            None => function == name,
        };
        let rule = self
            .rules
            .iter()
            .find(|rule| rule.only.is_none_or(|only| only.fits(class)) && rule.functions.iter().any(named));
        rule.map(|rule| rule.phase.parse().unwrap_or(Phase::Other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_riscv::{Op, Operands};

    #[test]
    fn the_first_rule_that_fits_holds() {
        let rules = Rules::linux().unwrap();
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
        // Every rule names a phase that exists.
        assert!(rules.rules.iter().all(|rule| rule.phase.parse::<Phase>().is_ok()));
    }
}
