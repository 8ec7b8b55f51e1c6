//! Folded stacks: a line for each path of calls, its functions from the outermost one on and its cycles, for
//! flamegraph.pl, inferno and speedscope.

use super::rows::{ExportError, ExportRow, Exported};
use std::fmt::Write;
use tollgate_record::Run;
use tollgate_record::number::count;
use tollgate_record::text::printable;

pub(super) fn write(_: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let (mut text, mut left_out) = (String::new(), Vec::new());
    for row in rows {
        let Some(found) = row.result.found.program().filter(|found| !found.paths.is_empty()) else {
            left_out.extend(row.left_out("it is not the profile of a program on a core"));
            continue;
        };
        let mut names: Vec<String> = Vec::new();
        for path in &found.paths {
            // A separator within a name would be taken for two functions.
            let name = printable(&path.function).replace(';', ":");
            let caller = path.caller.and_then(|at| names.get(usize::try_from(at).ok()?));
            names.push(caller.map_or(name.clone(), |caller| format!("{caller};{name}")));
            if path.cycles > 0 {
                let _ = writeln!(text, "{} {}", names[names.len() - 1], path.cycles);
            }
        }
        if let Some(cut) = found.cut {
            let why = format!(
                "{} cycles of calls that are too deep or too many are with their callers",
                count(cut)
            );
            left_out.push((row.name.clone(), why));
        }
    }
    let why = "only 'tollgate riscv profile' and 'riscv run --core' follow the calls of a program";
    if text.is_empty() { Err(ExportError::Nothing("folded", why)) } else { Ok(Exported::new(text, left_out)) }
}
