//! How long an interrupt takes to its handler, at each cycle of a loop.

use tollgate_cores::{Core, Timed};
use tollgate_riscv::Step;

use super::error::RtlError;
use super::golden::Golden;
use super::program::{Program, Raise};
use super::replay::Cycles;
use super::subject::Subject;

/// An interrupt in the RTL: how many cycles behind the instruction that was counted it came, and how many later the handler's
/// first instruction retired.
struct Event {
    behind: u64,
    latency: u64,
}

/// The cycles of each interrupt, in the RTL and in the model, which decides by itself what it interrupts.
pub(super) fn interrupted(
    subject: &Subject,
    core: &Core,
    program: &Program,
    raise: Raise,
    golden: &Golden,
) -> Result<Vec<Cycles>, RtlError> {
    let mut machine = subject.machine(program)?;
    if subject.controller != 0 {
        // The machine here has no controller: the line goes to the core.
        machine.write_memory(raise.controller, &[0; 4])?;
    }
    let mut timed = Timed::new(core, (), ())?.with_code(&subject.code(program));
    let mut latencies = Vec::new();
    let mut seen = 0;
    for event in events(raise, golden) {
        let mut due = None;
        let mut raised = false;
        // More steps than any loop here has between two interrupts.
        for _ in 0..100_000 {
            if let Some(due) = due
                && !raised
                && timed.interrupts(&machine, due)
            {
                machine.set_external_interrupt(true);
                raised = true;
            }
            let pc = machine.pc();
            match timed.step(&mut machine) {
                Step::Trapped if raised => {
                    machine.set_external_interrupt(false);
                    timed.step(&mut machine);
                    break;
                }
                Step::Stopped(_) => break,
                Step::Retired if pc == raise.at && due.is_none() => {
                    seen += 1;
                    if seen == raise.every {
                        seen = 0;
                        due = Some(timed.cycles() + event.behind);
                    }
                }
                _ => {}
            }
        }
        let (true, Some(due)) = (raised, due) else {
            return Err(RtlError::Differs("the loop is not interrupted".into()));
        };
        let (rtl, model) = (event.latency, timed.cycles() - due);
        latencies.push(Cycles { rtl, model, absolute: rtl.abs_diff(model) });
    }
    Ok(latencies)
}

/// The interrupts of a trace.
fn events(raise: Raise, golden: &Golden) -> Vec<Event> {
    let mut events = Vec::new();
    let mut lines = golden.raised.iter().copied().peekable();
    let (mut seen, mut counted) = (0, None);
    for each in golden.retired.iter().filter(|each| !each.trapped) {
        match (counted, lines.peek()) {
            (Some(from), Some(&line)) if each.pc == raise.handler && each.cycle > line => {
                events.push(Event { behind: line - from, latency: each.cycle - line });
                lines.next();
                counted = None;
            }
            (None, _) if each.pc == raise.at => {
                seen += 1;
                if seen == raise.every {
                    seen = 0;
                    counted = Some(each.cycle);
                }
            }
            _ => {}
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::golden::Retirement;

    #[test]
    fn an_interrupt_is_counted_from_its_line_to_its_handler() {
        // A loop of one instruction at 0x10, each second pass interrupted; the handler is at 0x80.
        let at = |cycle, pc| Retirement { cycle, pc, trapped: false };
        let retired = vec![
            at(1, 0x10),
            at(2, 0x10),
            at(7, 0x80),
            at(9, 0x10),
            at(10, 0x10),
            at(11, 0x10),
            at(18, 0x80),
        ];
        let golden = Golden { program: "x".into(), latency: 1, retired, raised: vec![3, 12] };
        let raise = Raise { at: 0x10, every: 2, phases: 2, handler: 0x80, controller: 0 };
        let events: Vec<_> = events(raise, &golden).iter().map(|it| (it.behind, it.latency)).collect();
        assert_eq!(events, [(1, 4), (2, 6)]);
    }
}
