//! `tollgate show`: a saved run, or the list of them.

use crate::args::{Detail, Output, StoreArgs, Usage};
use crate::output::{Sink, existing_store, say};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use tollgate_record::parse::day;
use tollgate_record::store::{Entry, Filter, rfc3339};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tollgate show\n  tollgate show --command ring --since 7d\n  tollgate show latest\n  \
                        tollgate show 01M7WS4P --json\n  tollgate show latest --label before\n  tollgate show before"
)]
pub(crate) struct Args {
    /// A run's id, the beginning of one, its label, 'latest', or the path of a record [default: list the saved runs]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// List only runs whose command contains this text
    #[arg(long, value_name = "TEXT", conflicts_with = "run")]
    command: Option<String>,
    /// Give RUN this label ('' removes it); without RUN: list only runs whose label contains this text
    #[arg(long, value_name = "NAME", value_parser = label)]
    label: Option<String>,
    /// List only runs of hosts whose name contains this text
    #[arg(long, value_name = "TEXT", conflicts_with = "run")]
    host: Option<String>,
    /// List only runs of this day (UTC) or later: 2026-11-01, or 7d for the last seven days
    #[arg(long, value_name = "DAY", value_parser = since, conflicts_with = "run")]
    since: Option<String>,
    /// List only runs of this day (UTC) or earlier
    #[arg(long, value_name = "DAY", value_parser = since, conflicts_with = "run")]
    until: Option<String>,
    /// Delete these runs, named by their ids or beginnings of them
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with_all = ["run", "command", "label", "host", "since", "until", "json", "out"])]
    delete: Vec<String>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    store: StoreArgs,
}

/// A day, or so many days before today.
fn since(text: &str) -> Result<String, String> {
    match text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok()) {
        Some(days) => {
            let before = Duration::from_secs(u64::from(days) * 86_400);
            let then = SystemTime::now().checked_sub(before).unwrap_or(SystemTime::UNIX_EPOCH);
            Ok(rfc3339(then)[..10].to_owned())
        }
        None => day(text).map_err(|why| format!("{why}, or 7d for the last seven days")),
    }
}

/// A label: a word or a few that cannot be taken for a path or for `latest`.
fn label(text: &str) -> Result<String, String> {
    match text {
        "latest" => Err("'latest' always means the newest run".into()),
        text if text.contains('/') || text.ends_with(".json") => {
            Err("a label contains no '/' and does not end in .json, so that it cannot be taken for a path"
                .into())
        }
        text if text.chars().any(char::is_control) => Err("a label is one line of text".into()),
        text if text.chars().count() > 60 => Err("a label has at most 60 characters".into()),
        text => Ok(text.to_owned()),
    }
}

pub(crate) fn show(args: &Args) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?.with(args.detail);
    let store = existing_store(&args.store)?;
    if let (Some(run), Some(label)) = (&args.run, &args.label) {
        let run = store.label(run, label).map_err(Usage::error)?;
        say(match run.label {
            Some(label) => format!("{} is labeled '{label}'", run.id),
            None => format!("{} has no label", run.id),
        });
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(run) = &args.run {
        return sink.deliver_run(&store.load(run).map_err(Usage::error)?);
    }
    if !args.delete.is_empty() {
        for Entry { id, path, content } in store.remove(&args.delete).map_err(Usage::error)? {
            let what = match content {
                Ok(run) => format!("tollgate {} of {}", run.command.join(" "), run.started),
                Err(_) => path.display().to_string(),
            };
            say(format!("deleted {id} ({what})"));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut entries = store.list()?;
    let (command, label, host) = (args.command.clone(), args.label.clone(), args.host.clone());
    let wanted = Filter { command, label, host, since: args.since.clone(), until: args.until.clone() };
    entries.retain(|entry| wanted.wants(entry));
    let rows: Vec<_> = entries.iter().map(Entry::document).collect();
    sink.deliver_either(&rows, |style| tollgate_report::runs(&entries, style))
}
