//! System calls side by side: hot, after a TLB flush, after a sweep of the caches.

use super::{line, title};
use crate::number::{fit, percent};
use crate::style::{Paint, Style};
use crate::text::{left, right};
use tollgate_record::{Measurement, Status};

/// The rows: what is shown, and the probe. Those of the other states have an ending to its name.
const ROWS: [(&str, &str); 7] = [
    ("no kernel: vDSO clock_gettime", "vdso/clock_gettime"),
    ("invalid number", "syscall/invalid"),
    ("getppid", "syscall/getppid"),
    ("  seccomp allows by number", "syscall/getppid-filtered"),
    ("  seccomp filter runs", "syscall/getppid-filter-run"),
    ("  by int 0x80", "syscall/int80"),
    ("clock_gettime", "syscall/clock_gettime"),
];
const FLUSHED: &str = "-after-flush";
const SWEPT: &str = "-after-sweep";
const NAME: usize = 29;
const COLUMN: usize = 9;

pub(super) fn table(results: &[&Measurement], style: &Style) -> Vec<String> {
    let find = |name: &str| results.iter().find(|it| it.probe == name && it.status == Status::Measured);
    let rows: Vec<String> = ROWS
        .iter()
        .filter_map(|(title, probe)| {
            let hot = find(probe)?.ns?;
            let cycles = find(probe)?.cycles.map_or("-".into(), |it| fit(it.estimate, COLUMN - 1));
            let state = |ending| {
                find(&format!("{probe}{ending}"))
                    .and_then(|it| it.ns)
                    .map_or("-".into(), |it| fit(it.estimate, COLUMN - 1))
            };
            Some(format!(
                "  {}{}{}{}{}{}",
                left(title, NAME),
                right(&fit(hot.estimate, COLUMN - 1), COLUMN),
                right(&cycles, COLUMN),
                right(&percent(hot.relative_half_width()), COLUMN - 1),
                right(&state(FLUSHED), COLUMN + 4),
                right(&state(SWEPT), COLUMN + 1),
            ))
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut text = title("System call, whole, ns", style);
    let header = format!(
        "  {}{}{}{}{}{}",
        left("", NAME),
        right("hot", COLUMN),
        right("cycles", COLUMN),
        right("+-", COLUMN - 1),
        right("TLB flushed", COLUMN + 4),
        right("L1+L2 out", COLUMN + 1),
    );
    text.push(style.paint(Paint::Dim, &line(&header, style)));
    text.extend(rows.into_iter().map(|row| line(&row, style)));
    text
}
