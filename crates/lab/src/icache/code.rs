//! A program's code: how long it is, and of which instructions.

use tollgate_riscv::{Class, Decoder, Elf, Insn, Isa};

use crate::sections::executable_sections;

/// How many instructions of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    /// All.
    pub instructions: u64,
    /// Of 16 bits.
    pub compressed: u64,
    /// Their bytes together.
    pub bytes: u64,
    /// Arithmetic and logic, multiply and divide.
    pub arithmetic: u64,
    /// Loads and stores.
    pub memory: u64,
    /// Branches and jumps.
    pub control: u64,
    /// Everything else.
    pub other: u64,
}

impl Mix {
    /// Counts an instruction.
    pub fn add(&mut self, insn: &Insn) {
        self.instructions += 1;
        self.compressed += u64::from(insn.len == 2);
        self.bytes += u64::from(insn.len);
        *match insn.row().class {
            Class::Upper | Class::AluImm | Class::AluReg => &mut self.arithmetic,
            Class::Load | Class::Store | Class::FpLoad | Class::FpStore => &mut self.memory,
            Class::Branch | Class::Jump | Class::JumpReg => &mut self.control,
            _ => &mut self.other,
        } += 1;
    }
}

/// The code of a program, as it was loaded.
#[derive(Clone, Debug)]
pub struct Code {
    /// Sections of instructions: address and bytes.
    sections: Vec<(u64, Vec<u8>)>,
    /// The instructions in them, read from first to last.
    pub mix: Mix,
}

impl Code {
    /// The code of a file that parses as a program. A file without sections has only its segments, which hold data
    /// as well.
    pub(super) fn of(bytes: &[u8], program: &Elf, isa: Isa) -> Self {
        let mut sections = executable_sections(bytes);
        if sections.is_empty() {
            sections = program.segments.iter().map(|s| (s.address, s.data.clone())).collect();
        }
        let decoder = Decoder::new(isa);
        let mut mix = Mix::default();
        for (_, data) in &sections {
            let mut at = 0;
            while let Some(low) = half(data, at) {
                let long = low & 3 == 3;
                let word = if long { low | half(data, at + 2).unwrap_or(0) << 16 } else { low };
                if let Some(insn) = decoder.decode(word) {
                    mix.add(&insn);
                }
                at += if long { 4 } else { 2 };
            }
        }
        Self { sections, mix }
    }

    /// Bytes of code.
    pub fn bytes(&self) -> u64 {
        self.sections.iter().map(|(_, data)| data.len() as u64).sum()
    }

    /// Whether there is code at an address.
    pub fn contains(&self, address: u64) -> bool {
        self.sections.iter().any(|(start, data)| address.wrapping_sub(*start) < data.len() as u64)
    }

    /// How long the instruction at an address is, or would be: 4 where there is no code, since a pipeline that
    /// finds nothing there continues at the next word.
    pub fn length_at(&self, address: u64) -> u64 {
        let low = self
            .sections
            .iter()
            .find_map(|(start, data)| half(data, usize::try_from(address.checked_sub(*start)?).ok()?));
        if low.is_some_and(|low| low & 3 != 3) { 2 } else { 4 }
    }
}

fn half(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at.checked_add(2)?)?;
    Some(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])))
}
