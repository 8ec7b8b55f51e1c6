//! Folded stacks: a line for each path of calls, its functions from the outermost one on and its cycles, for
//! flamegraph.pl, inferno and speedscope.

use super::rows::{ExportError, ExportRow, Exported};
use super::stacks::{cut, stacks};
use std::fmt::Write;
use tollgate_record::Run;
use tollgate_record::text::printable;

pub(super) fn write(_: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let (mut text, mut left_out) = (String::new(), Vec::new());
    for row in rows {
        let Some(found) = row.result.found.program().filter(|found| !found.paths.is_empty()) else {
            left_out.extend(row.left_out("it is not the profile of a program on a core"));
            continue;
        };
        for (stack, cycles) in stacks(found) {
            // A separator within a name would be taken for two functions.
            let names: Vec<String> =
                stack.iter().rev().map(|name| printable(name).replace(';', ":")).collect();
            let _ = writeln!(text, "{} {cycles}", names.join(";"));
        }
        left_out.extend(cut(found).map(|why| (row.name.clone(), why)));
    }
    let why = "only 'tollgate riscv exec', 'riscv run --core' and 'riscv boot --core' follow the calls of a program";
    if text.is_empty() { Err(ExportError::Nothing("folded", why)) } else { Ok(Exported::new(text, left_out)) }
}
