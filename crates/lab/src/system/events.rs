//! Traps, interrupts and switches of a run over time, as the JSON of Chrome's trace events.

use std::fmt::Write;

use tollgate_riscv::{Observer, Privilege, Trap, TrapReturn};

use crate::call::Crossing;

/// Events that are kept; a kernel makes some thousands in a millisecond.
const MOST: usize = 1 << 20;
/// The field of `satp` with the address space's number on RV64.
const ASID_SHIFT: u32 = 44;

enum Event {
    Begin(Trap),
    End,
    Switch(u64),
}

/// Collects events. Their time is the number of instructions that have retired, one to a nanosecond.
#[derive(Default)]
pub struct Events {
    events: Vec<(u64, Event)>,
    /// Traps that have not returned.
    open: usize,
    /// Events beyond the limit.
    dropped: u64,
    satp: Option<u64>,
    now: u64,
}

impl Events {
    fn push(&mut self, event: Event) {
        if self.events.len() < MOST {
            self.events.push((self.now, event));
        } else {
            self.dropped += 1;
        }
    }

    /// Events beyond the limit, which are not in the document.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The document.
    #[must_use]
    pub fn json(&self) -> String {
        let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        text.push_str(
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"1 ns is an instruction\"}}",
        );
        let mut open = 0;
        for (at, event) in &self.events {
            let at = *at as f64 / 1000.0;
            let start = format!(",\n{{\"pid\":1,\"tid\":1,\"ts\":{at}");
            // Writing to a String cannot fail.
            let _ = match event {
                Event::Begin(trap) => {
                    open += 1;
                    let (name, kind) = name(trap);
                    write!(
                        text,
                        "{start},\"ph\":\"B\",\"name\":\"{name}\",\"cat\":\"{kind}\",\"args\":{{\"from\":\"{}\",\
                         \"at\":\"{:#x}\",\"tval\":\"{:#x}\"}}}}",
                        trap.from.letter(),
                        trap.epc,
                        trap.tval
                    )
                }
                // A return of what began before the first event has no beginning.
                Event::End if open == 0 => Ok(()),
                Event::End => {
                    open -= 1;
                    write!(text, "{start},\"ph\":\"E\"}}")
                }
                Event::Switch(satp) => write!(
                    text,
                    "{start},\"ph\":\"i\",\"s\":\"t\",\"name\":\"address space\",\"cat\":\"switch\",\"args\":\
                     {{\"satp\":\"{satp:#x}\",\"asid\":{}}}}}",
                    satp >> ASID_SHIFT & 0xffff
                ),
            };
        }
        text.push_str("\n]}\n");
        text
    }
}

/// The name of a trap, and its kind.
fn name(trap: &Trap) -> (String, &'static str) {
    let is_call = !trap.cause.is_interrupt() && matches!(trap.cause.code(), 8..=11);
    if is_call && trap.from == Privilege::User {
        let call = u16::try_from(trap.a7).ok().and_then(Crossing::call_name);
        return (call.map_or_else(|| format!("call {}", trap.a7), str::to_owned), "call");
    }
    let kind = match trap.cause.is_interrupt() {
        true => "interrupt",
        false if is_call => "call",
        false => "exception",
    };
    (trap.cause.to_string(), kind)
}

impl Observer for Events {
    const TRAP: bool = true;
    const WALK: bool = true;

    /// Drawn where the trap or return before it is: nothing says when it was.
    fn address_space(&mut self, satp: u64) {
        if self.satp.replace(satp).is_some_and(|before| before != satp) {
            self.push(Event::Switch(satp));
        }
    }

    fn trap(&mut self, trap: &Trap) {
        self.now = trap.instret;
        self.open += 1;
        self.push(Event::Begin(*trap));
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.now = ret.instret;
        // A switch of tasks may have left traps open that return on another stack; to the program all have returned.
        let ends = if ret.to == Privilege::User { self.open } else { self.open.min(1) };
        self.open -= ends;
        for _ in 0..ends {
            self.push(Event::End);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tollgate_riscv::Cause;

    use super::*;

    fn trap(cause: Cause, from: Privilege, instret: u64) -> Trap {
        let (to, epc) = (Privilege::Supervisor, 0x1000);
        let (handler, raised_by) = (0x2000, None);
        Trap { cause, tval: 0, epc, from, to, handler, by_table: false, instret, a7: 64, raised_by }
    }

    fn ret(to: Privilege, instret: u64) -> TrapReturn {
        TrapReturn { from: Privilege::Supervisor, to, pc: 0x1004, instret }
    }

    #[test]
    fn traps_are_stretches_and_a_return_to_the_program_ends_all() {
        let mut events = Events::default();
        events.address_space(1 << 44);
        events.trap(&trap(Cause::UserEcall, Privilege::User, 1000));
        events.trap(&trap(Cause::SupervisorTimer, Privilege::Supervisor, 1500));
        events.address_space(2 << 44);
        events.trap_return(&ret(Privilege::User, 2000));
        events.trap_return(&ret(Privilege::User, 2500));
        let text = events.json();
        let document: Value = serde_json::from_str(&text).unwrap();
        let seen: Vec<(String, f64, String)> = document["traceEvents"].as_array().unwrap()[1..]
            .iter()
            .map(|event| {
                let name = event["name"].as_str().unwrap_or_default();
                (event["ph"].as_str().unwrap().into(), event["ts"].as_f64().unwrap(), name.into())
            })
            .collect();
        let expected = [
            ("B", 1.0, "write"),
            ("B", 1.5, "supervisor timer interrupt"),
            ("i", 1.5, "address space"),
            ("E", 2.0, ""),
            ("E", 2.0, ""),
        ];
        assert_eq!(seen, expected.map(|(ph, at, name)| (ph.to_owned(), at, name.to_owned())));
    }
}
