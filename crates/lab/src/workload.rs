//! The other cost of a trap: a program with a working set, trapped into again and again by a kernel with one of
//! its own.
//!
//! Two copies of the core run at once. The first sees everything; the second, the twin, sees only the program's own
//! instructions, as if no trap occurred. The extra cycles of the first are the cost of the traps. The cycles
//! that it spends outside the program, and the refilling of the pipe on the way in and out, are direct; what the
//! program's own instructions take longer than the twin's is refill. The two add up to the slow-down, exactly.

use tollgate_cores::{Cause, Causes, Core};
use tollgate_riscv::{
    Access, Config, Elf, Isa, Machine, Observer, Privilege, Retired, Stop, Trap, TrapReturn, Walk,
};

use std::borrow::Cow;
use std::path::Path;

use crate::cycles::{Clock, Lost};
use crate::deflated;
use crate::error::LabError;
use crate::image;
use crate::source::{self, Library, Recipe, SourceError};

/// A program with a working set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name for `--workload`.
    pub name: Cow<'static, str>,
    /// Its number in `guests/riscv/programs/workload.c`.
    kind: u64,
    /// Instructions of one step of its loop.
    step: u64,
    /// Where a program that is not bundled begins, and its file.
    own: Option<(u64, Vec<u8>)>,
}

/// All of them. The first is the default.
pub static WORKLOADS: &[Workload] = &[
    Workload { name: Cow::Borrowed("chase"), kind: 1, step: 3, own: None },
    Workload { name: Cow::Borrowed("walk"), kind: 0, step: 5, own: None },
    Workload { name: Cow::Borrowed("compute"), kind: 2, step: 4, own: None },
];

impl Workload {
    /// The workload of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        WORKLOADS.iter().find(|workload| workload.name == name)
    }

    /// A user's own: a source, or a program that is linked already, with `void work(char *set, unsigned long bytes)`, which is
    /// one step. C is built with `-O2`, all of it for RV64GC and without libraries.
    pub fn own(path: &Path) -> Result<Self, OwnError> {
        let recipe = Recipe {
            base: OWN_BASE,
            entries: &["work"],
            library: Library::None,
            ..Recipe::new("rv64gc", Isa::default())
        };
        let built = source::load(path, &recipe)?;
        let elf = Elf::parse(&built.elf).map_err(|e| LabError::Machine(e.to_string()))?;
        let entry = elf.symbol("work").ok_or(OwnError::NoWork)?;
        let end = elf.segments.iter().map(|it| it.address.saturating_add(it.memory_size)).max().unwrap_or(0);
        if end > OWN_END || elf.segments.iter().any(|it| it.address < OWN_BASE) {
            return Err(OwnError::Place { most: OWN_END - OWN_BASE });
        }
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let mut own = Self { name: name.into(), kind: OWN, step: 1, own: Some((entry, built.elf)) };
        // A step is the difference between two of them and one.
        let of = |steps| -> Result<u64, LabError> {
            let point = Point { workload: &own, set: 64 * LINE, every: steps, touch: 0, traps: 8 };
            Ok(measure(&point, &Core::default())?.instructions[0] / 8)
        };
        own.step = of(2)?.saturating_sub(of(1)?).max(1);
        Ok(own)
    }
}

/// Where a user's program is loaded, between the bundled one and its stack, and the end of that room.
const OWN_BASE: u64 = 0x8030_0000;
const OWN_END: u64 = 0x803c_0000;
const OWN: u64 = 3;

/// Why a user's program cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum OwnError {
    #[error("{0}")]
    Source(#[from] SourceError),
    #[error("it has no function work; write one: void work(char *set, unsigned long bytes)")]
    NoWork,
    #[error("code and data must be between {OWN_BASE:#x} and {OWN_END:#x}, {most} bytes")]
    Place { most: u64 },
    #[error(
        "work() does not come back: {0} (it may use the set, its own data and its stack, and must return)"
    )]
    Run(#[from] LabError),
}

/// The most bytes that the program and the kernel can have.
pub const MOST_BYTES: u64 = 1 << 20;
/// A line of the guest's working set.
pub const LINE: u64 = 64;
const MAGIC: u64 = 0x3130_4b52_4f57;
static IMAGE: &[u8] = deflated::image!("workload");

/// One point of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Point<'w> {
    /// The program.
    pub workload: &'w Workload,
    /// Its working set in bytes: a multiple of [`LINE`], at most [`MOST_BYTES`].
    pub set: u64,
    /// Instructions of the program from one trap to the next, about.
    pub every: u64,
    /// Bytes that the kernel reads in each trap, at most [`MOST_BYTES`].
    pub touch: u64,
    /// How many traps are measured.
    pub traps: u64,
}

/// The cost of the traps of a workload.
#[derive(Clone, Debug)]
pub struct Slowdown<'w> {
    /// The measured point.
    pub point: Point<'w>,
    /// Traps between the marks; equal to the number in the point.
    pub traps: u64,
    /// Instructions of the program, and of the kernel.
    pub instructions: [u64; 2],
    /// Cycles that the program takes when no trap comes.
    pub alone: u64,
    /// Cycles of the whole.
    pub with_traps: u64,
    /// Cycles outside the program, by cause.
    pub direct: Causes,
    /// Cycles that the program's own instructions take longer, by cause; signed.
    pub refill: [i64; Cause::COUNT],
    /// The lines and translations that the program fetched again.
    pub lost: Lost,
}

impl Slowdown<'_> {
    /// Cycles of all traps outside the program.
    pub fn direct(&self) -> u64 {
        self.direct.iter().sum()
    }

    /// Cycles of all traps inside the program.
    pub fn refill(&self) -> i64 {
        self.refill.iter().sum()
    }
}

/// Watches from one mark to the other.
struct Meter {
    begin: u64,
    end: u64,
    clock: Clock,
    /// As it was at the first mark, then with the program's instructions only.
    twin: Option<Clock>,
    returned: bool,
    user: Causes,
    direct: Causes,
    traps: u64,
    instructions: [u64; 2],
    user_fetched: Lost,
    /// At the first mark, and then from there to the second.
    cycles: u64,
    done: bool,
}

impl Meter {
    fn measuring(&self) -> bool {
        self.twin.is_some() && !self.done
    }
}

fn add(sum: &mut Causes, spent: &Causes) {
    for (sum, spent) in sum.iter_mut().zip(spent) {
        *sum += spent;
    }
}

impl Observer for Meter {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const WALK: bool = true;

    fn walk(&mut self, walk: &Walk) {
        self.clock.model.walk(walk);
        if let Some(twin) = &mut self.twin {
            twin.model.walk(walk);
        }
    }

    fn address_space(&mut self, satp: u64) {
        self.clock.model.address_space(satp);
        if let Some(twin) = &mut self.twin {
            twin.model.address_space(satp);
        }
    }

    fn access(&mut self, access: &Access) {
        self.clock.model.access(access);
        // Which mode it was is known when the instruction retires; one that traps makes no access.
        if let Some(twin) = &mut self.twin
            && self.returned
        {
            twin.model.access(access);
        }
    }

    fn retire(&mut self, retired: &Retired) {
        if self.measuring() && retired.pc == self.end {
            self.cycles = self.clock.model.cycles() - self.cycles;
            self.done = true;
        }
        let before = self.clock.fetched();
        self.clock.model.retire(retired);
        let mut spent = self.clock.step();
        if self.measuring() {
            if retired.privilege == Privilege::User {
                let flush = std::mem::take(&mut spent[Cause::TrapFlush as usize]);
                self.direct[Cause::TrapFlush as usize] += flush;
                add(&mut self.user, &spent);
                self.instructions[0] += 1;
                if let Some(twin) = &mut self.twin {
                    let before = [before, twin.fetched()];
                    twin.model.retire(retired);
                    self.user_fetched.add(before, [self.clock.fetched(), twin.fetched()]);
                }
            } else {
                add(&mut self.direct, &spent);
                self.instructions[1] += 1;
            }
        } else if retired.pc == self.begin {
            self.cycles = self.clock.model.cycles();
            self.twin = Some(self.clock.clone());
            self.returned = true;
        }
    }

    fn trap(&mut self, trap: &Trap) {
        self.clock.model.trap(trap);
        let spent = self.clock.step();
        if self.measuring() {
            self.traps += u64::from(trap.from == Privilege::User);
            add(&mut self.direct, &spent);
            self.returned = false;
        }
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.clock.model.trap_return(ret);
        self.returned = ret.to == Privilege::User;
    }
}

/// The kernel, the program and its pages.
const RAM: u64 = 8 << 20;
/// Boot, shuffling and three rounds of the largest working set take about two million.
const BUDGET: u64 = 50_000_000;

/// Runs one point on a core.
pub fn measure<'w>(point: &Point<'w>, core: &Core) -> Result<Slowdown<'w>, LabError> {
    let steps = (point.every / point.workload.step).max(1);
    let own = point.workload.own.as_ref();
    let entry = own.map_or(0, |(entry, _)| *entry);
    let own = own.map(|(_, file)| Elf::parse(file)).transpose();
    let own = own.map_err(|e| LabError::Machine(e.to_string()))?;
    let words = [MAGIC, point.workload.kind, point.set, steps, point.traps, point.touch, entry];
    let bytes = image::with_words(IMAGE, "toll_workload", &words)?;
    let elf = Elf::parse(&bytes).map_err(|e| LabError::Machine(e.to_string()))?;
    let mut machine = Machine::new(Config { ram_bytes: RAM, ..Config::default() })
        .map_err(|e| LabError::Machine(e.to_string()))?;
    machine.load(&elf).map_err(|e| LabError::Machine(e.to_string()))?;
    for segment in own.iter().flat_map(|own| &own.segments) {
        let written = machine.write_memory(segment.address, &segment.data);
        written.map_err(|e| LabError::Machine(e.to_string()))?;
    }
    let mark =
        |name: &str| elf.symbol(name).ok_or_else(|| LabError::Image(format!("it has no symbol {name}")));
    let mut meter = Meter {
        begin: mark("toll.begin.work")?,
        end: mark("toll.end.work")?,
        clock: Clock::new(core, &machine.code())?,
        twin: None,
        returned: false,
        user: [0; Cause::COUNT],
        direct: [0; Cause::COUNT],
        traps: 0,
        instructions: [0; 2],
        user_fetched: Lost::default(),
        cycles: 0,
        done: false,
    };
    // Eight instructions a line for each kernel call, and as many again for the rest of it.
    let each = point.every.saturating_add(point.touch / 4).saturating_add(20_000);
    let budget = point.traps.saturating_mul(each).saturating_add(BUDGET);
    match machine.run(budget, &mut meter) {
        Stop::Exit { code: 0 } => {}
        other => return Err(LabError::Guest(format!("did not end well: {other:?}"))),
    }
    if !meter.done || meter.traps != point.traps {
        return Err(LabError::Guest(format!(
            "was interrupted by {} traps, not by {}",
            meter.traps, point.traps
        )));
    }
    let alone = meter.twin.as_mut().map_or([0; Cause::COUNT], Clock::step);
    let alone_total: u64 = alone.iter().sum();
    let with_traps = meter.user.iter().chain(&meter.direct).sum();
    if with_traps != meter.cycles {
        return Err(LabError::Disagreement { outside: with_traps, inside: meter.cycles });
    }
    Ok(Slowdown {
        point: *point,
        traps: meter.traps,
        instructions: meter.instructions,
        alone: alone_total,
        with_traps,
        direct: meter.direct,
        refill: std::array::from_fn(|i| meter.user[i] as i64 - alone[i] as i64),
        lost: meter.user_fetched,
    })
}
