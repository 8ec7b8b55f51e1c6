//! `tollgate run`: plan, measure, save, show.

use crate::args::{Sampling, Usage};
use crate::compare::Judging;
use crate::list;
use crate::sampled::Sampled;
use crate::switch;
use crate::worker::List;
use std::path::PathBuf;
use std::process::ExitCode;
use tollgate_boundary::{select, select_among};
use tollgate_record::parse::share;
use tollgate_runtime::session::Chosen;
use tollgate_runtime::table::BORDERS;
use tollgate_runtime::{Sources, choice};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tollgate run 'thread/*'\n  tollgate run syscall fault/anonymous --quick\n  \
                  tollgate run syscall --against ./tollgate-before --fail-above 5%\n  \
                  tollgate run call --against-with 'setarch -R' --explain\n  \
                  tollgate run thread --against ./tollgate-before --until 3%"
)]
pub(crate) struct Args {
    /// Probes by name ('thread/futex'), family ('thread') or pattern ('*/pipe'); the ladder when none is given
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    #[command(flatten)]
    pub(crate) baseline: Baseline,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    pub(crate) sampling: Sampling,
}

/// The other side of a comparison.
#[derive(clap::Args)]
pub(crate) struct Baseline {
    /// Measure with this tollgate as well, batch by batch, and compare
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) against: Option<PathBuf>,
    /// Measure with workers that this command starts as well, and compare
    #[arg(long, value_name = "COMMAND")]
    pub(crate) against_with: Option<String>,
    /// Measure until each change is above, below or within this: 3% or 0.03
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub(crate) until: Option<f64>,
}

impl Baseline {
    /// Whether there is one.
    pub(crate) fn is_asked(&self) -> bool {
        self.against.is_some() || self.against_with.is_some()
    }
}

pub(crate) fn run(args: &Sampling, patterns: &[String]) -> anyhow::Result<ExitCode> {
    if let Some(borders) = borders(patterns)? {
        return switch::borders(args, &borders);
    }
    let wanted = select(patterns).map_err(|error| match list::measured_by(&error.pattern) {
        Some(command) => {
            Usage::error(format!("'{}' is measured by another command: {command}", error.pattern))
        }
        None => Usage::error(error),
    })?;
    let (mut session, sampled) = Sampled::open(args, List::Ladder, wanted)?;
    sampled.measure(&mut session, &mut |_, _| {})?;
    session.finish()
}

/// The borders between languages that the patterns name, if there is one.
pub(crate) fn borders(patterns: &[String]) -> anyhow::Result<Option<Vec<Chosen>>> {
    let is_border = |pattern: &String| pattern.split('/').next() == Some(BORDERS);
    if !patterns.iter().any(is_border) {
        return Ok(None);
    }
    if let Some(other) = patterns.iter().find(|pattern| !is_border(pattern)) {
        let why = format!("'{other}' and {BORDERS} cannot be measured in one run: use a command for each");
        return Err(Usage::error(why));
    }
    let all = choice::borders(&Sources::Embedded).map_err(Usage::error)?;
    let ids: Vec<String> = all.iter().map(|(runtime, mechanism, _)| runtime.row(mechanism)).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let places = select_among(&ids, patterns).map_err(Usage::error)?;
    Ok(Some(places.into_iter().map(|at| all[at].clone()).collect()))
}
