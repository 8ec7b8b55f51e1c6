//! Where a program's instructions went.

use std::fmt::Write;

use super::words::{bar, grouped, line, mean, per_cent};
use crate::call::Crossing;
use crate::phase::Phase;
use crate::profile::Profile;

/// Where a program's instructions went.
#[must_use]
pub fn profile(profile: &Profile) -> String {
    const SHOWN: usize = 20;
    let functions = profile.functions();
    let total: u64 = functions.iter().map(|(_, n)| n).sum();
    let mut out = format!("{:<38}{:>16}{:>7}\n", "function", "instructions", "share");
    let mut row = |name: &str, n: u64| {
        let share = per_cent(n, total);
        let name: String = name.chars().take(38).collect();
        line(&mut out, format_args!("{name:<38}{:>16}{share:>5.0} %  {}", grouped(n), bar(share / 2.0)));
    };
    functions.iter().take(SHOWN).for_each(|(name, n)| row(name, *n));
    if functions.len() > SHOWN {
        let rest = functions[SHOWN..].iter().map(|(_, n)| n).sum();
        row(&format!("{} more", functions.len() - SHOWN), rest);
    }
    row("total", total);
    if profile.has_phases() {
        let _ = writeln!(out, "\n{:<38}{:>16}{:>7}", "phase", "instructions", "share");
        for (phase, cost) in profile.phases.iter() {
            let share = per_cent(cost.instructions, total);
            line(
                &mut out,
                format_args!(
                    "{:<38}{:>16}{share:>5.0} %  {}",
                    phase.name(),
                    grouped(cost.instructions),
                    bar(share / 2.0)
                ),
            );
        }
    }
    if !profile.calls.is_empty() {
        const COLUMNS: [(&str, usize, Phase); 6] = [
            ("stack", 6, Phase::StackSwitch),
            ("save", 5, Phase::Save),
            ("dispatch", 9, Phase::Dispatch),
            ("handler", 8, Phase::Handler),
            ("restore", 8, Phase::Restore),
            ("return", 7, Phase::Return),
        ];
        let _ = write!(out, "\n{:<20}{:>7}{:>9}", "kernel, per call", "calls", "instr");
        for (name, width, _) in COLUMNS {
            let _ = write!(out, "{name:>width$}");
        }
        out.push('\n');
        for (&number, call) in &profile.calls {
            // Names are those of calls that fit a u16; others have none.
            let name =
                u16::try_from(number).map_or_else(|_| "another".to_owned(), |n| Crossing::Call(n).name());
            let instructions = mean(call.phases.total().instructions, call.count);
            let _ = write!(out, "{name:<20}{:>7}{instructions:>9}", grouped(call.count));
            for (_, width, phase) in COLUMNS {
                let _ = write!(out, "{:>width$}", mean(call.phases[phase].instructions, call.count));
            }
            out.push('\n');
        }
    }
    out
}
