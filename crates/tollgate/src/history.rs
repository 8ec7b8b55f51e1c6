//! `tollgate history`: the saved runs of this host over time.

use crate::cli::{Output, StoreArgs, Usage};
use crate::output::{self, Sink, say};
use anyhow::Context;
use std::process::ExitCode;
use tollgate_measure::host;
use tollgate_record::{Run, document, store, text};
use tollgate_report::History;

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
    /// Show the runs of every host, each host by itself
    #[arg(long)]
    all_hosts: bool,
    /// Show nanoseconds even where core cycles are known
    #[arg(long)]
    by_time: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn history(args: &Args) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let store = output::store(&args.store)?
        .context("there is no home directory to look in; name one with --store DIR")?;
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
    known(&args.patterns, &runs)?;
    let wanted = |probe: &str| args.patterns.is_empty() || args.patterns.iter().any(|it| matches(it, probe));
    let found = tollgate_report::history(&runs, &wanted, args.by_time);
    if found.groups.is_empty() {
        return Err(Usage::error(
            "no complete run has a figure of that: an interrupted run is no point of a history",
        ));
    }
    sink.deliver(&text(&found, &sink)?)?;
    Ok(ExitCode::SUCCESS)
}

fn text(found: &History, sink: &Sink<'_>) -> anyhow::Result<String> {
    Ok(if sink.json() {
        document::pretty(found)?
    } else {
        tollgate_report::history_table(found, &sink.style())
    })
}

/// Each pattern must name something that was measured at some time.
fn known(patterns: &[String], runs: &[Run]) -> anyhow::Result<()> {
    let names: std::collections::BTreeSet<&str> =
        runs.iter().flat_map(|run| &run.results).map(|result| result.probe.as_str()).collect();
    for pattern in patterns {
        if names.iter().any(|name| matches(pattern, name)) {
            continue;
        }
        let known = names.iter().flat_map(|name| [*name, name.split('/').next().unwrap_or(name)]);
        let nearest = text::suggestion(text::nearest(pattern, known));
        return Err(Usage::error(format!("no saved run has a probe called '{pattern}'{nearest}")));
    }
    Ok(())
}

/// A name, a family, or a pattern in which each `*` stands for anything.
fn matches(pattern: &str, probe: &str) -> bool {
    if !pattern.contains('*') {
        return probe == pattern || probe.split('/').next() == Some(pattern);
    }
    let mut rest = probe;
    let mut parts = pattern.split('*').peekable();
    let first = parts.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_name_probes() {
        for (pattern, probe, is) in [
            ("thread", "thread/futex", true),
            ("thread/futex", "thread/futex", true),
            ("thread/fut", "thread/futex", false),
            ("*/pipe", "core/pipe", true),
            ("thread/*", "thread/", true),
            ("*", "anything", true),
            ("t*d/*x", "thread/futex", true),
            ("t*d/*y", "thread/futex", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, probe), is, "{pattern} {probe}");
        }
    }
}
