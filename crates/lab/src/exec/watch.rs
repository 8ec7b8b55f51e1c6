//! Charges every instruction between the program's `execve` and its end to a task, a crossing, a step of it and a function.
//!
//! The observer sees instructions and the addresses of accesses, no registers. Of the kernel it needs three functions and
//! the rules of phases: `__switch_to` loads the registers of the next task first, so the address of that load says
//! which task it is; `do_task_dead` is the end of a task.

mod harts;
mod runs;
mod views;

use std::collections::HashMap;
use std::ops::Range;

use tollgate_cores::{Core, CoreError, Timed};
use tollgate_riscv::{Access, Observer, Pass, Privilege, Retired, Several, Touch, Trap, TrapReturn, Walk};

use super::code::{Code, Place};
use super::crossing::{Crossing, Key, Node, Stage, Step};
use super::drmemtrace::{Executed, Recorder, Reference};
use super::parked::Parked;
use super::task::{NOTHING, Part, RUNS, Running, Task};
use super::timeline::Timeline;
use crate::calls::{Frame, Leave};
use crate::kernel::Rules;

/// Calls beyond this depth are not told apart; handlers are, to twice the depth.
const DEEPEST: usize = 512;
const MOST_PATHS: usize = 1 << 18;
/// The immediate of the hint in front of the program's `execve`, in `guests/riscv/programs/exec_init.c`.
const MARK: i64 = 77;
const EXECVE: [u64; 2] = [221, 281];
const EXIT: [u64; 2] = [93, 94];

/// The observer.
pub(crate) struct Watch {
    pub(crate) code: Code,
    rules: Option<Rules>,
    /// The file of the first process.
    init: Option<u32>,
    switch_to: Option<u32>,
    task_dead: Option<u32>,
    epoch: u64,
    runs: Vec<(u64, Range<u32>)>,
    parts: Vec<Part>,
    pub(crate) keys: Vec<Key>,
    /// Instructions of each key on the hart whose turn it is.
    instructions: Vec<u64>,
    index: HashMap<Key, u32>,
    contexts: HashMap<(u32, Stage, Crossing), u32>,
    /// The kernel's instructions that were looked up, by address.
    looked_up: HashMap<u64, (Place, Step)>,
    /// How often each crossing was made, by task and stage.
    pub(crate) counts: HashMap<(u32, Stage, Crossing), u64>,
    pub(crate) paths: Vec<Node>,
    path_index: HashMap<(Option<u32>, u32, u32), u32>,
    pseudo: HashMap<Crossing, u32>,
    tasks: Vec<Task>,
    ids: HashMap<u64, u32>,
    now: u32,
    context: u32,
    /// The program's first task, from its mark on.
    pub(crate) root: Option<u32>,
    /// The task that is switched to.
    next: Option<u64>,
    /// Accesses of an instruction that is executed alone.
    alone: Vec<Reference>,
    /// Where the trap returns to.
    returns_to: Privilege,
    clock: Option<Timed<(), ()>>,
    /// Cycles of the hart's core that were charged to paths.
    at: u64,
    owner: (u32, u32),
    pending: Vec<Pass>,
    /// The step of the instruction that was charged last.
    last: Step,
    pub(super) timeline: Option<Box<Timeline>>,
    pub(super) recorder: Option<Box<Recorder>>,
    /// The hart whose turn it is, and what the others do.
    hart: usize,
    parked: Vec<Parked>,
}

impl Watch {
    /// For a kernel with its rules, or for a program alone.
    ///
    /// # Errors
    /// An invalid core.
    pub(crate) fn new(
        code: Code,
        rules: Option<Rules>,
        init: Option<u32>,
        core: Option<&Core>,
        loaded: &tollgate_riscv::Code,
        harts: usize,
    ) -> Result<Self, CoreError> {
        let [switch_to, task_dead] = ["__switch_to", "do_task_dead"].map(|name| code.kernel_function(name));
        let clock = || core.map(|core| Ok(Timed::new(core, (), ())?.with_code(loaded))).transpose();
        // One place for each hart; that of the running hart stays unused.
        let parked = |hart| Ok(Parked::new(hart, if hart == 0 { None } else { clock()? }));
        let parked = (0..harts as u32).map(parked).collect::<Result<_, CoreError>>()?;
        let mut watch = Self {
            code,
            init,
            switch_to,
            task_dead,
            epoch: NOTHING,
            runs: vec![(NOTHING, 0..0); RUNS],
            parts: Vec::new(),
            keys: Vec::new(),
            instructions: Vec::new(),
            index: HashMap::new(),
            contexts: HashMap::new(),
            looked_up: HashMap::new(),
            counts: HashMap::new(),
            paths: Vec::new(),
            path_index: HashMap::new(),
            pseudo: HashMap::new(),
            tasks: (0..harts as u32).map(|task| Task::new(task, Stage::Running, Crossing::None)).collect(),
            ids: HashMap::new(),
            now: 0,
            context: 0,
            root: None,
            next: None,
            alone: Vec::new(),
            returns_to: Privilege::User,
            clock: clock()?,
            at: 0,
            owner: (u32::MAX, u32::MAX),
            pending: Vec::new(),
            last: Step::Own,
            rules,
            timeline: None,
            recorder: None,
            hart: 0,
            parked,
        };
        // Without a kernel the program begins at once.
        if watch.rules.is_none() {
            watch.begin();
        }
        watch.set_context();
        Ok(watch)
    }

    /// The current task is the program's from here on.
    fn begin(&mut self) {
        let new = self.tasks.len() as u32;
        let stage = if self.rules.is_none() { Stage::Loading } else { Stage::Starting };
        self.tasks.push(Task::new(new, stage, Crossing::None));
        self.ids.values_mut().filter(|task| **task == self.now).for_each(|task| *task = new);
        (self.now, self.root) = (new, Some(new));
        self.set_context();
    }

    /// Whether a task is one of the program's.
    pub(crate) fn is_program(&self, task: u32) -> bool {
        self.root == Some(task) || self.root.is_some() && self.tasks[task as usize].is_program
    }

    /// How many tasks of the program have begun and not ended.
    pub(super) fn alive(&self) -> u64 {
        self.tasks.iter().filter(|task| task.is_program && !task.dead).count() as u64
    }

    /// The core.
    pub(crate) fn core(&self) -> Option<&Core> {
        self.clock.as_ref().map(Timed::core)
    }

    /// The crossing that a name of a path stands for.
    pub(crate) fn crossing_of(&self, function: u32) -> Option<Crossing> {
        self.pseudo.iter().find(|(_, name)| **name == function).map(|(crossing, _)| *crossing)
    }

    fn task(&mut self) -> &mut Task {
        &mut self.tasks[self.now as usize]
    }

    fn set_context(&mut self) {
        let Task { group, stage, crossing, .. } = self.tasks[self.now as usize];
        let next = self.contexts.len() as u32;
        self.context = *self.contexts.entry((group, stage, crossing)).or_insert(next);
    }

    fn key(&mut self, step: Step, function: u32) -> u32 {
        let Task { group, stage, crossing, .. } = self.tasks[self.now as usize];
        let key = Key { task: group, stage, crossing, step, function };
        let next = self.keys.len() as u32;
        let found = *self.index.entry(key).or_insert(next);
        if found == next {
            self.keys.push(key);
        }
        // Another hart may have added keys.
        if self.instructions.len() < self.keys.len() {
            self.instructions.resize(self.keys.len(), 0);
        }
        found
    }

    /// The path of a function, or of an inlined call with the calls that contain it.
    fn path(&mut self, caller: Option<u32>, function: u32) -> u32 {
        let caller = match self.code.outer(function) {
            Some(outer) => Some(self.path(caller, outer)),
            None => caller,
        };
        let group = self.tasks[self.now as usize].group;
        let root = caller.map_or(group, |_| 0);
        let next = self.paths.len() as u32;
        if let (Some(caller), true) = (caller, self.paths.len() >= MOST_PATHS) {
            return caller;
        }
        let found = *self.path_index.entry((caller, root, function)).or_insert(next);
        if found == next {
            self.paths.push(Node { caller, task: group, function, weight: 0, count: 0 });
        }
        found
    }

    fn top(&self) -> Option<&Running> {
        self.tasks[self.now as usize].calls.0.last().map(|frame| &frame.of)
    }

    /// The path of a crossing.
    fn crossing_path(&mut self, crossing: Crossing) -> u32 {
        let name = match self.pseudo.get(&crossing) {
            Some(&known) => known,
            None => {
                let name = self.code.pseudo(&format!("[{}]", crossing.name()));
                self.pseudo.insert(crossing, name);
                name
            }
        };
        let caller = self.top().map(|top| top.node);
        self.path(caller, name)
    }

    fn push(&mut self, function: u32, back: u64, trap: bool, node: u32) {
        let task = &mut self.tasks[self.now as usize];
        if task.calls.0.len() >= if trap { 2 * DEEPEST } else { DEEPEST } {
            task.beyond += 1;
            return;
        }
        let crossing = if trap { task.before } else { task.crossing };
        let beyond = std::mem::take(&mut task.beyond);
        let of = Running { function, node, beyond, inherit: task.inherit, crossing };
        task.calls.0.push(Frame { back, trap, of });
    }

    /// Ends calls down to this depth.
    fn pop_to(&mut self, depth: usize) {
        let task = &mut self.tasks[self.now as usize];
        while task.calls.0.len() > depth {
            let Some(Frame { of, .. }) = task.calls.0.pop() else { return };
            task.beyond = of.beyond;
            (task.inherit, task.crossing) = (of.inherit, of.crossing);
        }
    }

    /// Control arrives at an instruction that did not follow the one before, or is of another function; `last` is the step of
    /// the one before.
    fn arrive(&mut self, pc: u64, place: Place, user: bool, last: Step) {
        let function = place.function;
        let left = std::mem::replace(&mut self.task().left, Leave::Next);
        match left {
            Leave::Next => {}
            Leave::Call { back } => {
                let caller = self.top().map(|top| top.node);
                let node = self.path(caller, function);
                self.push(function, back, false, node);
                self.task().inherit = last;
            }
            Leave::Trap { epc } => {
                let crossing = self.tasks[self.now as usize].crossing;
                let caller = self.crossing_path(crossing);
                let node = self.path(Some(caller), function);
                self.push(function, epc, true, node);
                self.task().inherit = Step::Work;
            }
            Leave::Return if self.task().beyond > 0 => self.task().beyond -= 1,
            Leave::Return => {
                if let Some(at) = self.task().calls.returned(pc) {
                    self.pop_to(at);
                }
            }
            Leave::TrapReturn if self.returns_to == Privilege::User => self.back_in_user(pc),
            Leave::TrapReturn => {
                let handler = self.task().calls.handler();
                self.pop_to(handler.unwrap_or(0));
                self.returned(false);
            }
        }
        match self.top() {
            Some(top) if top.function == function => {}
            Some(_) => {
                let task = &mut self.tasks[self.now as usize];
                let below = task.calls.0.len().checked_sub(2).map(|at| task.calls.0[at].of.node);
                let is_trap = task.calls.0.last().is_some_and(|top| top.trap);
                let caller = match is_trap {
                    // Of a handler the path of its crossing.
                    true => task.calls.0.last().and_then(|top| self.paths[top.of.node as usize].caller),
                    false => below,
                };
                let node = self.path(caller, function);
                if let Some(top) = self.task().calls.0.last_mut() {
                    (top.of.function, top.of.node) = (function, node);
                }
            }
            None => {
                let crossing = self.tasks[self.now as usize].crossing;
                let caller = (crossing != Crossing::None).then(|| self.crossing_path(crossing));
                let node = self.path(caller, function);
                self.push(function, u64::MAX, false, node);
            }
        }
        if user {
            let (init, root) = (self.init, self.root);
            let task = self.task();
            if place.file != init || init.is_none() {
                task.is_program = true;
                task.group = root.unwrap_or(task.group);
            }
            if task.stage == Stage::Loading && (place.entry || place.file.is_none()) {
                task.stage = Stage::Running;
            }
        }
        if Some(function) == self.task_dead {
            self.task().dead = true;
        }
        if Some(function) == self.switch_to {
            self.next = None;
        }
        self.set_context();
    }

    /// A trap has returned to user mode.
    fn back_in_user(&mut self, pc: u64) {
        let task = self.task();
        let trap = task.calls.0.iter().position(|frame| frame.trap);
        let back = trap.map(|at| task.calls.0[at].back.wrapping_add(4));
        let executed =
            matches!(task.crossing, Crossing::Call(number) if EXECVE.contains(&number)) && back != Some(pc);
        self.pop_to(trap.unwrap_or(0));
        let task = self.task();
        if executed || trap.is_none() {
            task.calls.0.clear();
            task.beyond = 0;
        }
        task.crossing = Crossing::None;
        if executed {
            task.stage = Stage::Loading;
        }
        self.returned(true);
    }

    /// The next instruction is of the task whose registers were loaded from there.
    fn switch(&mut self, id: u64) {
        let task = self.task();
        task.left = Leave::Return;
        if task.dead {
            let now = self.now;
            self.ids.retain(|_, task| *task != now);
        }
        let new = self.tasks.len() as u32;
        let to = *self.ids.entry(id).or_insert(new);
        if to == new {
            self.tasks.push(Task::new(new, Stage::Running, Crossing::Birth));
            if let Some(timeline) = &mut self.timeline {
                timeline.begin(new, Crossing::Birth);
            }
        }
        self.now = to;
        self.set_context();
    }

    /// Charges instructions that arrived.
    fn charge(&mut self, key: u32, instructions: u64) {
        self.instructions[key as usize] += instructions;
        if self.clock.is_none()
            && let Some(node) = self.top().map(|top| top.node)
        {
            self.paths[node as usize].weight += instructions;
        }
        if self.clock.is_none()
            && let Some(timeline) = &mut self.timeline
        {
            timeline.step(self.now, &self.keys[key as usize]);
            timeline.now += instructions;
        }
    }

    /// Charges the cycles since the last time to the path that paid until here.
    fn charge_cycles(&mut self) {
        let Some(clock) = &self.clock else { return };
        let now = clock.cycles();
        let cycles = now - std::mem::replace(&mut self.at, now);
        if let Some(path) = self.paths.get_mut(self.owner.1 as usize) {
            path.weight += cycles;
        }
    }

    /// The key and the path that pay from now on.
    fn set_owner(&mut self, key: u32) {
        let node = self.top().map_or(u32::MAX, |top| top.node);
        self.owner = (key, node);
        if let Some(clock) = &mut self.clock {
            clock.set_owner(key);
        }
        self.draw(key);
    }

    /// Gives the core the collected runs.
    fn flush(&mut self, rest: &mut Rest) {
        if self.pending.is_empty() {
            return;
        }
        let Rest { several, instructions, accesses, operands } = *rest;
        let (these, others) = several.accesses.split_at(accesses.min(several.accesses.len()));
        let (own, further) = several.operands.split_at(operands.min(several.operands.len()));
        if let Some(clock) = &mut self.clock {
            clock.several(&Several { passes: &self.pending, accesses: these, operands: own, ..several });
        }
        self.pending.clear();
        self.charge_cycles();
        rest.several.accesses = others;
        rest.several.operands = further;
        rest.several.retired += instructions;
        (rest.instructions, rest.accesses, rest.operands) = (0, 0, 0);
    }

    /// Behind a part of `__switch_to`, or the mark.
    fn after(&mut self, place: Place, mark: bool, leave: Leave, accesses: impl Iterator<Item = (u64, bool)>) {
        if mark {
            self.begin();
        }
        if Some(place.function) == self.switch_to {
            for (va, store) in accesses {
                if !store && self.next.is_none() {
                    self.next = Some(va);
                }
            }
            if let (Leave::Return, Some(next)) =
                (leave, self.next.take_if(|_| matches!(leave, Leave::Return)))
            {
                self.switch(next);
            }
        }
    }
}

/// The part of a report that the core has not received yet, and the share of it in the collected runs.
struct Rest<'a> {
    several: Several<'a>,
    instructions: u64,
    accesses: usize,
    operands: usize,
}

impl Observer for Watch {
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const BLOCKS: bool = true;
    const WALK: bool = true;

    fn operands(&self) -> bool {
        self.clock.as_ref().is_some_and(Observer::operands)
    }

    fn hart(&mut self, hart: usize) {
        self.turn(hart);
    }

    fn walk(&mut self, walk: &Walk) {
        if let Some(clock) = &mut self.clock {
            clock.walk(walk);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.walk(walk);
        }
    }

    fn address_space(&mut self, satp: u64) {
        if let Some(clock) = &mut self.clock {
            clock.address_space(satp);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.address_space(satp);
        }
    }

    fn access(&mut self, access: &Access) {
        let &Access { va, pa, size, store, .. } = access;
        self.alone.push(Reference { va, pa, size, store });
        if let Some(clock) = &mut self.clock {
            clock.access(access);
        }
    }

    fn retire(&mut self, retired: &Retired) {
        let (place, step, mark) = self.of(retired.pc, retired.pa >> 12, &retired.insn, retired.privilege);
        let user = retired.privilege == Privilege::User;
        let last = self.last;
        self.arrive(retired.pc, place, user, last);
        let step = if step == Step::Inherit { self.task().inherit } else { step };
        let key = self.key(step, place.function);
        self.charge(key, 1);
        self.last = step;
        self.set_owner(key);
        if let Some(clock) = &mut self.clock {
            clock.retire(retired);
        }
        self.charge_cycles();
        let leave = Leave::of(&retired.insn, retired.pc);
        self.task().left = leave;
        let accesses = std::mem::take(&mut self.alone);
        let thread = self.thread();
        if let Some(recorder) = &mut self.recorder {
            let &Retired { pc, pa, ref insn, word, next_pc, taken, .. } = retired;
            let executed = Executed { pc, pa, insn, word, next_pc, taken };
            recorder.instruction(thread, &executed, accesses.iter().copied());
        }
        self.after(place, mark, leave, accesses.iter().map(|access| (access.va, access.store)));
        self.alone = accesses;
        self.alone.clear();
    }

    fn several(&mut self, several: &Several) {
        let mut rest = Rest { several: *several, instructions: 0, accesses: 0, operands: 0 };
        let timed = self.clock.is_some();
        let user = several.privilege == Privilege::User;
        let mut accesses: &[Touch] = several.accesses;
        for pass in several.passes {
            let mut start = pass.start();
            let mut end = start;
            let mut first = start;
            for at in self.find(several, pass) {
                let part = self.parts[at];
                let changes = !matches!(self.task().left, Leave::Next)
                    || self.top().is_none_or(|top| top.function != part.place.function)
                    || part.place.entry;
                let last = self.last;
                if timed && (changes || part.step != last) {
                    if start < end {
                        self.pending.push(pass.part(start, end));
                        start = end;
                    }
                    self.flush(&mut rest);
                }
                if changes {
                    self.arrive(part.pc, part.place, user, last);
                }
                let step = if part.step == Step::Inherit {
                    self.tasks[self.now as usize].inherit
                } else {
                    part.step
                };
                let key = match part.charged {
                    (context, of, key) if context == self.context && of == step => key,
                    _ => {
                        let key = self.key(step, part.place.function);
                        self.parts[at].charged = (self.context, step, key);
                        key
                    }
                };
                if timed && key != self.owner.0 {
                    if start < end {
                        self.pending.push(pass.part(start, end));
                        start = end;
                    }
                    self.flush(&mut rest);
                }
                if timed {
                    self.set_owner(key);
                }
                self.charge(key, part.instructions);
                self.last = step;
                end = part.end;
                rest.instructions += part.instructions;
                rest.accesses += part.accesses;
                rest.operands += part.operands;
                let here = part.accesses.min(accesses.len());
                let (own, others) = accesses.split_at(here);
                accesses = others;
                self.task().left = part.leave;
                if self.recorder.is_some() {
                    self.record(several, pass, first..part.end, own);
                }
                first = part.end;
                if part.mark || Some(part.place.function) == self.switch_to {
                    if timed {
                        self.pending.push(pass.part(start, end));
                        start = end;
                        self.flush(&mut rest);
                    }
                    let own = own.iter().map(|touch| (touch.va, touch.store()));
                    self.after(part.place, part.mark, part.leave, own);
                }
            }
            if timed && start < end {
                self.pending.push(pass.part(start, end));
            }
        }
        if timed {
            self.flush(&mut rest);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        self.alone.clear();
        let code = trap.cause.code();
        let crossing = match (trap.cause.is_interrupt(), code) {
            (true, _) => Crossing::Interrupt(code),
            (false, 8) => Crossing::Call(trap.a7),
            (false, 12 | 13 | 15) => Crossing::Fault(code),
            (false, _) => Crossing::Exception(code),
        };
        // An interrupt may come behind a call or a return, before anything arrives.
        if !matches!(self.task().left, Leave::Next) {
            let user = trap.from == Privilege::User;
            let place = match user {
                true => None,
                false => Some(self.code.kernel(trap.epc)),
            };
            let last = self.last;
            if let Some(place) = place {
                self.arrive(trap.epc, place, user, last);
            } else if matches!(self.task().left, Leave::TrapReturn) {
                self.task().left = Leave::Next;
                self.back_in_user(trap.epc);
            }
        }
        let path = self.crossing_path(crossing);
        self.paths[path as usize].count += 1;
        let task = self.task();
        task.before = std::mem::replace(&mut task.crossing, crossing);
        if let Crossing::Call(number) = crossing
            && EXIT.contains(&number)
            && task.stage == Stage::Running
        {
            task.stage = Stage::Ending;
        }
        task.left = Leave::Trap { epc: trap.epc };
        let stage = task.stage;
        self.set_context();
        let (task, group) = self.thread();
        *self.counts.entry((group, stage, crossing)).or_default() += 1;
        let cycles = self.cycles();
        if let Some(timeline) = &mut self.timeline {
            timeline.now = cycles.unwrap_or(timeline.now);
            timeline.begin(task, crossing);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.trap((task, group), trap);
        }
        if self.clock.is_some() {
            let handler = self.code.kernel(trap.handler).function;
            let key = self.key(Step::Entry, handler);
            let node = self.path(Some(path), handler);
            self.owner = (key, node);
            self.draw(key);
            if let Some(clock) = &mut self.clock {
                clock.set_owner(key);
                clock.trap(trap);
            }
            self.charge_cycles();
        }
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.returns_to = ret.to;
    }
}
