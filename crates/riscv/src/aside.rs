//! An observer on a thread of its own.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use crate::exception::{Trap, TrapReturn};
use crate::observer::{Access, BlockInsn, Observer, Pass, Retired, Several, Touch, Walk};
use crate::privilege::Privilege;

/// Runs and accesses, or single events, after which a batch goes to the other thread: some 300 microseconds of a timed core, so
/// that waking it costs little, and what fits in a second-level cache.
const BATCH: usize = 1 << 14;
/// Batches that wait for the other thread before the machine does.
const AHEAD: usize = 4;

/// Passes a machine's events to an observer on another thread, which receives exactly the same ones, later.
/// [`aside`] makes one.
///
/// The machine never asks it anything: [`Observer::run_ahead`], [`Observer::happened`] and [`Observer::counter`] have their
/// defaults. So code is translated only for an observer of blocks, which receives all accesses.
pub struct Aside<'o, O> {
    place: Place<'o, O>,
    /// [`Observer::operands`].
    operands: bool,
    hart: usize,
    /// By hart.
    known: Vec<Known>,
}

/// How many of a hart's decoded instructions the observer's thread has, from the first on.
#[derive(Clone, Copy, Default)]
struct Known {
    count: usize,
    epoch: u64,
}

enum Place<'o, O> {
    /// There is no second thread.
    Here(&'o mut O),
    There {
        batch: Batch,
        full: SyncSender<Batch>,
        empty: Receiver<Batch>,
    },
}

/// Events, in order.
#[derive(Default)]
struct Batch {
    events: Vec<Event>,
    passes: Vec<Pass>,
    accesses: Vec<Touch>,
    operands: Vec<[u64; 2]>,
    insns: Vec<BlockInsn>,
}

enum Event {
    Several(Lengths),
    Retire(Retired),
    Access(Access),
    Csr(u16, u64),
    Trap(Trap),
    TrapReturn(TrapReturn),
    Walk(Walk),
    AddressSpace(u64),
    Hart(usize),
}

/// A [`Several`], whose parts are in the batch.
struct Lengths {
    passes: usize,
    accesses: usize,
    operands: usize,
    /// Instructions that are new, and the place of the first of them in the engine's memory.
    insns: usize,
    place: usize,
    hart: usize,
    epoch: u64,
    privilege: Privilege,
    rv32: bool,
    retired: u64,
}

/// Lets `run` run a machine with an observer that is on another thread, if this process has a second processor; it has
/// observed everything when this returns.
///
/// ```
/// use tollgate_riscv::{Config, Machine, Observer, Retired, aside};
/// #[derive(Default)]
/// struct Retirements(u64);
/// impl Observer for Retirements {
///     const RETIRE: bool = true;
///     fn retire(&mut self, _: &Retired) {
///         self.0 += 1;
///     }
/// }
/// let mut machine = Machine::new(Config::default()).unwrap();
/// // addi a0, a0, 1; j back
/// machine.write_memory(0x8000_0000, &[0x13, 0x05, 0x15, 0, 0x6f, 0xf0, 0xdf, 0xff]).unwrap();
/// let mut count = Retirements::default();
/// aside(&mut count, |observer| machine.run(2000, observer));
/// assert_eq!(count.0, 2000);
/// ```
pub fn aside<O: Observer + Send, R>(observer: &mut O, run: impl FnOnce(&mut Aside<O>) -> R) -> R {
    let alone = thread::available_parallelism().map_or(1, usize::from) == 1;
    aside_if(!alone, observer, run)
}

fn aside_if<O: Observer + Send, R>(apart: bool, observer: &mut O, run: impl FnOnce(&mut Aside<O>) -> R) -> R {
    let operands = observer.operands();
    thread::scope(|scope| {
        let (give, given) = channel::<&mut O>();
        let (full, filled) = sync_channel::<Batch>(AHEAD);
        let (used, empty) = channel();
        let observe = move || {
            if let Ok(observer) = given.recv() {
                let mut memories = Vec::new();
                for mut batch in filled {
                    batch.observe(observer, &mut memories);
                    // At the end nobody takes it.
                    let _ = used.send(batch);
                }
            }
        };
        let spawned =
            apart && thread::Builder::new().name("observer".to_owned()).spawn_scoped(scope, observe).is_ok();
        let place = if spawned {
            let _ = give.send(observer);
            Place::There { batch: Batch::default(), full, empty }
        } else {
            Place::Here(observer)
        };
        let mut aside = Aside { place, operands, hart: 0, known: vec![Known::default()] };
        let result = run(&mut aside);
        aside.pass_on();
        result
    })
}

impl<O: Observer> Aside<'_, O> {
    /// Gives the other thread what happened so far.
    fn pass_on(&mut self) {
        if let Place::There { batch, full, empty } = &mut self.place {
            let next = empty.try_recv().unwrap_or_default();
            // An observer that has panicked takes nothing more; the scope panics when the run has ended.
            let _ = full.send(std::mem::replace(batch, next));
        }
    }

    /// Observes, or notes it for the other thread.
    #[inline]
    fn note(&mut self, here: impl FnOnce(&mut O), event: impl FnOnce() -> Event) {
        match &mut self.place {
            Place::Here(observer) => here(observer),
            Place::There { batch, .. } => {
                batch.events.push(event());
                if batch.events.len() >= BATCH {
                    self.pass_on();
                }
            }
        }
    }
}

impl Batch {
    /// Notes runs of instructions of a hart.
    fn add(&mut self, several: &Several, hart: usize, known: &mut Known) {
        if known.epoch != several.epoch {
            *known = Known { count: 0, epoch: several.epoch };
        }
        let place = known.count;
        let end = several.passes.iter().map(|pass| usize::from(pass.end())).max().unwrap_or(0);
        // The place behind a run tells where its last instruction goes.
        let insns = several.insns.get(place..(end + 1).min(several.insns.len())).unwrap_or_default();
        self.passes.extend_from_slice(several.passes);
        self.accesses.extend_from_slice(several.accesses);
        self.operands.extend_from_slice(several.operands);
        self.insns.extend_from_slice(insns);
        self.events.push(Event::Several(Lengths {
            passes: several.passes.len(),
            accesses: several.accesses.len(),
            operands: several.operands.len(),
            insns: insns.len(),
            place,
            hart,
            epoch: several.epoch,
            privilege: several.privilege,
            rv32: several.rv32,
            retired: several.retired,
        }));
        // (What is behind the last run may not be decoded yet.)
        known.count = place.max(end);
    }

    /// Shows it to the observer, and empties it. `memories` are copies of the instructions of each hart's engine.
    fn observe<O: Observer>(&mut self, observer: &mut O, memories: &mut Vec<Vec<BlockInsn>>) {
        let (mut passes, mut accesses) = (&*self.passes, &*self.accesses);
        let (mut operands, mut insns) = (&*self.operands, &*self.insns);
        for event in &self.events {
            match event {
                Event::Several(lengths) => {
                    if memories.len() <= lengths.hart {
                        memories.resize_with(lengths.hart + 1, Vec::new);
                    }
                    let memory = &mut memories[lengths.hart];
                    memory.truncate(lengths.place);
                    memory.extend_from_slice(first(&mut insns, lengths.insns));
                    observer.several(&Several {
                        passes: first(&mut passes, lengths.passes),
                        accesses: first(&mut accesses, lengths.accesses),
                        operands: first(&mut operands, lengths.operands),
                        insns: memory,
                        epoch: lengths.epoch,
                        privilege: lengths.privilege,
                        rv32: lengths.rv32,
                        retired: lengths.retired,
                    });
                }
                Event::Retire(retired) => observer.retire(retired),
                Event::Access(access) => observer.access(access),
                Event::Csr(number, value) => observer.csr(*number, *value),
                Event::Trap(trap) => observer.trap(trap),
                Event::TrapReturn(ret) => observer.trap_return(ret),
                Event::Walk(walk) => observer.walk(walk),
                Event::AddressSpace(satp) => observer.address_space(*satp),
                Event::Hart(hart) => observer.hart(*hart),
            }
        }
        self.events.clear();
        self.passes.clear();
        self.accesses.clear();
        self.operands.clear();
        self.insns.clear();
    }
}

/// Removes a number of them from the front.
fn first<'a, T>(rest: &mut &'a [T], count: usize) -> &'a [T] {
    let (first, others) = rest.split_at(count.min(rest.len()));
    *rest = others;
    first
}

impl<O: Observer> Observer for Aside<'_, O> {
    const RETIRE: bool = O::RETIRE;
    const MEMORY: bool = O::MEMORY;
    const TRAP: bool = O::TRAP;
    const BLOCKS: bool = O::BLOCKS;
    const WALK: bool = O::WALK;
    const CSR: bool = O::CSR;

    fn operands(&self) -> bool {
        self.operands
    }

    fn retire(&mut self, retired: &Retired) {
        self.note(|observer| observer.retire(retired), || Event::Retire(*retired));
    }

    fn several(&mut self, several: &Several) {
        match &mut self.place {
            Place::Here(observer) => observer.several(several),
            Place::There { batch, .. } => {
                batch.add(several, self.hart, &mut self.known[self.hart]);
                if batch.passes.len() + batch.accesses.len() + batch.events.len() >= BATCH {
                    self.pass_on();
                }
            }
        }
    }

    fn hart(&mut self, hart: usize) {
        self.hart = hart;
        if self.known.len() <= hart {
            self.known.resize(hart + 1, Known::default());
        }
        self.note(|observer| observer.hart(hart), || Event::Hart(hart));
    }

    fn walk(&mut self, walk: &Walk) {
        self.note(|observer| observer.walk(walk), || Event::Walk(*walk));
    }

    fn address_space(&mut self, satp: u64) {
        self.note(|observer| observer.address_space(satp), || Event::AddressSpace(satp));
    }

    fn access(&mut self, access: &Access) {
        self.note(|observer| observer.access(access), || Event::Access(*access));
    }

    fn csr(&mut self, number: u16, value: u64) {
        self.note(|observer| observer.csr(number, value), || Event::Csr(number, value));
    }

    fn trap(&mut self, trap: &Trap) {
        self.note(|observer| observer.trap(trap), || Event::Trap(*trap));
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.note(|observer| observer.trap_return(ret), || Event::TrapReturn(*ret));
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::turn::QUANTUM;
    use crate::{Config, Elf, Machine, MachineKind};

    /// Everything that was seen, as text, and of runs all their instructions.
    #[derive(Default, PartialEq)]
    struct Seen {
        events: Vec<String>,
        epochs: Vec<u64>,
    }

    impl Observer for Seen {
        const MEMORY: bool = true;
        const TRAP: bool = true;
        const BLOCKS: bool = true;
        const WALK: bool = true;

        fn operands(&self) -> bool {
            true
        }

        fn several(&mut self, several: &Several) {
            self.epochs.push(several.epoch);
            self.epochs.dedup();
            for pass in several.passes {
                let insns = several.insns(pass);
                let next = several.next_pc(pass, pass.end() - 1);
                self.events.push(format!("{pass:?} {next:x} {insns:?}"));
            }
            let Several { accesses, operands, privilege, rv32, retired, .. } = several;
            self.events.push(format!("{accesses:?} {operands:?} {privilege:?} {rv32} {retired}"));
        }

        fn retire(&mut self, retired: &Retired) {
            self.events.push(format!("{retired:?}"));
        }

        fn access(&mut self, access: &Access) {
            self.events.push(format!("{access:?}"));
        }

        fn trap(&mut self, trap: &Trap) {
            self.events.push(format!("{trap:?}"));
        }

        fn trap_return(&mut self, ret: &TrapReturn) {
            self.events.push(format!("{ret:?}"));
        }

        fn walk(&mut self, walk: &Walk) {
            self.events.push(format!("{walk:?}"));
        }

        fn address_space(&mut self, satp: u64) {
            self.events.push(format!("{satp:x}"));
        }
    }

    fn machine() -> Machine {
        let elf = Elf::parse(include_bytes!("../../../guests/riscv/images/switch-space.elf")).unwrap();
        let mut machine = Machine::new(Config::default()).unwrap();
        machine.load(&elf).unwrap();
        machine
    }

    fn seen(apart: bool) -> Seen {
        let (mut machine, mut seen) = (machine(), Seen::default());
        aside_if(apart, &mut seen, |observer| {
            for _ in 0..3 {
                machine.run(20_000, observer);
                // Decoded code is dropped.
                machine.write_memory(0x8100_0000, &[0]).unwrap();
            }
        });
        seen
    }

    #[test]
    fn the_other_thread_sees_the_same() {
        let (here, there) = (seen(false), seen(true));
        assert_eq!(here.epochs.len(), 3, "decoded code was dropped twice");
        for of in ["Walk", "Trap {", "TrapReturn", "Access", "Retired", "Pass", "Touch"] {
            assert!(here.events.iter().any(|event| event.contains(of)), "no {of}");
        }
        assert_eq!(here.events.len(), there.events.len());
        for (here, there) in here.events.iter().zip(&there.events) {
            assert_eq!(here, there);
        }
        assert_eq!(here.epochs, there.epochs);
    }

    /// Two harts that count in loops of their own.
    fn harts() -> Machine {
        let mut machine =
            Machine::new(Config { machine: MachineKind::Virt, harts: 2, ..Config::default() }).unwrap();
        // csrr a0, mhartid; beqz a0, 12; addi a1, a1, 1; j -4; addi a2, a2, 1; j -4
        let code: [u32; 6] = [0xf140_2573, 0x0005_0663, 0x0015_8593, 0xffdf_f06f, 0x0016_0613, 0xffdf_f06f];
        machine.write_memory(0x8000_0000, &code.map(u32::to_le_bytes).concat()).unwrap();
        machine
    }

    #[test]
    fn harts_that_take_turns_are_seen_with_their_own_instructions() {
        let seen = |apart| {
            let (mut machine, mut seen) = (harts(), Seen::default());
            aside_if(apart, &mut seen, |observer| machine.run(5 * QUANTUM, observer));
            seen
        };
        let (here, there) = (seen(false), seen(true));
        for counts in ["rd: 11", "rd: 12"] {
            assert!(
                here.events.iter().any(|event| event.contains(counts)),
                "no {counts} in {:?}",
                here.events.last()
            );
        }
        assert!(here.events == there.events);
    }

    #[test]
    fn instructions_go_to_the_other_thread_once_per_hart() {
        let (mut machine, mut sent) = (harts(), Vec::new());
        aside_if(true, &mut Seen::default(), |observer| {
            for _ in 0..6 {
                machine.run(QUANTUM, observer);
                let Place::There { batch, .. } = &observer.place else { panic!("no second thread") };
                sent.push(batch.insns.len());
            }
        });
        // Some code is decoded later.
        assert!(sent[0] < sent[1] && sent[5] < 2 * sent[1], "{sent:?}");
    }

    #[test]
    fn when_the_observer_panics_the_run_goes_to_its_end_and_panics() {
        struct Panics;
        impl Observer for Panics {
            const BLOCKS: bool = true;
            fn several(&mut self, _: &Several) {
                panic!("on purpose");
            }
        }
        let (mut machine, mut other) = (machine(), machine());
        let run = AssertUnwindSafe(|| {
            aside_if(true, &mut Panics, |observer| machine.run(500_000, observer));
        });
        assert!(catch_unwind(run).is_err());
        other.run(500_000, &mut ());
        assert_eq!(machine.instret(), other.instret());
    }
}
