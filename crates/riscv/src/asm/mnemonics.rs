//! The names of instructions, registers and control and status registers.

use std::collections::HashMap;

use super::pseudo::{PSEUDO, Pseudo};
use crate::compressed::{self, Shape};
use crate::disasm::{F_NAMES, X_NAMES};
use crate::format::RegClass;
use crate::insn::{INSTRUCTIONS, Row};
use crate::isa::{Extension, Isa};

/// The names of instructions and registers.
pub(super) struct Mnemonics {
    pub(super) isa: Isa,
    pub(super) rows: HashMap<&'static str, &'static Row>,
    pub(super) short: HashMap<&'static str, &'static Shape>,
    pub(super) pseudo: HashMap<&'static str, Vec<&'static Pseudo>>,
    pub(super) registers: HashMap<String, (RegClass, u8)>,
    pub(super) csrs: HashMap<String, u16>,
}

impl Mnemonics {
    pub(super) fn new(isa: Isa) -> Self {
        let mut rows: HashMap<_, &'static Row> = HashMap::new();
        for row in INSTRUCTIONS {
            let entry = rows.entry(row.mnemonic).or_insert(row);
            if row.in_isa(&isa) {
                *entry = row;
            }
        }
        let mut pseudo: HashMap<_, Vec<_>> = HashMap::new();
        PSEUDO.iter().for_each(|row| pseudo.entry(row.0).or_default().push(row));
        let mut registers = HashMap::from([("fp".to_owned(), (RegClass::X, 8))]);
        for r in 0..32u8 {
            registers.insert(format!("x{r}"), (RegClass::X, r));
            registers.insert(X_NAMES[usize::from(r)].to_owned(), (RegClass::X, r));
            registers.insert(format!("f{r}"), (RegClass::F, r));
            registers.insert(F_NAMES[usize::from(r)].to_owned(), (RegClass::F, r));
        }
        Self {
            isa,
            rows,
            short: compressed::shapes(isa.xlen())
                .iter()
                .filter(|shape| shape.row.extension == Extension::C || shape.row.in_isa(&isa))
                .map(|shape| (shape.row.mnemonic, shape))
                .collect(),
            pseudo,
            registers,
            csrs: (0..4096).filter_map(|n| Some((crate::csr::name(n)?, n))).collect(),
        }
    }

    /// The letter of an operand's kind, as the table of pseudo-instructions has it.
    pub(super) fn kind(&self, operand: &str) -> u8 {
        match self.registers.get(operand) {
            Some((RegClass::F, _)) => b'f',
            Some(_) => b'r',
            None if self.memory(operand).is_some() => b'm',
            None => b'i',
        }
    }

    /// The offset and the register of an operand like `8(sp)`.
    pub(super) fn memory<'t>(&self, operand: &'t str) -> Option<(&'t str, u8)> {
        let inside = operand.strip_suffix(')')?;
        let open = inside.rfind('(')?;
        match self.registers.get(inside[open + 1..].trim()) {
            Some((RegClass::X, r)) => Some((operand[..open].trim(), *r)),
            _ => None,
        }
    }
}
