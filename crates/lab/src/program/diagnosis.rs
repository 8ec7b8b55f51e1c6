//! Why a program stopped: in a sentence with the place, the registers and the calls that led there.

use tollgate_record::number;
use tollgate_riscv::{
    Cause, Config, Elf, Machine, MachineKind, Repeat, Segment, Trap, absent, semihosting_name, text,
};

use super::trail::{Overflow, Step, Trail};
use crate::calls::Leave;
use crate::fault;
use crate::source::Executable;
use crate::symbols::Symbols;

/// The function of the C library that only programs for an operating system have.
pub(crate) const STARTS_LINUX: &str = "__libc_start_main";
pub(crate) const FOR_LINUX: &str = "a static Linux program needs a proxy kernel: --pk PK";

/// The most characters of a line that is quoted.
const LONGEST_LINE: usize = 60;
/// What a return without a return address asks for.
const SAVE_RA: &str = "; save ra before another call, and restore it before the return";

/// Why a program can neither end nor continue.
pub(super) struct Diagnosis<'a> {
    pub(super) machine: &'a Machine,
    pub(super) symbols: &'a mut Symbols,
    pub(super) program: &'a Elf,
    pub(super) source: &'a Executable,
    /// Runs the program again for so many instructions.
    pub(super) replay: &'a dyn Fn(u64) -> Option<Trail>,
}

impl Diagnosis<'_> {
    /// Whether the handler of a trap raises it itself.
    pub(super) fn is_of_handler(&mut self, trap: &Trap) -> bool {
        let function = self.symbols.at(trap.epc);
        function != 0 && function == self.symbols.at(trap.handler)
    }

    /// Traps that repeat for ever, of which this one was the first.
    pub(super) fn of_trap(&mut self, trap: Trap) -> String {
        let Trap { cause, epc, handler, .. } = trap;
        let at = self.place(epc);
        if let Some(call) = self.machine.semihosting_call(epc).filter(|_| cause == Cause::Breakpoint) {
            return format!(
                "the breakpoint at {at} is a semihosting call, {}: --semihosting answers it",
                semihosting(call)
            );
        }
        if cause == Cause::MachineEcall && handler == 0 {
            return format!(
                "{cause} at {at} with {} in a7, and no trap handler: 10 and 93 end a bare program, 64 writes, 1, 4, 11 and 34 to 36 print; {FOR_LINUX}",
                trap.a7
            );
        }
        let trail = self.trail();
        if let Some(overflow) = trail.as_ref().and_then(|trail| trail.overflow.as_ref()) {
            return self.of_overflow(overflow) + &self.called(trail.as_ref());
        }
        let fault = self.of_fault(&trap, trail.as_ref());
        let handler = match handler {
            0 => {
                let letter = trap.to.letter().to_ascii_lowercase();
                format!(", and no trap handler is set ({letter}tvec is 0)")
            }
            _ => format!(", and the handler at {} does nothing but trap again", self.place(handler)),
        };
        let calls = self.called(trail.as_ref());
        let is_for_linux = self.symbols.names().iter().any(|name| name == STARTS_LINUX);
        let hint = if is_for_linux { format!("; {FOR_LINUX}") } else { String::new() };
        format!("{fault}{handler}{calls}{hint}")
    }

    /// An exception, and what is wrong with the instruction.
    fn of_fault(&mut self, trap: &Trap, trail: Option<&Trail>) -> String {
        let Trap { cause, epc, tval, .. } = *trap;
        let is_code = self.code().any(|it| it.executable && epc.wrapping_sub(it.address) < it.memory_size);
        let fetches = matches!(cause, Cause::InstructionAccessFault | Cause::InstructionPageFault);
        if fetches || cause == Cause::IllegalInstruction && !is_code {
            return self.of_jump(cause, epc, trail);
        }
        let at = self.place(epc);
        let insn = fault::instruction(self.machine, epc);
        let with = insn.map_or_else(String::new, |insn| fault::with(self.machine, &insn));
        let why = match cause {
            Cause::IllegalInstruction => match absent(tval as u32, self.machine.config().isa) {
                Some(what) => format!(" ({tval:#x}: {what})"),
                None => format!(" (tval {tval:#x})"),
            },
            Cause::LoadMisaligned | Cause::StoreMisaligned => {
                format!("{with}: {tval:#x} is not aligned (--misaligned executes it)")
            }
            Cause::LoadAccessFault | Cause::StoreAccessFault if !self.is_ram(tval) => {
                let Config { ram_base, ram_bytes, .. } = *self.machine.config();
                let end = ram_base + ram_bytes;
                format!("{with}: there is no memory at {tval:#x} (RAM is from {ram_base:#x} to {end:#x})")
            }
            Cause::Breakpoint => format!(" (tval {tval:#x})"),
            _ => format!("{with} (tval {tval:#x})"),
        };
        format!("{cause} at {at}{why}")
    }

    /// An instruction fetched from where there is none.
    fn of_jump(&mut self, cause: Cause, to: u64, trail: Option<&Trail>) -> String {
        let data = self.code().any(|it| to.wrapping_sub(it.address) < it.memory_size);
        let label = self.program.symbols.iter().rev().find(|it| it.address <= to).filter(|_| data);
        let what = match label {
            Some(label) => format!("data (`{}`)", label.name),
            None if data => "data".to_owned(),
            None if self.is_ram(to) => "memory without code".to_owned(),
            None => "no memory".to_owned(),
        };
        // A few words of data may be instructions.
        let near = |step: &Step| to.wrapping_sub(step.next) < 64;
        let step =
            trail.and_then(|trail| trail.left.filter(near).or(trail.last.filter(|last| last.next == to)));
        let Some(last) = step else {
            return format!("{cause} at {}, where there is {what}", self.place(to));
        };
        let at = self.place(last.pc);
        if last.next == last.pc.wrapping_add(last.insn.len.into()) {
            return format!("{cause} at {to:#x}: the code ends behind {at}, and there is {what}");
        }
        let (insn, with) = (text(&last.insn), fault::with(self.machine, &last.insn));
        let hint = match Leave::of(&last.insn, last.pc) {
            Leave::Return => SAVE_RA,
            _ => "",
        };
        format!(
            "{cause} at {to:#x}: `{insn}` at {at}{with} goes to {:#x}, and there is {what}{hint}",
            last.next
        )
    }

    /// A stack that ran over.
    fn of_overflow(&mut self, overflow: &Overflow) -> String {
        let Overflow { pc, sp, limit, below, .. } = overflow;
        let at = self.place(*pc);
        format!("the stack runs over: sp becomes {sp:#x} at {at}, below {below} at {limit:#x}")
    }

    /// The last calls, the innermost first.
    fn called(&mut self, trail: Option<&Trail>) -> String {
        const SHOWN: usize = 4;
        let calls = trail.map_or(&[][..], |trail| &trail.calls);
        let mut groups: Vec<(u64, usize)> = Vec::new();
        for &site in calls {
            match groups.last_mut() {
                Some((same, times)) if *same == site => *times += 1,
                _ => groups.push((site, 1)),
            }
        }
        let more = groups.len().saturating_sub(SHOWN);
        let mut names: Vec<String> = Vec::new();
        for &(site, times) in groups.iter().take(SHOWN) {
            let place = self.short(site);
            let times =
                if times == 1 { String::new() } else { format!(" ({} times)", number::count(times as u64)) };
            names.push(place + &times);
        }
        if more > 0 {
            names.push(format!("{more} more"));
        }
        if names.is_empty() { String::new() } else { format!("; called from {}", names.join(", ")) }
    }

    /// How it came here, if that can be found out.
    fn trail(&self) -> Option<Trail> {
        (self.replay)(self.machine.instret())
    }

    fn code(&self) -> impl Iterator<Item = &Segment> {
        self.program.segments.iter()
    }

    fn is_ram(&self, address: u64) -> bool {
        let Config { ram_base, ram_bytes, .. } = *self.machine.config();
        address.wrapping_sub(ram_base) < ram_bytes
    }

    /// The function and the line of an address.
    fn short(&mut self, pc: u64) -> String {
        let name = match self.symbols.at(pc) {
            0 => format!("{pc:#x}"),
            name => self.symbols.names()[name].clone(),
        };
        let line = self.source.line(pc).map(|it| format!(" ({}:{})", it.file, it.line));
        name + &line.unwrap_or_default()
    }

    /// An address, the function that it is in, and its line.
    pub(super) fn place(&mut self, pc: u64) -> String {
        let function = match self.symbols.at(pc) {
            0 => String::new(),
            name => format!(" in {}", self.symbols.names()[name]),
        };
        let line = self.source.line(pc).map(|it| {
            // Some write a function in one line.
            let text =
                if it.text.chars().count() > LONGEST_LINE { String::new() } else { format!(": {}", it.text) };
            format!(" ({}:{}{text})", it.file, it.line)
        });
        format!("{pc:#x}{function}{}", line.unwrap_or_default())
    }

    /// An endless loop.
    pub(super) fn of_loop(&mut self, Repeat { pc, steps, traps }: Repeat, last: Option<Trap>) -> String {
        let trail = self.trail();
        let trail = trail.as_ref();
        if let Some(overflow) = trail.and_then(|trail| trail.overflow.as_ref()) {
            return self.of_overflow(overflow) + &self.called(trail);
        }
        // Within the period.
        let after = self.machine.instret().saturating_sub(steps);
        let stray = trail.and_then(|trail| trail.stray).filter(|&(_, instret)| instret >= after);
        if let Some((step, _)) = stray {
            let (at, next) = (self.place(step.pc), self.short(step.next));
            return format!("the return at {at} goes to {next} for ever, where no call continues{SAVE_RA}");
        }
        let insn = fault::instruction(self.machine, pc);
        let with = insn.map_or_else(String::new, |insn| fault::with(self.machine, &insn));
        let at = format!("{}{with}", self.place(pc));
        let what = match (last.filter(|_| traps), steps) {
            (Some(Trap { cause, epc, tval, handler, .. }), _) => {
                let (at, handler) = (self.place(epc), self.place(handler));
                format!(
                    "{cause} at {at} (tval {tval:#x}), and the handler at {handler} returns to the same trap for ever"
                )
            }
            (None, 1) => format!("the instruction at {at} jumps to itself, and no interrupt can come"),
            (None, _) => format!(
                "the program repeats the {steps} instructions from {at} for ever: they change nothing, and no interrupt can come"
            ),
        };
        what + &self.called(trail) + &self.ends()
    }

    /// How a program could end, if it has no way to do so.
    pub(super) fn ends(&self) -> String {
        match self.machine.config().machine {
            MachineKind::Spike if !self.machine.has_htif() => "; the ELF has no symbol tohost in RAM, and a bare program ends by \
                 writing (status << 1 | 1) there, by ecall with 93 in a7, or with --semihosting by SYS_EXIT"
                .into(),
            MachineKind::Virt => {
                "; on the machine virt a program ends by writing 0x5555 to 0x100000 (status << 16 | 0x3333 for another status); \
                 the symbol tohost is for --machine spike"
                    .into()
            }
            MachineKind::Spike => String::new(),
        }
    }
}

/// A semihosting call by its name and number.
pub(super) fn semihosting(call: u64) -> String {
    match semihosting_name(call) {
        Some(name) => format!("{name} ({call:#04x})"),
        None => format!("number {call:#x}"),
    }
}
