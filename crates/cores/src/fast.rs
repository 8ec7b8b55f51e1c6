//! The fast path: memoized blocks.
//!
//! The pipe is made of maxima and sums, so with the same state at entry (relative to the last write-back), the
//! same predictions and the same waits, a block of instructions takes the same cycles and leaves the same state: a
//! result is computed once and looked up from then on. Waits are misses of fetches and data, operations that depend on
//! their operands, and loads that overlap with stores. Nothing is approximated: cycles and ledger equal those of
//! [`Timed`](super::Timed).

mod computed;
mod hot;
mod marked;
mod steady;

use std::slice;

use super::access::Overlaps;
use super::beyond::Beyond;
use super::block::Block;
use super::core::{Core, CoreError};
use super::hot::{HotBlock, HotBlocks};
use super::known::{Delays, Known, UNKNOWN, Wanted};
use super::latest::LatestStores;
use super::ledger::{Cause, Causes, Ledger};
use super::marks::{Mark, Marked};
use super::memo::Memo;
use super::memory::Waits;
use super::operands::Dependence;
use super::repeats::Steady;
use super::run_on::RunOn;
use super::seen::Seen;
use super::state::Key;
use super::step::Step;
use super::timed::{Model, TimingCounts};
use super::touches::Touches;
use super::trail::Trail;
use tollgate_riscv::Code;
use tollgate_riscv::Map;
use tollgate_riscv::Trap;
use tollgate_riscv::boxed;
use tollgate_riscv::tier::{Quiet, View};
use tollgate_riscv::{Access, AccessKind, Observer, Pass, Retired, Several, Walk};

/// Entries of the table of results as powers of two: at first, and at most.
const RESULT_BITS: u32 = 15;
const MOST_RESULT_BITS: u32 = 17;
/// Entries of the table of blocks, a power of two: the lowest bits of [`Pass::number`] choose one.
const BLOCKS: usize = 1 << 16;
/// States, blocks and lists of misses that are kept before all are dropped.
const MOST: usize = 1 << 16;
const NOTHING: u32 = u32::MAX;
/// Wrong paths that are kept, as a power of two.
const TRAIL_BITS: u32 = 12;
/// Beside the number of an instruction.
const FETCH: u8 = 1 << 7;

/// Where a wrong path begins, the number of the state there, and whether fetches are translated.
type WrongPath = (RunOn, u32, bool);

/// Attaches a core to a machine: cycles and ledger by privilege mode (rows 0 user, 1 supervisor, 3 machine), from
/// memoized blocks.
///
/// ```
/// use tollgate_cores::{Core, Fast};
/// use tollgate_riscv::{Config, Machine};
/// let mut machine = Machine::new(Config::default()).unwrap();
/// // addi a0, a0, 1; j back
/// machine.write_memory(0x8000_0000, &[0x13, 0x05, 0x15, 0, 0x6f, 0xf0, 0xdf, 0xff]).unwrap();
/// let mut fast: Fast = Fast::new(&Core::preset("ripes-5stage").unwrap()).unwrap();
/// machine.run(2000, &mut fast);
/// // Each jump squashes two instructions; the last one's refill is not in yet.
/// assert_eq!(fast.cycles(), 2000 + 4 + 2 * 999);
/// assert_eq!(fast.ledger().total(), fast.cycles());
/// ```
pub struct Fast {
    pub(super) model: Model,
    /// Whether operations depend on their operands.
    dependent: bool,
    /// Whether the core does nothing that depends on addresses or operands but to miss, and predicts from plain tables.
    plain: bool,
    /// Those of the instruction that is being executed.
    accesses: Vec<Access>,
    /// Words that hardware stacks.
    stacked: Vec<Access>,
    epoch: u64,
    blocks: Vec<Block>,
    /// The number of a run, with the mode above it; which block.
    block_table: Box<[(u64, u32); BLOCKS]>,
    /// Those of them that are in a steady state.
    hot: Box<HotBlocks>,
    /// The same for all blocks, including those that another has displaced from the table.
    block_numbers: Map<u64, u32>,
    /// The same by what they consist of: code that is decoded again is the same block.
    contents: Map<Box<[u64]>, u32>,
    states: Vec<Key>,
    /// How many words are fetched in each state until the fetch is redirected.
    rooms: Vec<u8>,
    /// Whether a store waits in each of them.
    stores: Vec<bool>,
    state_numbers: Map<Key, u32>,
    /// The codes of more misses than a result has room for, and the number that takes their place.
    lists: Map<Box<[u64]>, u64>,
    /// Scratch space.
    codes: Vec<u64>,
    results: Vec<Known>,
    /// What each waits for.
    delays: Vec<Delays>,
    /// What each charges.
    charges: Vec<Causes>,
    /// How many there is room for, as a power of two, and how many have given way to others since there was that room.
    result_bits: u32,
    displaced: usize,
    /// The state and the last write-back. While it is `NOTHING` the model's pipe is what counts.
    state: u32,
    write: i64,
    /// The ways of the fetch on wrong paths, and what the front end sees on one.
    trails: Vec<(Option<WrongPath>, Trail)>,
    seen: Seen,
    /// What loads leave that are replayed; the mark of the last instruction that went through the pipe, if it may leave one.
    marks: Vec<Marked>,
    mark: Option<Mark>,
    /// Runs of a core with a scoreboard.
    memo: Option<Box<Memo>>,
    /// For one block: misses, and operations that depend on their operands, by number of instruction, with [`FETCH`] if its
    /// own fetch misses.
    misses: Vec<(u8, Waits)>,
    steady: Steady,
    /// How often results were used, as far as they were charged, and computed; how often a block was replayed.
    uses: u64,
    learned: u64,
    replays: u64,
}

impl Fast {
    /// A core with empty pipe and caches.
    pub fn new(core: &Core) -> Result<Self, CoreError> {
        let model = Model::new(core)?;
        let dependent = Dependence::any(core);
        let plain = !dependent
            && !model.memory.compares()
            && model.predict.is_plain()
            && model.board.is_none()
            && model.ahead.is_none()
            && model.beyond.is_none();
        Ok(Fast {
            dependent,
            plain,
            memo: model.board.is_some().then(|| Box::new(Memo::new(core))),
            model,
            accesses: Vec::new(),
            stacked: Vec::new(),
            epoch: u64::MAX,
            blocks: Vec::new(),
            block_table: boxed((u64::MAX, 0)),
            hot: boxed(HotBlock::NONE),
            block_numbers: Map::default(),
            contents: Map::default(),
            states: Vec::new(),
            rooms: Vec::new(),
            stores: Vec::new(),
            state_numbers: Map::default(),
            lists: Map::default(),
            codes: Vec::new(),
            results: vec![UNKNOWN; 1 << RESULT_BITS],
            delays: vec![Delays::NONE; 1 << RESULT_BITS],
            charges: vec![[0; Cause::COUNT]; 1 << RESULT_BITS],
            result_bits: RESULT_BITS,
            displaced: 0,
            state: NOTHING,
            write: 0,
            trails: Vec::new(),
            seen: Seen::default(),
            marks: Vec::new(),
            mark: None,
            misses: Vec::new(),
            steady: Steady::new(),
            uses: 0,
            learned: 0,
            replays: 0,
        })
    }

    /// Lets the core know the code that was loaded: fetches beyond what is executed then find it.
    #[must_use]
    pub fn with_code(mut self, code: &Code) -> Self {
        self.model.load(code);
        self
    }

    /// Cycles so far: until the last instruction has left the pipe.
    pub fn cycles(&self) -> u64 {
        match self.state {
            NOTHING => self.memo.as_ref().map_or(self.model.cycles(), |memo| memo.cycles(&self.model)),
            _ => (self.write + 1) as u64,
        }
    }

    /// Where they went, by privilege mode.
    pub fn ledger(&mut self) -> &Ledger {
        self.settle();
        &self.model.ledger
    }

    /// Whose instructions the next ones are, a number of the caller's own. All instructions of a [`Several`] must have the
    /// same owner, and an address always the same.
    pub fn set_owner(&mut self, owner: u32) {
        self.model.owner = Some(owner);
    }

    /// The cycles of each owner's instructions, by cause. An instruction is charged what came before it since the one
    /// before.
    pub fn by_owner(&mut self) -> &[Causes] {
        self.settle();
        self.model.owners.rows()
    }

    /// What was counted besides.
    pub fn counts(&self) -> TimingCounts {
        let mut counts = self.model.counts();
        for known in self.uncharged() {
            let block = &self.blocks[known.block()];
            counts.instructions += known.count * u64::from(block.len);
            if self.model.memory.caches_data() {
                counts.memory.l1d_accesses += known.count * u64::from(block.loads + block.stores);
            }
        }
        counts
    }

    /// Runs of instructions that were looked up, and that were replayed.
    pub fn memo_counts(&self) -> (u64, u64) {
        if let Some(memo) = &self.memo {
            return (memo.hits, memo.replays);
        }
        let uses = self.uses + self.uncharged().map(|known| known.count).sum::<u64>();
        (uses - self.learned, self.replays)
    }

    /// Results that were used since they were charged.
    fn uncharged(&self) -> impl Iterator<Item = &Known> {
        self.results.iter().filter(|known| known.count > 0)
    }

    /// Charges what results were used for.
    fn settle(&mut self) {
        if let Some(memo) = &mut self.memo {
            memo.settle(&mut self.model);
        }
        for at in 0..self.results.len() {
            self.charge(at);
        }
    }

    /// Forgets blocks and results.
    fn forget(&mut self) {
        self.materialise();
        self.settle();
        if let Some(memo) = &mut self.memo {
            memo.forget();
        }
        self.results.fill(UNKNOWN);
        self.blocks.clear();
        self.contents.clear();
        self.forget_numbers();
        self.states.clear();
        self.rooms.clear();
        self.stores.clear();
        self.trails.iter_mut().for_each(|(known, _)| *known = None);
        self.marks.clear();
        self.state_numbers.clear();
        self.lists.clear();
    }

    /// Makes room for more results, which are computed anew.
    fn grow(&mut self) {
        self.settle();
        self.result_bits = MOST_RESULT_BITS;
        self.results = vec![UNKNOWN; 1 << self.result_bits];
        self.delays = vec![Delays::NONE; 1 << self.result_bits];
        self.charges = vec![[0; Cause::COUNT]; 1 << self.result_bits];
    }

    /// Forgets which runs are which blocks.
    fn forget_numbers(&mut self) {
        self.block_table.fill((u64::MAX, 0));
        self.hot.fill(HotBlock::NONE);
        self.block_numbers.clear();
    }

    /// Forgets blocks and results when an instruction that wrong paths came to has given way to another one.
    fn forget_replaced(&mut self) {
        if self.model.beyond.as_mut().is_some_and(Beyond::take_replaced) {
            self.forget();
        }
    }

    /// Makes the model's pipe the one that counts.
    fn materialise(&mut self) {
        if let Some(memo) = &mut self.memo {
            memo.materialise(&mut self.model);
        }
        if self.state != NOTHING {
            self.model.pipe.restore(&self.states[self.state as usize], self.write);
            self.state = NOTHING;
        }
    }

    /// The number of the state that the model's pipe is in; from now on that counts.
    #[inline(always)]
    fn number(&mut self) -> u32 {
        if self.state == NOTHING {
            self.number_anew();
        }
        self.state
    }

    #[inline(never)]
    fn number_anew(&mut self) {
        let key = self.model.pipe.key();
        self.write = self.model.pipe.write();
        self.state = match self.state_numbers.get(&key) {
            Some(&n) => n,
            None => {
                let n = self.states.len() as u32;
                self.rooms.push(self.model.pipe.room());
                self.stores.push(!self.model.pipe.waiting.is_empty());
                self.states.push(key.clone());
                self.state_numbers.insert(key, n);
                n
            }
        };
        self.note_size();
    }

    /// The misses that were found as two numbers; `None` when they do not fit.
    #[inline(always)]
    fn code_misses(&mut self) -> Option<[u64; 2]> {
        match *self.misses {
            [] => Some([0; 2]),
            [(at, waits)] => waits.code(at).map(|code| [code, 0]),
            [(at, waits), (next, others)] => waits.code(at).zip(others.code(next)).map(Into::into),
            _ => self.number_misses().map(|number| [number, 0]),
        }
    }

    /// A number for the misses that were found, different from all their codes; `None` when they do not fit.
    #[inline(never)]
    fn number_misses(&mut self) -> Option<u64> {
        self.codes.clear();
        for &(at, waits) in &self.misses {
            self.codes.push(waits.code(at)?);
        }
        if let Some(&number) = self.lists.get(&*self.codes) {
            return Some(number);
        }
        let number = self.lists.len() as u64 + 1;
        self.lists.insert(self.codes.as_slice().into(), number);
        self.note_size();
        Some(number)
    }

    /// Lets the next block forget everything, if that has grown too large.
    fn note_size(&mut self) {
        if self.blocks.len() + self.states.len() + self.lists.len() > MOST {
            self.epoch = u64::MAX;
        }
    }

    /// Makes a block known under a key.
    #[cold]
    fn describe(&mut self, several: &Several, pass: &Pass, key: u64, at: usize) -> usize {
        let number = match self.block_numbers.get(&key) {
            Some(&number) => number,
            None => {
                let number = self.describe_anew(several, pass);
                self.block_numbers.insert(key, number);
                number
            }
        };
        self.block_table[at] = (key, number);
        number as usize
    }

    /// The number of the block by what it consists of.
    fn describe_anew(&mut self, several: &Several, pass: &Pass) -> u32 {
        let number = self.blocks.len() as u32;
        if self.keeps() {
            Block::content(several, pass, &mut self.codes);
            if let Some(&number) = self.contents.get(&*self.codes) {
                return number;
            }
            self.contents.insert(self.codes.as_slice().into(), number);
        }
        self.blocks.push(Block::new(&mut self.model, self.dependent, several, pass));
        self.note_size();
        number
    }

    /// Charges what a result was used for.
    fn charge(&mut self, at: usize) {
        let known = &mut self.results[at];
        let count = std::mem::take(&mut known.count);
        if count > 0 {
            let block = &self.blocks[known.block()];
            let charges = self.charges[at].map(|cycles| cycles * count);
            self.model.charge_run(block.phase, block.owner, &charges);
            self.uses += count;
            Self::count(&mut self.model, block, count);
        }
    }

    /// Counts what a block does that was not counted instruction by instruction.
    fn count(model: &mut Model, block: &Block, times: u64) {
        model.instructions += times * u64::from(block.len);
        model.memory.count_hits(times * u64::from(block.loads), times * u64::from(block.stores));
    }

    /// By what the block that a run is can be found, and its place in the table.
    #[inline(always)]
    fn block_key(several: &Several, pass: &Pass) -> (usize, u64) {
        let key = pass.number() | (several.privilege as u64) << 40;
        (key as usize & (BLOCKS - 1), key)
    }

    /// The number of the block that a run is.
    #[inline(always)]
    fn block(&mut self, several: &Several, pass: &Pass) -> usize {
        let (at, key) = Self::block_key(several, pass);
        let (known, number) = self.block_table[at];
        if known == key { number as usize } else { self.describe(several, pass, key, at) }
    }

    /// A run of instructions; `touches` and `operands` begin with its own. `walks` says whether fetches and data are
    /// translated, `PLAIN` whether the core is [`plain`](Self::plain).
    #[inline(always)]
    fn run<const PLAIN: bool>(
        &mut self,
        several: &Several,
        pass: &Pass,
        touches: &mut Touches,
        operands: &mut slice::Iter<[u64; 2]>,
        walks: (bool, bool),
    ) {
        let number = self.block(several, pass);
        let block = &mut self.blocks[number];
        // The next refill has to be charged to the same mode.
        if self.model.refill_phase != block.memoized
            || !PLAIN && self.model.goes_singly(&block.jumps, &mut block.ways, &mut block.known)
            || !PLAIN
                && self.model.strays_between(&block.jumps, &mut block.ways, |latest| {
                    let waits = self.stores.get(self.state as usize).is_none_or(|&waits| waits);
                    let marks = if waits { &block.marks } else { &block.own_marks };
                    block.marks_inside
                        && LatestStores::of_block(latest, &block.memory, touches.all()).meets(marks)
                })
            || !self.model.memory.fetch_block(&mut block.lines, walks.0)
        {
            self.otherwise(number, (several, pass), touches, operands, walks);
            return;
        }
        let overlaps = self.access_data::<PLAIN>(number, several, touches, walks.1);
        self.look_up::<PLAIN>(number, overlaps, several, pass, operands);
    }

    /// Accesses the data of a block whose lines were touched, and notes what waits. Yields which overlap.
    #[inline(always)]
    fn access_data<const PLAIN: bool>(
        &mut self,
        number: usize,
        several: &Several,
        touches: &mut Touches,
        walks: bool,
    ) -> Overlaps {
        self.misses.clear();
        let mut overlaps = Overlaps::NONE;
        let all = match touches {
            Touches::All(all) => all,
            Touches::Loud(loud) => {
                loud.access(&mut self.model.memory, &mut self.misses, &self.blocks[number].memory);
                return overlaps;
            }
        };
        let mut data = self.blocks[number].memory.iter().zip(all);
        while let Some((place, touch)) =
            self.model.memory.next_to_wait::<PLAIN>(&mut data, walks, &mut overlaps)
        {
            let waits = self.model.memory.wait_in_block(&place.data(several, touch), several.privilege);
            if waits != Waits::default() {
                self.misses.push((place.at, waits));
            }
        }
        overlaps
    }

    /// Takes the result of a run whose misses were found, or computes it.
    #[inline(always)]
    fn look_up<const PLAIN: bool>(
        &mut self,
        number: usize,
        overlaps: Overlaps,
        several: &Several,
        pass: &Pass,
        operands: &mut slice::Iter<[u64; 2]>,
    ) {
        let block = &mut self.blocks[number];
        if !PLAIN && !block.operated.is_empty() {
            let before = self.misses.len();
            for &(at, dependence) in &block.operated {
                let Some(&both) = operands.next() else { break };
                let execute = dependence.map_or(0, |dependence| dependence.more(both));
                if execute != 0 {
                    self.misses.push((at, Waits { execute, ..Waits::default() }));
                }
            }
            if before > 0 && self.misses.len() > before {
                self.misses.sort_by_key(|&(at, _)| at & !FETCH);
            }
        }
        let predictions = if !PLAIN && overlaps.meets(&block.marks) && self.may_mark(number, &overlaps) {
            self.predict_marked(number, overlaps, several, pass)
        } else {
            let target = || several.outside(pass.target);
            let jumps = &self.blocks[number].jumps;
            match PLAIN {
                true => self.model.predict.foresee_plainly(jumps, pass.taken(), target),
                false => self.model.predict.foresee_all(jumps, pass.taken(), target),
            }
        };
        let block = &mut self.blocks[number];
        let strays = match !PLAIN && predictions != 0 {
            true => self.model.strays(&block.jumps, &mut block.ways, predictions, several.privilege),
            false => None,
        };
        let mut wanted = Wanted::new(number, self.number(), predictions);
        if !self.misses.is_empty() || !PLAIN && overlaps != Overlaps::NONE {
            let codes = self.code_misses();
            let ways = &mut self.blocks[number].ways;
            let Some(codes) = codes.filter(|_| PLAIN || self.model.knows_ways(ways)) else {
                self.replay_once(wanted.with(Delays { misses: [0; 2], overlaps }), several, pass);
                if strays.is_some() {
                    self.model.run_on_from_jump(&Step::last(several, pass));
                }
                return;
            };
            wanted = wanted.with(Delays { misses: codes, overlaps });
        }
        self.take(wanted, several, pass);
        if strays.is_some_and(|words| words <= self.rooms[self.state as usize]) {
            self.run_on(several, pass);
        }
    }

    /// Takes a result, or computes it.
    #[inline(always)]
    fn take(&mut self, wanted: Wanted, several: &Several, pass: &Pass) {
        let at = wanted.place(self.result_bits);
        if !self.is_known(at, &wanted) {
            return self.learn(wanted, several, pass, at);
        }
        let known = &mut self.results[at];
        known.count += 1;
        self.state = known.next;
        self.write += i64::from(known.cycles);
    }

    /// Whether a result is what is looked for.
    #[inline(always)]
    fn is_known(&self, at: usize, wanted: &Wanted) -> bool {
        self.results[at].may_be(wanted) && (wanted.entered & 1 == 0 || self.delays[at] == wanted.delays)
    }

    /// Forgets everything that is about places of code that has been decoded again; all, if that has grown too large.
    #[inline(always)]
    fn keep_up(&mut self, epoch: u64) {
        if self.epoch != epoch {
            self.forget_epoch();
            self.epoch = epoch;
        }
    }

    #[cold]
    fn forget_epoch(&mut self) {
        if self.epoch != u64::MAX && self.keeps() {
            self.forget_numbers();
        } else {
            self.forget();
        }
    }

    /// Whether blocks are known by what they consist of: not where runs are known by their places, nor where executed
    /// instructions make wrong paths known.
    fn keeps(&self) -> bool {
        self.memo.is_none() && self.model.beyond.is_none()
    }
}

impl Observer for Fast {
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const BLOCKS: bool = true;
    const WALK: bool = true;

    #[inline(always)]
    fn access(&mut self, access: &Access) {
        if access.kind == AccessKind::Stacking {
            self.stacked.push(*access);
        } else {
            self.accesses.push(*access);
        }
    }

    #[inline(always)]
    fn operands(&self) -> bool {
        self.dependent
    }

    #[inline(always)]
    fn loud(&mut self) -> Option<View> {
        if self.plain { self.model.memory.loud() } else { None }
    }

    fn quiet_data(&mut self) -> Quiet<'_> {
        self.model.memory.quiet_data()
    }

    #[inline]
    fn several(&mut self, several: &Several) {
        self.keep_up(several.epoch);
        if self.plain {
            self.runs::<true>(several);
        } else {
            self.runs::<false>(several);
        }
    }

    fn retire(&mut self, retired: &Retired) {
        self.single(retired);
    }

    fn trap(&mut self, trap: &Trap) {
        self.materialise();
        self.accesses.clear();
        self.model.trap(trap, trap.from as u8);
        self.model.stack(&self.stacked, trap.from as u8);
        self.stacked.clear();
    }

    fn walk(&mut self, walk: &Walk) {
        self.model.memory.learn(walk);
    }

    fn address_space(&mut self, satp: u64) {
        self.model.memory.set_satp(satp);
    }
}
