//! `tollgate history`: the saved runs of this host over time.

use crate::args::{Output, StoreArgs, Usage};
use crate::output::{self, Sink, say};
use std::collections::BTreeSet;
use std::process::ExitCode;
use tollgate_measure::host;
use tollgate_record::{Run, store, text};

/// The options of `tollgate history`.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 done; 2 the command line is wrong, or there is no run to show.\n\nExamples:\n  \
                        tollgate history\n  tollgate history syscall 'thread/*'\n  tollgate history --all-hosts --json"
)]
pub(crate) struct Args {
    /// Probes by name ('thread/futex'), family ('thread') or pattern ('*/pipe'); all when none is given
    #[arg(value_name = "PROBE")]
    patterns: Vec<String>,
    /// Show the runs of every host, each host separately
    #[arg(long)]
    all_hosts: bool,
    /// Show nanoseconds even if core cycles were measured
    #[arg(long)]
    by_time: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn history(args: &Args) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let store = output::existing_store(&args.store)?;
    let mut runs: Vec<Run> = Vec::new();
    for entry in store.list().map_err(Usage::error)? {
        match store::read(&entry.path) {
            Ok(run) => runs.push(run),
            Err(error) => say(format!("tollgate: left out: {error}")),
        }
    }
    let all = runs.len();
    if !args.all_hosts {
        let here = host::here();
        runs.retain(|run| run.host.name == here.name && run.host.cpu.model == here.cpu.model);
    }
    if runs.is_empty() {
        let elsewhere = match all {
            0 => "`tollgate` measures one".to_owned(),
            n => format!("{n} of other hosts are shown by --all-hosts"),
        };
        let place = store.dir().display();
        return Err(Usage::error(format!("there is no run of this host in {place}; {elsewhere}")));
    }
    let wanted = select(&args.patterns, &runs)?;
    let found = tollgate_judge::history(&runs, &|probe| wanted.contains(probe), args.by_time);
    if found.groups.is_empty() {
        return Err(Usage::error(
            "no complete run has a figure of that: interrupted runs are left out of the history",
        ));
    }
    sink.deliver_either(&found, |style| tollgate_report::history_table(&found, style))
}

/// The probes that the patterns name. Each pattern must name something that was measured at some time.
fn select(patterns: &[String], runs: &[Run]) -> anyhow::Result<BTreeSet<String>> {
    let names: BTreeSet<&str> =
        runs.iter().flat_map(|run| &run.results).map(|result| result.probe.as_str()).collect();
    let names = Vec::from_iter(names);
    let wanted = tollgate_boundary::select_among(&names, patterns).map_err(|unknown| {
        let nearest = text::suggestion(unknown.nearest.as_deref());
        Usage::error(format!("no saved run has a probe called '{}'{nearest}", unknown.pattern))
    })?;
    Ok(wanted.into_iter().map(|place| names[place].to_owned()).collect())
}
