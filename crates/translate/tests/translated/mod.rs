//! Machines that translate, and what they did in translations.

use std::cell::Cell;
use std::rc::Rc;

use tollgate_riscv::tier::{Exit, Region, Registers, Translation, Translator};
use tollgate_riscv::{Config, Isa, Machine, MachineKind};
use tollgate_translate::Translations;

use crate::common::random::BASE;

/// What ran in translations.
#[derive(Default)]
pub(crate) struct Translated {
    /// How many instructions retired.
    pub(crate) retired: Cell<u64>,
    /// How often the engine entered them.
    pub(crate) entered: Cell<u64>,
}

/// Counts on the way to the translator.
struct Counted(Translations, Rc<Translated>);

impl Translator for Counted {
    fn translate(&mut self, region: Region) -> Translation {
        self.0.translate(region)
    }

    fn run(&mut self, number: u16, registers: Registers<'_>) -> Option<Exit> {
        let before = registers.retired;
        let exit = self.0.run(number, registers)?;
        let Translated { retired, entered } = &*self.1;
        retired.set(retired.get() + exit.retired - before);
        entered.set(entered.get() + 1);
        Some(exit)
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// A machine with 1 MiB of RAM that contains an image.
pub(crate) fn machine(isa: &str, image: &[u8]) -> Machine {
    let isa: Isa = isa.parse().unwrap();
    let config =
        Config { isa, machine: MachineKind::Virt, ram_bytes: 1 << 20, misaligned: true, ..Config::default() };
    let mut machine = Machine::new(config).unwrap();
    machine.write_memory(BASE, image).unwrap();
    machine
}

/// Has a machine translate, with samples this often.
pub(crate) fn translate(machine: &mut Machine, every: u64) -> Rc<Translated> {
    let translated = Rc::default();
    machine.set_translator(0, Box::new(Counted(Translations::new().unwrap(), Rc::clone(&translated))), every);
    translated
}
