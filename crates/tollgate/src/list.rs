//! Every probe, and whether it can run here.

use crate::args::{self, Output};
use crate::output::Sink;
use crate::worker::{self, List};
use anyhow::anyhow;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use tollgate_boundary::{LADDER, PROBES};
use tollgate_measure::bench::{Bench, Lost, Reply, Request};
use tollgate_measure::clock::Source;
use tollgate_measure::host;
use tollgate_measure::remote::Remote;
use tollgate_measure::samples::ProbeState;
use tollgate_record::Per;
use tollgate_report::ProbeRow;
use tollgate_runtime::needs::{self, Tried};
use tollgate_runtime::{Sources, choice};

#[derive(clap::Args)]
#[command(after_help = "Example:\n  tollgate list --why")]
pub(crate) struct Args {
    /// Say why a probe cannot run here, and what would enable it
    #[arg(long)]
    why: bool,
    #[command(flatten)]
    output: Output,
}

/// A worker that takes longer to open a probe is taken for hung.
const PATIENCE_MS: i32 = 10_000;

pub(crate) fn list(args: &Args) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let site = args::site(&host::here().cpu, None, None)?;
    // Opening a probe may be the end of the process that tries, so that is a worker.
    let mut bench = Remote::new(|| worker::of_list(site, Source::best(), List::Ladder), PATIENCE_MS);
    let lost = |lost: Lost| anyhow!(lost.0);
    bench.restart().map_err(lost)?;
    // A worker that cannot be used at all says so to the first question.
    bench.ask(&Request::Moment).map_err(lost)?;
    let mut rows = Vec::new();
    for (probe, meta) in PROBES.iter().map(|probe| probe.meta()).enumerate() {
        let state = match ProbeState::new(meta, true, site) {
            ProbeState::Active => open(&mut bench, probe)?,
            refused => refused,
        };
        let (reason, enable) = match state {
            ProbeState::Active | ProbeState::NotAsked => (None, None),
            ProbeState::Skipped { reason, enable } => (Some(reason), Some(enable)),
            ProbeState::Failed(reason) => (Some(reason), None),
        };
        let (id, what, in_ladder) = (meta.id.into(), meta.what.into(), probe < LADDER.len());
        rows.push(ProbeRow { id, what, per: meta.per, in_ladder, reason, enable });
    }
    let (mut missing, mut tried) = (BTreeMap::new(), Tried::new());
    for (runtime, mechanism, _) in choice::borders(&Sources::Embedded).map_err(|why| anyhow!(why))? {
        let look = || needs::missing(&runtime, &mut tried, &AtomicBool::new(false));
        let missing = missing.entry(runtime.id.clone()).or_insert_with(look).as_ref();
        let (reason, enable) = missing.map(|it| (it.reason.clone(), it.enable.clone())).unzip();
        let id = runtime.row(&mechanism);
        rows.push(ProbeRow { id, what: mechanism.what, per: Per::Call, in_ladder: false, reason, enable });
    }
    let document = serde_json::to_value(&rows)?;
    sink.deliver_either(&document, |style| tollgate_report::probes(&rows, args.why, style))
}

/// Opens a probe and closes it.
fn open(bench: &mut impl Bench, probe: usize) -> anyhow::Result<ProbeState> {
    let answer = bench.ask(&Request::Open { probe }).and_then(|reply| {
        if let Reply::Opened { .. } = reply {
            bench.ask(&Request::Close { probe })?;
        }
        Ok(reply)
    });
    Ok(match answer {
        Ok(Reply::Skipped { reason, enable }) => ProbeState::Skipped { reason, enable },
        Ok(Reply::Failed { reason }) => ProbeState::Failed(reason),
        Ok(_) => ProbeState::Active,
        Err(Lost(reason)) => {
            bench.restart().map_err(|lost| anyhow!(lost.0))?;
            ProbeState::Failed(reason)
        }
    })
}
