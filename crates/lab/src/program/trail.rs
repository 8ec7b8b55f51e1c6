//! How a program came to where it failed: it runs again to the same instruction, watched. A machine repeats its run exactly.

use tollgate_riscv::{Elf, Insn, Machine, Observer, Op, RegClass, Retired, Stop, Trap};

use crate::calls::{Calls, Frame, Leave};

/// The longest run that is repeated: a few seconds.
const LONGEST: u64 = 100_000_000;
/// The most calls that are followed into each other.
const DEEPEST: usize = 1 << 20;
const SP: u8 = 2;

/// What led to a place.
pub(super) struct Trail {
    /// The instructions whose calls are open, the innermost first.
    pub(super) calls: Vec<u64>,
    /// The last instruction that retired, and where it led.
    pub(super) last: Option<Step>,
    /// The last one that led from the program's code to elsewhere.
    pub(super) left: Option<Step>,
    /// The last return that went where no call continues, and the instructions that had retired before.
    pub(super) stray: Option<(Step, u64)>,
    /// Where the stack ran over; the calls are then those that were open.
    pub(super) overflow: Option<Overflow>,
}

/// An instruction that retired.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) pc: u64,
    pub(super) insn: Insn,
    pub(super) next: u64,
}

/// A stack pointer that went below its stack.
pub(super) struct Overflow {
    /// The instruction that moved it.
    pub(super) pc: u64,
    pub(super) sp: u64,
    /// Where the stack ends, and what is below.
    pub(super) limit: u64,
    pub(super) below: String,
    calls: Vec<u64>,
}

/// Runs a program's machine from the start until so many instructions have retired. `None` if that takes long, or differs.
pub(super) fn follow(mut machine: Machine, program: &Elf, instructions: u64) -> Option<Trail> {
    if instructions > LONGEST {
        return None;
    }
    let sp = machine.x(SP);
    let stack = Stack::new(program, sp);
    let calls = Calls(Vec::new());
    let mut shadow = Shadow {
        calls,
        last: None,
        left: None,
        trapped: None,
        stack,
        builds: false,
        stray: None,
        overflow: None,
    };
    while machine.instret() < instructions {
        let (before, left) = (machine.instret(), instructions - machine.instret());
        if machine.run(left, &mut shadow) != Stop::Budget {
            return None;
        }
        machine.take_console();
        // A program that overwrites its own code without `fence.i`, as a stack that runs over does, can fail earlier: it then
        // traps for ever. What led there counts if it is the stack.
        if machine.instret() == before {
            shadow.overflow.as_ref()?;
            break;
        }
    }
    let mut overflow = shadow.overflow.take();
    let calls = overflow.as_mut().map_or_else(|| shadow.open(), |it| std::mem::take(&mut it.calls));
    Some(Trail { calls, last: shadow.last, left: shadow.left, stray: shadow.stray, overflow })
}

/// Follows calls and the stack pointer.
struct Shadow<'a> {
    calls: Calls<u64>,
    last: Option<Step>,
    left: Option<Step>,
    /// The last one before the last trap.
    trapped: Option<Step>,
    stack: Stack<'a>,
    /// Whether the last instruction set the stack pointer to another place.
    builds: bool,
    stray: Option<(Step, u64)>,
    overflow: Option<Overflow>,
}

impl Shadow<'_> {
    /// The instructions whose calls are open, the innermost first.
    fn open(&self) -> Vec<u64> {
        self.calls.0.iter().rev().filter(|frame| !frame.trap).map(|frame| frame.of).collect()
    }

    fn push(&mut self, back: u64, trap: bool, of: u64) {
        if self.calls.0.len() < DEEPEST {
            self.calls.0.push(Frame { back, trap, of });
        }
    }
}

impl Observer for Shadow<'_> {
    const RETIRE: bool = true;
    const TRAP: bool = true;

    fn retire(&mut self, retired: &Retired) {
        let Retired { pc, insn, next_pc: next, .. } = *retired;
        let step = Step { pc, insn, next };
        self.last = Some(step);
        let leave = Leave::of(&insn, pc);
        if self.stack.is_code(pc) && !self.stack.is_code(next) && !matches!(leave, Leave::TrapReturn) {
            self.left = Some(step);
        }
        match leave {
            Leave::Call { back } => self.push(back, false, pc),
            Leave::Return => match self.calls.returned(next) {
                Some(at) => self.calls.0.truncate(at),
                None => self.stray = Some((step, retired.instret)),
            },
            Leave::TrapReturn => {
                if let Some(at) = self.calls.handler() {
                    // Back to the instruction that trapped, it is as if there had been no trap.
                    if self.calls.0[at].back == next {
                        self.last = self.trapped;
                    }
                    self.calls.0.truncate(at);
                }
            }
            Leave::Next | Leave::Trap { .. } => {}
        }
        let writes = insn.rd == SP && insn.row().format.rd() == RegClass::X;
        // `la` and `li` build an address in several instructions.
        let moves = matches!(insn.op, Op::Addi | Op::Add | Op::Sub) && insn.rs1 == SP && !self.builds;
        self.builds = writes && !moves;
        if writes && self.overflow.is_none() {
            if !moves {
                self.stack.begin(retired.value);
            } else if retired.value < self.stack.limit {
                let Stack { limit, below, .. } = &self.stack;
                self.overflow = Some(Overflow {
                    pc,
                    sp: retired.value,
                    limit: *limit,
                    below: (*below).to_owned(),
                    calls: self.open(),
                });
            }
        }
    }

    fn trap(&mut self, trap: &Trap) {
        self.trapped = self.last;
        self.push(trap.epc, true, trap.epc);
    }
}

/// The stack that the pointer is in: from what is below it in memory.
struct Stack<'a> {
    program: &'a Elf,
    limit: u64,
    below: &'a str,
}

impl<'a> Stack<'a> {
    fn new(program: &'a Elf, sp: u64) -> Self {
        let mut stack = Self { program, limit: 0, below: "" };
        stack.begin(sp);
        stack
    }

    fn is_code(&self, address: u64) -> bool {
        let segments = self.program.segments.iter();
        segments.filter(|it| it.executable).any(|it| address.wrapping_sub(it.address) < it.memory_size)
    }

    /// The pointer was set to another place: what is below is the last label before it in its segment, or the end of the
    /// segment before it.
    fn begin(&mut self, sp: u64) {
        let segments = &self.program.segments;
        let inside = segments.iter().find(|it| it.address < sp && sp <= it.address + it.memory_size);
        let symbols = &self.program.symbols;
        let below = &symbols[..symbols.partition_point(|symbol| symbol.address < sp)];
        // The global pointer is in the middle of what it reaches.
        let label = below.iter().rev().find(|symbol| !symbol.name.contains('$'));
        (self.limit, self.below) = match (inside, label) {
            (Some(segment), Some(label)) if label.address >= segment.address => {
                (label.address, label.name.as_str())
            }
            (Some(segment), _) => (segment.address, "its segment"),
            (None, _) => {
                let ends = segments.iter().map(|it| it.address + it.memory_size).filter(|&end| end <= sp);
                (ends.max().unwrap_or(0), "the end of the program")
            }
        };
    }
}
