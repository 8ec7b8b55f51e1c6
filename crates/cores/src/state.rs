//! The state of the pipe as the key of memos.

use super::Cause;
use super::float::FloatUnit;
use super::line_port::Ahead;
use super::pipe::{FLAGS_BEHIND_STORES, Pipe, REGISTERS};
use super::replay::Waiting;
use super::slot::{Pending, Redirect};
use super::words::Queue;
use super::{port, rigid};

/// Everything about the past that the future depends on, relative to the last write-back: the key of memos.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    queue: Option<Queue>,
    decode: i64,
    execute: i64,
    memory: i64,
    last_write: i64,
    redirect: Option<Redirect>,
    fresh: bool,
    line_ahead: Option<Ahead>,
    pending: Vec<Pending>,
    unit: Option<(i64, u8)>,
    waiting: Waiting,
    accessed: Option<i64>,
    fenced: bool,
    device: Option<i64>,
    soiled: Option<i64>,
    float_store: Option<i64>,
    float: Option<FloatUnit>,
    port: Option<port::State>,
    rigid: Option<rigid::State>,
}

impl Pipe {
    /// The state relative to the last write-back.
    pub(super) fn key(&self) -> Key {
        let w = self.write;
        let pending = (1..REGISTERS as u8)
            .filter_map(|register| {
                let (at, cause) = self.ready[usize::from(register)];
                // Nothing enters EX before the last one has left it; MEM's operands are due a cycle later.
                (at > self.memory.min(w)).then_some(Pending { register, cause, at: at - w })
            })
            .collect();
        Key {
            queue: self.queue.as_ref().map(|queue| queue.moved(-w)),
            decode: self.decode - w,
            execute: self.execute - w,
            memory: self.memory - w,
            last_write: if self.ecall_reads { (self.last_write - w).max(-8) } else { 0 },
            // A redirect to a cycle in which IF is not free has no effect.
            redirect: self
                .redirect
                .filter(|r| r.at > self.queue.as_ref().map_or(self.decode, Queue::fetch))
                .map(|r| Redirect { at: r.at - w, ..r }),
            fresh: self.fresh,
            line_ahead: self.line_ahead.map(|ahead| Ahead { missed: ahead.missed - w, ..ahead }),
            pending,
            // A unit that was done before has no effect.
            unit: self.unit.filter(|&(at, _)| at + 1 > self.execute.min(w)).map(|(at, r)| (at - w, r)),
            waiting: self.waiting.moved(-w),
            accessed: (self.fence > 0 && self.accessed + self.fence > self.execute + 1)
                .then_some(self.accessed - w),
            fenced: self.fenced,
            device: (self.device > self.execute + 1).then_some(self.device - w),
            soiled: self.is_soiled().then_some(self.soiled - w),
            float_store: (self.float_store + FLAGS_BEHIND_STORES > self.execute + 1)
                .then_some(self.float_store - w),
            float: self.float.moved(-w, self.execute),
            port: self.port.as_ref().map(|port| port.key(w)),
            rigid: self.rigid.as_ref().map(|rigid| rigid.key(w)),
        }
    }

    /// The state of a key, with the last write-back at `write`.
    pub(super) fn restore(&mut self, key: &Key, write: i64) {
        self.write = write;
        self.queue = key.queue.as_ref().map(|queue| queue.moved(write));
        self.fill = None;
        self.decode = key.decode + write;
        self.execute = key.execute + write;
        self.memory = key.memory + write;
        self.last_write = key.last_write + write;
        self.redirect = key.redirect.map(|r| Redirect { at: r.at + write, ..r });
        self.fresh = key.fresh;
        self.line_ahead = key.line_ahead.map(|ahead| Ahead { missed: ahead.missed + write, ..ahead });
        self.ready = [(i64::MIN / 2, Cause::Issue); REGISTERS];
        for p in &key.pending {
            self.ready[usize::from(p.register)] = (p.at + write, p.cause);
        }
        self.unit = key.unit.map(|(at, register)| (at + write, register));
        self.waiting = key.waiting.moved(write);
        self.accessed = key.accessed.map_or(i64::MIN / 2, |at| at + write);
        self.fenced = key.fenced;
        self.device = key.device.map_or(i64::MIN / 2, |at| at + write);
        self.soiled = key.soiled.map_or(i64::MIN / 2, |at| at + write);
        self.float_store = key.float_store.map_or(i64::MIN / 2, |at| at + write);
        if let (Some(rigid), Some(state)) = (&mut self.rigid, &key.rigid) {
            rigid.restore(state, write);
        }
        self.float = FloatUnit::restored(key.float, write);
        if let (Some(port), Some(state)) = (&mut self.port, &key.port) {
            port.restore(state, write);
        }
    }
}
