//! Points of a run to which the same machine can go back, kept in memory: many of them cost little more than the pages that
//! were written between them.

use std::mem::take;
use std::sync::Arc;

use super::{PAGE, SnapshotError, read_state, write_state};
use crate::htif::Htif;
use crate::machine::Machine;

/// A state of a [`Machine`] to which it can [go back](Machine::go_back).
pub struct Checkpoint {
    /// The fields that a snapshot has.
    state: Vec<u8>,
    htif: Option<Htif>,
    /// The pages of RAM; those that are zero are absent.
    pages: Vec<Option<Arc<[u8]>>>,
    /// Bytes that no earlier checkpoint has.
    own: usize,
}

impl Checkpoint {
    /// Bytes that it does not share with the one before it.
    pub fn own_bytes(&self) -> usize {
        self.own
    }
}

impl Machine {
    /// The state of the machine now. Pages that are as in `before` are shared with it. Files that the guest has open are not part
    /// of it.
    ///
    /// ```
    /// use tollgate_riscv::{Config, Machine};
    /// let mut machine = Machine::new(Config::default()).unwrap();
    /// let start = machine.checkpoint(None).unwrap();
    /// machine.set_x(5, 42);
    /// machine.write_memory(0x8000_0000, &[1]).unwrap();
    /// machine.go_back(&start).unwrap();
    /// assert_eq!((machine.x(5), machine.read_memory(0x8000_0000, 1)), (0, Ok(&[0][..])));
    /// ```
    ///
    /// # Errors
    /// None that a guest can cause.
    pub fn checkpoint(&self, before: Option<&Checkpoint>) -> Result<Checkpoint, SnapshotError> {
        let damaged = SnapshotError::Damaged("its state cannot be written");
        let state = write_state(self, Vec::new()).ok_or(damaged)?;
        let mut own = state.len();
        let pages = self.bus.ram.chunks(PAGE).enumerate().map(|(n, page)| {
            if page.iter().all(|&byte| byte == 0) {
                return None;
            }
            let known = before.and_then(|before| before.pages.get(n)?.as_ref());
            known.filter(|known| known[..] == *page).cloned().or_else(|| {
                own += page.len();
                Some(page.into())
            })
        });
        let pages = pages.collect();
        Ok(Checkpoint { state, htif: self.bus.htif.clone(), pages, own })
    }

    /// Returns to a state of this machine.
    ///
    /// # Errors
    /// A checkpoint of another machine.
    pub fn go_back(&mut self, checkpoint: &Checkpoint) -> Result<(), SnapshotError> {
        if checkpoint.pages.len() != self.bus.ram.len().div_ceil(PAGE) {
            return Err(SnapshotError::Damaged("it is of a machine with other RAM"));
        }
        // What a snapshot does not contain: the drive itself.
        let storage = self.drive().map(|drive| std::mem::replace(drive, Box::new(Vec::new())));
        read_state(self, &checkpoint.state)?;
        if let (Some(storage), Some(place)) = (storage, self.drive()) {
            *place = storage;
        }
        self.hart.isa = self.config.isa;
        self.turns.parked.iter_mut().for_each(|core| core.hart.isa = self.config.isa);
        self.bus.console.limit = self.config.console_bytes;
        self.bus.htif.clone_from(&checkpoint.htif);
        for (place, page) in self.bus.ram.chunks_mut(PAGE).zip(&checkpoint.pages) {
            match page {
                Some(page) => place.copy_from_slice(page),
                None => place.fill(0),
            }
        }
        // Decoded code and translations are those of the state that is left.
        self.engine.flush_blocks();
        self.engine.flush_translations();
        self.bus.code_pages.fill(0);
        take(&mut self.bus.code_written);
        Ok(())
    }
}
