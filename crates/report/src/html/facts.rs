//! The machine, as far as the record tells of it: what all runs share, and what differs.

use super::runs::Runs;
use crate::chart::Unit;
use crate::markup::clean;
use crate::sheet::{Cell, Table};
use indexmap::IndexMap;
use maud::{Markup, html};
use tollgate_record::Run;
use tollgate_record::number::frequency;

/// A fact: its name, and how a run says it; `None` when it is not in the record.
type Fact = (&'static str, fn(&Run) -> Option<String>);

/// The facts in the order in which they are shown.
static FACTS: &[Fact] = &[
    ("Processor", |run| some(&run.host.cpu.model)),
    ("Machine", |run| run.host.machine.clone()),
    ("Name", |run| some(&run.host.name)),
    ("Architecture", |run| some(&run.host.arch)),
    ("Hypervisor", |run| run.host.hypervisor.clone()),
    ("Kernel", |run| some(&run.host.kernel.release)),
    ("Kernel build", |run| some(&run.host.kernel.version)),
    ("Boot options that matter", |run| join(&run.host.kernel.command_line)),
    ("Mitigations", |run| {
        let all = &run.host.kernel.mitigations;
        let affected = all.iter().filter(|(_, state)| *state != "Not affected");
        let mut said: Vec<String> = affected.map(|(name, state)| format!("{name}: {state}")).collect();
        let spared = all.len() - said.len();
        if spared > 0 {
            said.push(format!("not affected by {spared} others"));
        }
        some(&said.join("; "))
    }),
    ("Seccomp filter", |run| run.host.kernel.seccomp.map(yes)),
    ("Microcode", |run| run.host.cpu.microcode.clone()),
    ("Processor flags that matter", |run| join(&run.host.cpu.flags)),
    ("CPUs online", |run| Some(run.host.cpu.online.len()).filter(|n| *n > 0).map(|n| n.to_string())),
    ("Two threads for each core", |run| run.host.cpu.smt.map(yes)),
    ("Measured on CPU", |run| run.host.cpu.measured.map(|cpu| cpu.to_string())),
    ("Other side on CPU", |run| {
        let peer = run.host.cpu.peer?;
        let relation = run.host.cpu.peer_relation.as_deref().map(|it| format!(" ({it})"));
        Some(format!("{peer}{}", relation.unwrap_or_default()))
    }),
    ("Core frequency, before", |run| run.host.cpu.core_hz_before.map(frequency)),
    ("Core frequency, after", |run| run.host.cpu.core_hz_after.map(frequency)),
    ("Governor", |run| run.host.cpu.governor.clone()),
    ("Turbo", |run| run.host.cpu.turbo.map(|on| if on { "on" } else { "off" }.into())),
    ("Idle driver and governor", |run| {
        let idle = &run.host.cpu.idle;
        Some(format!("{}, {}", idle.driver.as_deref()?, idle.governor.as_deref().unwrap_or("unknown")))
    }),
    ("Caches", |run| {
        let caches = run.host.caches.iter().map(|cache| {
            format!("L{} {} {}", cache.level, cache.kind.to_lowercase(), Unit::Bytes.show(cache.bytes as f64))
        });
        join(&caches.collect::<Vec<_>>())
    }),
    ("Memory", |run| run.host.memory_bytes.map(|bytes| Unit::Bytes.show(bytes as f64))),
    ("Page", |run| Some(run.host.page_bytes).filter(|n| *n > 0).map(|bytes| Unit::Bytes.show(bytes as f64))),
    ("Transparent huge pages", |run| run.host.transparent_huge_pages.clone()),
    ("Clock", |run| {
        let clock = &run.host.clock;
        let source = some(&clock.source)?;
        Some(if clock.hz > 0.0 { format!("{source}, {}", frequency(clock.hz)) } else { source })
    }),
    ("Kernel's clock source", |run| run.host.clock.kernel_clocksource.clone()),
    ("CPU limit of the control group", |run| run.host.cgroup.cpu_max.map(|cpus| format!("{cpus} CPUs"))),
    ("User id", |run| Some(run.host.uid.to_string())),
    ("tollgate", |run| some(&format!("{} ({})", run.tool.version, run.tool.commit))),
    ("Seed", |run| Some(run.seed.to_string())),
];

fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.trim().is_empty())
}

fn join(items: &[String]) -> Option<String> {
    some(&items.join(", "))
}

fn yes(it: bool) -> String {
    if it { "yes" } else { "no" }.into()
}

pub(super) fn section(runs: &Runs) -> Markup {
    let mut shared = Vec::new();
    let mut differing =
        Table::data("Facts in which the runs differ", &[("fact", false), ("run", false), ("value", false)]);
    for (name, say) in FACTS {
        // Runs with the same value share a row.
        let mut said: IndexMap<Option<String>, Vec<&str>> = IndexMap::new();
        for one in &runs.all {
            said.entry(say(&one.run)).or_default().push(&one.letter);
        }
        let is_shared = said.len() == 1;
        for (value, letters) in said {
            match value {
                Some(value) if is_shared => shared.push((name, value)),
                None if is_shared => {}
                value => differing.row([
                    Cell::text(name),
                    Cell::text(letters.join(", ")),
                    Cell::text(value.as_deref().unwrap_or("unknown")),
                ]),
            }
        }
    }
    html! {
        @if !differing.is_empty() { (differing.element()) }
        @if !shared.is_empty() {
            dl.facts {
                @for (name, value) in shared {
                    div class=(if value.len() > 120 { "long" } else { "" }) {
                        dt { (name) }
                        dd { (clean(&value)) }
                    }
                }
            }
        }
    }
}
