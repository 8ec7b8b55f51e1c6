//! Where a program's instructions go: by function, by phase, and for each system call by phase.

use std::collections::BTreeMap;

use tollgate_riscv::{Class, Elf, Insn, Observer, Privilege, RegClass, Retired, Trap};

use crate::attribution;
use crate::bill::{Cost, Phases};
use crate::phase::Phase;
use crate::symbols::{Marks, Symbols};

/// The register that holds a system call's number.
const A7: u8 = 17;

/// The bills of all calls with one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallProfile {
    /// How many.
    pub count: u64,
    /// Fewest instructions between the trap and the return to the program.
    pub min: u64,
    /// Most.
    pub max: u64,
    /// All of them together, by phase.
    pub phases: Phases,
}

/// Counts instructions by function and phase while a program runs.
pub struct Profile {
    symbols: Symbols,
    marks: Option<Marks<Phase>>,
    proxy_kernel: bool,
    by_function: Vec<u64>,
    /// All instructions by phase.
    pub phases: Phases,
    /// System calls by their number.
    pub calls: BTreeMap<u64, CallProfile>,
    /// What a7 holds.
    number: u64,
    /// The call that is being handled.
    open: Option<(u64, Phases)>,
}

impl Profile {
    /// For a program and, if it runs on one, the proxy kernel.
    pub fn new(program: &Elf, proxy_kernel: Option<&Elf>) -> Self {
        let symbols = Symbols::new(program, proxy_kernel);
        let marked = program.symbols.iter().any(|symbol| Phase::of_symbol(&symbol.name).is_some());
        Self {
            by_function: vec![0; symbols.names().len()],
            proxy_kernel: proxy_kernel.is_some(),
            marks: marked.then(|| attribution::phases(program)),
            symbols,
            phases: Phases::default(),
            calls: BTreeMap::new(),
            number: 0,
            open: None,
        }
    }

    /// Functions with their instructions, most first.
    pub fn functions(&self) -> Vec<(&str, u64)> {
        let names = self.symbols.names().iter().map(String::as_str);
        let mut all: Vec<_> = names.zip(self.by_function.iter().copied()).filter(|(_, n)| *n > 0).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all
    }

    /// Whether phases are known: by marks in the program, or because it runs on the proxy kernel.
    pub fn has_phases(&self) -> bool {
        self.marks.is_some() || self.proxy_kernel
    }

    fn phase(&mut self, retired: &Retired, function: usize) -> Phase {
        if let Some(marks) = &mut self.marks {
            return marks.at(retired.pc);
        }
        match retired.privilege {
            Privilege::User => Phase::UserStub,
            Privilege::Machine => Phase::Firmware,
            Privilege::Supervisor => proxy_kernel_phase(&self.symbols.names()[function], &retired.insn),
        }
    }
}

/// The proxy kernel has no marks, but its entry is assembly in a known order and its dispatch a few functions.
fn proxy_kernel_phase(function: &str, insn: &Insn) -> Phase {
    let row = insn.row();
    match (function, row.class) {
        ("trap_entry", Class::Store) => Phase::Save,
        // Reading a CSR to save it; x0 is written to sscratch while its old value is read.
        ("trap_entry", Class::Csr) if insn.rs1 == 0 => Phase::Save,
        // The argument and the call of the C part; the argument again afterwards.
        ("trap_entry", Class::Jump | Class::AluReg) => Phase::Dispatch,
        ("trap_entry", _) => Phase::StackSwitch,
        ("start_user", Class::System) => Phase::Return,
        ("start_user", _) => Phase::Restore,
        ("handle_trap" | "handle_syscall" | "do_syscall", _) => Phase::Dispatch,
        _ => Phase::Handler,
    }
}

impl Observer for Profile {
    const RETIRE: bool = true;
    const TRAP: bool = true;

    fn retire(&mut self, retired: &Retired) {
        let function = self.symbols.at(retired.pc);
        self.by_function[function] += 1;
        let phase = self.phase(retired, function);
        let one = Cost { instructions: 1, ..Cost::default() };
        self.phases[phase] += one;
        if retired.privilege == Privilege::User
            && let Some((number, phases)) = self.open.take()
        {
            let total = phases.total().instructions;
            let call = self.calls.entry(number).or_default();
            call.min = if call.count == 0 { total } else { call.min.min(total) };
            call.max = call.max.max(total);
            call.count += 1;
            call.phases.add(&phases);
        }
        if let Some((_, phases)) = &mut self.open {
            phases[phase] += one;
        }
        if retired.insn.rd == A7 && retired.insn.row().format.rd() == RegClass::X {
            self.number = retired.value;
        }
    }

    fn trap(&mut self, trap: &Trap) {
        if trap.from == Privilege::User && !trap.cause.is_interrupt() && trap.cause.code() == 8 {
            self.open = Some((self.number, Phases::default()));
        }
    }
}
