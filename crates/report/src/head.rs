//! The head of a table: which machine, which CPU, which seed.

use crate::sheet::{self, Sheet};
use crate::style::{Paint, Style};
use crate::text::clean;
use tollgate_record::{Run, number, warning};

/// The lines of the head. A fact that the record does not contain is left out.
pub(crate) fn head(run: &Run, style: &Style) -> Sheet {
    let facts = [
        processor(run, style),
        system(run, style),
        placement(run, style),
        (!imported(run) && !is_exec(run)).then(|| format!("seed {}", run.seed)),
    ];
    sheet::facts(facts.into_iter().flatten().collect(), Paint::Dim)
}

/// Whether the run comes from another tool's file, whose silence about its host means nothing.
fn imported(run: &Run) -> bool {
    run.warnings.iter().any(|it| it.code == warning::IMPORTED)
}

/// Whether it is the toll of a program, in which nothing is random.
fn is_exec(run: &Run) -> bool {
    run.results.first().is_some_and(|result| result.family() == "exec")
}

fn processor(run: &Run, style: &Style) -> Option<String> {
    let (cpu, clock) = (&run.host.cpu, &run.host.clock);
    let model = model(&clean(&cpu.model, style));
    let known = |hz: Option<f64>| hz.filter(|hz| hz.is_finite() && *hz > 0.0);
    let core = match (known(cpu.core_hz_before), known(cpu.core_hz_after)) {
        // One figure when one decimal does not tell them apart.
        (Some(before), Some(after)) if number::frequency(before) != number::frequency(after) => {
            Some(format!("{}, later {}", number::frequency(before), number::frequency(after)))
        }
        (before, after) => before.or(after).map(number::frequency),
    };
    let timer = match clock.source.as_str() {
        "" => None,
        "os" => Some("timed by the OS clock".into()),
        counter => {
            let name = clean(if counter == "tsc" { "TSC" } else { counter }, style);
            Some(match known(Some(clock.hz)) {
                Some(hz) => format!("{name} {}", number::frequency(hz)),
                None => name,
            })
        }
    };
    let core = match (core, timer) {
        (Some(core), Some(timer)) => Some(format!("{core} ({timer})")),
        (core, timer) => core.or(timer),
    };
    let parts: Vec<String> =
        [Some(model).filter(|model| !model.is_empty()), core].into_iter().flatten().collect();
    Some(parts.join(", ")).filter(|text| !text.is_empty())
}

/// The maker's name without marks and without the frequency that is on the label only.
pub(crate) fn model(name: &str) -> String {
    let name = name.split(" @ ").next().unwrap_or(name).replace("(R)", "").replace("(TM)", "");
    name.split_whitespace().filter(|word| *word != "CPU").collect::<Vec<_>>().join(" ")
}

fn system(run: &Run, style: &Style) -> Option<String> {
    let release = clean(&run.host.kernel.release, style);
    let on = match &run.host.hypervisor {
        Some(name) => format!("{} guest", clean(name, style)),
        // A record without a kernel does not describe the hardware either.
        None if release.is_empty() => return None,
        None if imported(run) => return Some(format!("Linux {release}")),
        None => "bare metal".into(),
    };
    Some(if release.is_empty() { on } else { format!("Linux {release}, {on}") })
}

fn placement(run: &Run, style: &Style) -> Option<String> {
    let cpu = &run.host.cpu;
    let measured = cpu.measured.map(|cpu| format!("cpu {cpu}"));
    let peer = cpu.peer.map(|peer| match &cpu.peer_relation {
        Some(relation) => format!("peer {peer} ({})", clean(relation, style)),
        None => format!("peer {peer}"),
    });
    let parts: Vec<String> = [measured, peer].into_iter().flatten().collect();
    Some(parts.join(", ")).filter(|text| !text.is_empty())
}
