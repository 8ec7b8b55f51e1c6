//! Every row that can be measured, by which command, and whether it can run here.

use crate::args::{self, Output, Usage};
use crate::output::Sink;
use crate::worker::{self, List};
use anyhow::anyhow;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use tollgate_boundary::ring::Link;
use tollgate_boundary::{LADDER, select_among};
use tollgate_measure::clock::Source;
use tollgate_measure::host;
use tollgate_measure::remote::Remote;
use tollgate_microvm::hardware;
use tollgate_record::Per;
use tollgate_report::ProbeRow;
use tollgate_runtime::needs::{self, Tried};
use tollgate_runtime::{Runtime, Sources, choice};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tollgate list\n  tollgate list 'thread/*' fault\n  tollgate list --why")]
pub(crate) struct Args {
    /// Only these probes: a name ('thread/futex'), a family ('thread') or a pattern ('*/pipe')
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Print each reason why probes cannot run here, its remedy, and the probes
    #[arg(long)]
    why: bool,
    #[command(flatten)]
    output: Output,
}

/// A worker that takes longer to open a probe counts as hung.
const PATIENCE_MS: i32 = 10_000;

/// The check that a row can run here.
enum Needs {
    /// The probe of that number can be opened.
    Probe(List, usize),
    Runtime(Box<Runtime>),
    Guest,
    Nothing,
}

/// Every row, the ladder first, each with what it needs.
fn every() -> anyhow::Result<Vec<(ProbeRow, Needs)>> {
    let row = |id: &str, what: &str, per, command: &str| {
        let (id, what, command) = (id.to_owned(), what.into(), command.into());
        ProbeRow { id, what, per, command, in_ladder: false, reason: None, enable: None }
    };
    let (mut all, mut known) = (Vec::new(), BTreeSet::new());
    for (list, command) in
        [(List::Ladder, "run"), (List::Crossings, "crossing"), (List::Faults, "fault kinds")]
    {
        for (place, meta) in list.metas().into_iter().enumerate().filter(|(_, meta)| known.insert(meta.id)) {
            let family = if list == List::Ladder { meta.id.split('/').next() } else { None };
            let command = format!("tollgate {command} {}", family.unwrap_or_default());
            let in_ladder = list == List::Ladder && place < LADDER.len();
            let row = row(meta.id, meta.what, meta.per, command.trim_end());
            all.push((ProbeRow { in_ladder, ..row }, Needs::Probe(list, place)));
        }
    }
    let borders = choice::borders(&Sources::Embedded).map_err(|why| anyhow!(why))?;
    let switches = choice::choose(&[], &[], &Sources::Embedded).map_err(|why| anyhow!(why))?;
    for (runtime, mechanism, _) in borders.into_iter().chain(switches) {
        let border = (Per::Call, "tollgate run ffi");
        let (per, command) = if runtime.is_border() { border } else { (Per::Switch, "tollgate switch") };
        let row = row(&runtime.row(&mechanism), &mechanism.what, per, command);
        all.push((row, Needs::Runtime(Box::new(runtime))));
    }
    let rings = Link::NAMES.iter().map(|(_, link, what)| row(link.id(), what, Per::Switch, "tollgate ring"));
    all.extend(rings.map(|row| (row, Needs::Nothing)));
    let guest = |(id, per)| row(id, "the hardware alone, in a bare guest", per, "tollgate crossing");
    all.extend(hardware::rows().map(guest).map(|row| (row, Needs::Guest)));
    Ok(all)
}

/// The places of the rows that patterns name.
fn select(all: &[(ProbeRow, Needs)], patterns: &[String]) -> anyhow::Result<Vec<usize>> {
    let ids: Vec<&str> = all.iter().map(|(row, _)| row.id.as_str()).collect();
    select_among(&ids, patterns).map_err(Usage::error)
}

/// The command that measures what a pattern names.
pub(crate) fn measured_by(pattern: &str) -> Option<String> {
    let all = every().ok()?;
    let places = select(&all, &[pattern.to_owned()]).ok()?;
    Some(all[*places.first()?].0.command.clone())
}

pub(crate) fn list(args: &Args) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let site = args::site(&host::here().cpu, None, None)?;
    let all = every()?;
    // The rows of a list of probes are beside each other.
    let mut worker = None;
    let (mut missing, mut tried) = (BTreeMap::new(), Tried::new());
    let mut rows = Vec::new();
    for place in select(&all, &args.patterns)? {
        let (row, needs) = &all[place];
        let obstacle = match needs {
            Needs::Probe(list, probe) => {
                // Opening a probe may be the end of the process that tries.
                let start =
                    |list| Remote::started(move || worker::of_list(site, Source::best(), list), PATIENCE_MS);
                let remote = match worker.take() {
                    Some((of, remote)) if of == *list => Ok(remote),
                    _ => start(*list),
                };
                let (_, remote) = worker.insert((*list, remote.map_err(|lost| anyhow!(lost.0))?));
                remote.obstacle(*probe, list.metas()[*probe], site).map_err(|lost| anyhow!(lost.0))?
            }
            Needs::Runtime(runtime) => {
                let look = || needs::missing(runtime, &mut tried, &AtomicBool::new(false));
                let missing = missing.entry(runtime.id.clone()).or_insert_with(look).as_ref();
                missing.map(|it| (it.reason.clone(), Some(it.enable.clone())))
            }
            Needs::Guest => hardware::missing().map(|(reason, enable)| (reason, Some(enable))),
            Needs::Nothing => None,
        };
        let (reason, enable) = obstacle.map_or((None, None), |(reason, enable)| (Some(reason), enable));
        rows.push(ProbeRow { reason, enable, ..row.clone() });
    }
    let document = serde_json::to_value(&rows)?;
    sink.deliver_either(&document, |style| tollgate_report::probes(&rows, args.why, style))
}
