//! Saving and showing what a command of this family found.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_record::{Measurement, Run, Status, Warning, document, warning};

use crate::cli::{StoreArgs, Usage};
use crate::output::{self, Sink, say};

/// Where a run is kept.
#[derive(Args)]
pub(super) struct KeepArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Do not save the run
    #[arg(long, conflicts_with = "store")]
    no_save: bool,
}

/// Saves the run and delivers it: as JSON, or as `show` shows it. What could not be saved is delivered all the
/// same and says so.
pub(super) fn finish(
    results: Vec<Measurement>,
    sink: &Sink<'_>,
    keep: &KeepArgs,
    show: &dyn Fn(&Run) -> String,
) -> Result<ExitCode> {
    let mut run = super::document(results);
    for result in run.results.iter().filter(|result| result.status == Status::Failed) {
        say(format!(
            "tollgate: {} failed: {}",
            result.probe,
            result.reason.as_deref().unwrap_or("no reason given")
        ));
    }
    let failed = run.results.iter().any(|result| result.status == Status::Failed);
    if !keep.no_save {
        match output::store(&keep.store) {
            Ok(Some(store)) => match store.save(&run) {
                // A person wants to know; a script asked for the result and nothing else.
                Ok(_) if io::stderr().is_terminal() && !sink.json() => {
                    say(format!("saved as {} (tollgate show {0})", run.id));
                }
                Ok(_) => {}
                Err(error) if keep.store.store.is_some() => return Err(Usage::error(error)),
                Err(error) => unsaved(&mut run, sink, &error),
            },
            // Without a home there is no place that was asked for.
            Ok(None) => {}
            Err(error) if keep.store.store.is_some() => return Err(error),
            Err(error) => unsaved(&mut run, sink, &format!("{error:#}")),
        }
    }
    let shown = if sink.json() { document::to_json(&run)? } else { show(&run) };
    sink.deliver(&shown)?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Nobody asked for the usual place, so that it cannot be written to is a warning.
fn unsaved(run: &mut Run, sink: &Sink<'_>, why: &dyn Display) {
    let text = format!("the run was not saved: {why}");
    if !sink.json() {
        say(format!("tollgate: {text}"));
    }
    run.warnings.push(Warning::new(warning::NOT_SAVED, text));
}
