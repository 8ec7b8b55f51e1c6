//! Runs of translated code in a steady state, of a core that is [`plain`](Fast::plain): their blocks are known and settled, and most
//! of their accesses are quiet, so that nothing is known of these. The outcome is that of [`Fast::run`].

use super::{BLOCKS, Fast, NOTHING};
use crate::access::Overlaps;
use crate::hot::{HOT_BLOCKS, HotBlock, Remembered};
use crate::known::{Delays, Wanted};
use crate::timed::Model;
use crate::touches::LoudTouches;
use tollgate_riscv::{Pass, Several};

impl Fast {
    /// Runs as far as their blocks are known and settled. Yields those that are left.
    #[inline(never)]
    pub(super) fn hot_runs<'a>(
        &mut self,
        several: &Several,
        passes: &'a [Pass],
        loud: &mut LoudTouches,
        walks: bool,
    ) -> &'a [Pass] {
        if self.state == NOTHING || self.model.refill_phase != several.privilege as u8 {
            return passes;
        }
        let (mut state, mut write) = (self.state, self.write);
        let mut loud_at = loud.runs_before();
        let (mut at, mut latest) = (0, None);
        'runs: loop {
            // (As variables they need not be loaded again for each run.)
            let Fast { hot, blocks, results, result_bits, model, misses, .. } = &mut *self;
            let (blocks, results, bits) = (blocks.as_slice(), results.as_mut_slice(), *result_bits);
            let Model { predict, memory, .. } = model;
            let settled = memory.settled(walks);
            let (wanted, waits) = loop {
                let Some(pass) = passes.get(at) else { break 'runs };
                let (place, key) = Self::block_key(several, pass);
                let hot = &mut hot[place % HOT_BLOCKS];
                if hot.key != key || !settled.has(hot.settled, hot.page) {
                    if self.heat(place, key, walks) {
                        continue 'runs;
                    }
                    break 'runs;
                }
                let block = hot.block as usize;
                latest = Some(block);
                let predictions = if hot.jumps {
                    let jumps = blocks.get(block).map_or(&[][..], |block| block.jumps.as_slice());
                    predict.foresee_plainly(jumps, pass.taken(), || several.outside(pass.target))
                } else {
                    0
                };
                let wanted = Wanted::new(block, state, predictions);
                if at == loud_at {
                    misses.clear();
                    loud.go_to(at);
                    loud.access(memory, misses, &blocks[block].memory);
                    loud_at = loud.runs_before();
                    if !misses.is_empty() {
                        break (wanted, true);
                    }
                }
                let remembered = &mut hot.latest[(predictions & 1) as usize];
                if remembered.state != state || remembered.predictions != predictions {
                    *remembered = Remembered { predictions, state, place: wanted.place(bits) as u32 };
                }
                let Some(known) =
                    results.get_mut(remembered.place as usize).filter(|known| known.may_be(&wanted))
                else {
                    *remembered = Remembered::NONE;
                    break (wanted, false);
                };
                let mut times = 1;
                if known.next == state && predictions == 0 && hot.settles {
                    // Loops run the same again and again.
                    let others = &passes[at + 1..loud_at.clamp(at + 1, passes.len())];
                    times += others.iter().take_while(|other| other.number() == pass.number()).count();
                }
                known.count += times as u64;
                state = known.next;
                write += times as i64 * i64::from(known.cycles);
                at += times;
            };
            (self.state, self.write) = (state, write);
            self.take_hot(wanted, waits, several, &passes[at]);
            (state, write) = (self.state, self.write);
            at += 1;
        }
        (self.state, self.write) = (state, write);
        if let Some(block) = latest {
            self.model.memory.touch_settled(&self.blocks[block].lines);
        }
        loud.end_runs(at);
        &passes[at..]
    }

    /// Copies what is needed of a block, if it is known and settled.
    #[inline(never)]
    fn heat(&mut self, place: usize, key: u64, walks: bool) -> bool {
        let (known, number) = self.block_table[place % BLOCKS];
        let Some(block) = self.blocks.get(number as usize).filter(|_| known == key) else { return false };
        let is_hot = block.memoized == self.model.refill_phase
            && self.model.memory.fetch_is_settled(&block.lines, walks);
        if is_hot {
            self.hot[place % HOT_BLOCKS] = HotBlock::new(key, number, block);
        }
        is_hot
    }

    /// Adds the cycles of a run for which accesses wait, or of which nothing is known.
    #[inline(never)]
    fn take_hot(&mut self, wanted: Wanted, waits: bool, several: &Several, pass: &Pass) {
        if !waits {
            self.misses.clear();
        }
        self.model.memory.touch_settled(&self.blocks[wanted.block()].lines);
        match self.code_misses() {
            Some(misses) => {
                self.take(wanted.with(Delays { misses, overlaps: Overlaps::NONE }), several, pass);
            }
            None => {
                self.replay_once(wanted, several, pass);
                self.number();
            }
        }
    }
}
