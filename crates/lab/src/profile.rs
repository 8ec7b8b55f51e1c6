//! Where a program's instructions go: by function, by phase, and for each system call by phase.

use std::collections::BTreeMap;
use std::ops::Range;

use tollgate_riscv::{Class, Elf, Insn, Observer, Pass, Privilege, Retired, Several, Trap};

use crate::attribution;
use crate::bill::Phases;
use crate::parts::{Part, Parts};
use crate::phase::Phase;
use crate::symbols::{Marks, Symbols};

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
    code: Code,
    parts: Parts,
    by_function: Vec<u64>,
    /// All instructions by phase.
    pub phases: Phases,
    /// System calls by their number.
    pub calls: BTreeMap<u64, CallProfile>,
    /// The call that is being handled.
    open: Option<(u64, Phases)>,
    /// Calls are not followed.
    system: bool,
}

impl Profile {
    /// For a program and, if it runs on one, the proxy kernel.
    pub fn new(program: &Elf, proxy_kernel: Option<&Elf>) -> Self {
        let symbols = Symbols::new(program, proxy_kernel);
        let marked = program.symbols.iter().any(|symbol| Phase::of_symbol(&symbol.name).is_some());
        Self {
            by_function: vec![0; symbols.names().len()],
            code: Code {
                symbols,
                marks: marked.then(|| attribution::phases(program)),
                proxy_kernel: proxy_kernel.is_some(),
            },
            parts: Parts::new(),
            phases: Phases::default(),
            calls: BTreeMap::new(),
            open: None,
            system: false,
        }
    }

    /// For a kernel and what runs on it: by function only, since another task may run before a call is over.
    pub(crate) fn of_system(symbols: Symbols) -> Self {
        Self {
            by_function: vec![0; symbols.names().len()],
            code: Code { symbols, marks: None, proxy_kernel: false },
            parts: Parts::new(),
            phases: Phases::default(),
            calls: BTreeMap::new(),
            open: None,
            system: true,
        }
    }

    /// Functions with their instructions, most first.
    pub fn functions(&self) -> Vec<(&str, u64)> {
        let names = self.code.symbols.names().iter().map(String::as_str);
        let mut all: Vec<_> = names.zip(self.by_function.iter().copied()).filter(|(_, n)| *n > 0).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all
    }

    /// Whether phases are known: by marks in the program, or because it runs on the proxy kernel.
    pub fn has_phases(&self) -> bool {
        self.code.marks.is_some() || self.code.proxy_kernel
    }

    /// The index of the function at an address, as in [`Profile::name`].
    pub(crate) fn function(&mut self, pc: u64) -> usize {
        self.code.symbols.at(pc)
    }

    /// The name of a function.
    pub(crate) fn name(&self, function: usize) -> &str {
        &self.code.symbols.names()[function]
    }

    /// How many functions there are.
    pub(crate) fn len(&self) -> usize {
        self.by_function.len()
    }

    /// The parts of a run of instructions.
    #[inline]
    pub(crate) fn parts(&mut self, several: &Several, pass: &Pass) -> Range<usize> {
        let Self { parts, code, .. } = self;
        parts.find(several, pass, |pc, op| code.of(pc, &op.insn, several.privilege))
    }

    /// Counts one of the parts, which is in this mode, and yields it.
    #[inline]
    pub(crate) fn pass(&mut self, part: usize, privilege: Privilege) -> Part {
        let part = self.parts.get(part);
        self.count(part.function, part.phase, part.instructions, privilege);
        part
    }

    #[inline]
    fn count(&mut self, function: usize, phase: Phase, instructions: u64, privilege: Privilege) {
        if privilege == Privilege::User && self.open.is_some() {
            self.close();
        }
        self.by_function[function] += instructions;
        self.phases[phase].instructions += instructions;
        if let Some((_, phases)) = &mut self.open {
            phases[phase].instructions += instructions;
        }
    }

    /// The program continues after its call.
    fn close(&mut self) {
        let Some((number, phases)) = self.open.take() else { return };
        let total = phases.total().instructions;
        let call = self.calls.entry(number).or_default();
        call.min = if call.count == 0 { total } else { call.min.min(total) };
        call.max = call.max.max(total);
        call.count += 1;
        call.phases.add(&phases);
    }
}

/// The symbols of the programs' code.
struct Code {
    symbols: Symbols,
    marks: Option<Marks<Phase>>,
    proxy_kernel: bool,
}

impl Code {
    /// The function and the phase of an instruction.
    fn of(&mut self, pc: u64, insn: &Insn, privilege: Privilege) -> (usize, Phase) {
        let function = self.symbols.at(pc);
        let phase = match (&mut self.marks, privilege) {
            (Some(marks), _) => marks.at(pc),
            (None, Privilege::User) => Phase::UserStub,
            (None, Privilege::Machine) => Phase::Firmware,
            (None, Privilege::Supervisor) => proxy_kernel_phase(&self.symbols.names()[function], insn),
        };
        (function, phase)
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
    const TRAP: bool = true;
    const BLOCKS: bool = true;

    fn retire(&mut self, retired: &Retired) {
        let (function, phase) = self.code.of(retired.pc, &retired.insn, retired.privilege);
        self.count(function, phase, 1, retired.privilege);
    }

    fn several(&mut self, several: &Several) {
        for pass in several.passes {
            for part in self.parts(several, pass) {
                self.pass(part, several.privilege);
            }
        }
    }

    fn trap(&mut self, trap: &Trap) {
        if !self.system
            && trap.from == Privilege::User
            && !trap.cause.is_interrupt()
            && trap.cause.code() == 8
        {
            self.open = Some((trap.a7, Phases::default()));
        }
    }
}
