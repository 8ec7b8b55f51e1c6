//! Every probe, and whether it can run here.

use crate::cli::ListArgs;
use crate::output::Sink;
use anyhow::anyhow;
use std::process::ExitCode;
use tollgate_boundary::PROBES;
use tollgate_measure::{Placement, Refusal, host, placement, worker};
use tollgate_report::ProbeRow;

pub(crate) fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let site = placement::choose(&host::here().cpu, None, None)?;
    placement::pin(site.cpu).map_err(|error| anyhow!(worker::unpinned(&error)))?;
    let rows: Vec<ProbeRow> = PROBES
        .iter()
        .map(|probe| {
            let meta = probe.meta();
            let refusal = if meta.placement == Placement::Pair && site.peer.is_none() {
                Some(Refusal::skip(
                    "it needs two CPUs and only one may be used",
                    "give the process a second CPU",
                ))
            } else {
                probe.open(&site).err()
            };
            let (reason, enable) = match refusal {
                None => (None, None),
                Some(Refusal::Skip { reason, enable }) => (Some(reason), Some(enable)),
                Some(Refusal::Failed(reason)) => (Some(reason), None),
            };
            ProbeRow { id: meta.id.into(), what: meta.what.into(), per: meta.per, reason, enable }
        })
        .collect();
    let text = if sink.json() {
        format!("{:#}\n", serde_json::to_value(&rows)?)
    } else {
        tollgate_report::probes(&rows, args.why, &sink.style())
    };
    sink.deliver(&text)?;
    Ok(ExitCode::SUCCESS)
}
