//! System calls side by side: hot, after a TLB flush, after a sweep of the caches.

use crate::sheet::{Column, Sheet, Table, title};
use crate::style::Style;
use tollgate_record::number::{SHORT, fit, half_share};
use tollgate_record::{Estimate, Measurement, Status};

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

pub(super) fn table(results: &[&Measurement], style: &Style) -> Sheet {
    let find = |name: &str| results.iter().find(|it| it.probe == name && it.status == Status::Measured);
    let mut table = Table::new([
        Column::left("").least(20),
        Column::right("hot").quoted(),
        Column::right("cycles").rank(1),
        Column::right(style.plus_minus()).rank(2),
        Column::right("TLB flushed"),
        Column::right("L1+L2 out"),
    ])
    .indent(2);
    for (title, probe) in ROWS {
        let Some((hot, result)) = find(probe).and_then(|it| Some((it.ns?, it))) else { continue };
        let show = |figure: Option<Estimate>| figure.map_or("-".into(), |it| fit(it.estimate, SHORT));
        let state = |ending| show(find(&format!("{probe}{ending}")).and_then(|it| it.ns));
        table.row([
            title.to_owned(),
            show(Some(hot)),
            show(result.cycles),
            half_share(&hot),
            state(FLUSHED),
            state(SWEPT),
        ]);
    }
    if table.is_empty() {
        return Sheet::new();
    }
    let mut text = title("System call, whole, ns");
    text.extend(Sheet::from(table));
    text
}
