//! `tollgate compare`: two runs, or two sets of runs, against each other.

use crate::args::{Output, StoreArgs, Usage};
use crate::output::{self, Sink, say};
use anyhow::anyhow;
use std::path::Path;
use std::process::ExitCode;
use tollgate_judge::{MARGIN, Options};
use tollgate_progress::Progress;
use tollgate_record::number::count;
use tollgate_record::parse::share;
use tollgate_record::text::printable;
use tollgate_record::{Run, Store, store};

/// The options of `tollgate compare`.
#[derive(clap::Args)]
#[command(
    after_help = "A run is an id, the beginning of one, 'latest', or the path of a record; a directory stands \
                        for all runs in it.\n\nExit status: 0 compared; 1 a probe is slower by more than \
                        --fail-above, even at the lower end of its interval; 2 the command line or a record is \
                        wrong.\n\nExamples:\n  tollgate compare 01M7WS4P latest --fail-above 5%\n  \
                        tollgate compare before/ --with after/ --explain\n  \
                        tollgate compare base.json new.json --markdown"
)]
pub(crate) struct Args {
    /// The old run (A), then the new run (B); with --with, all of them are old
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// The new runs (B), if either side has several runs
    #[arg(long, value_name = "RUN", num_args = 1..)]
    with: Vec<String>,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreArgs,
}

/// The options for the verdicts of a comparison and their output.
#[derive(clap::Args)]
pub(crate) struct Judging {
    /// Fail if a probe is certainly slower by more than this: 5% or 0.05
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    fail_above: Option<f64>,
    /// Say which phases and counts carry every change, and which facts of the host differ
    #[arg(long)]
    explain: bool,
    /// Compare nanoseconds even on one host, so that another core frequency counts as a change
    #[arg(long)]
    by_time: bool,
}

impl Judging {
    /// Whether any of the options was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            (self.fail_above.is_some(), "--fail-above"),
            (self.explain, "--explain"),
            (self.by_time, "--by-time"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// Compares, prints, and gives the exit status.
    ///
    /// # Errors
    /// Runs that cannot be compared, and output that cannot be written.
    pub(crate) fn show(
        &self,
        [a, b]: [&[Run]; 2],
        names: [String; 2],
        sink: &Sink,
    ) -> anyhow::Result<ExitCode> {
        let options = Options {
            names,
            margin: self.fail_above.unwrap_or(MARGIN),
            fail_above: self.fail_above,
            by_time: self.by_time,
        };
        if let ([a], [b]) = (a, b)
            && let Some(found) = tollgate_judge::guest(a, b)
        {
            sink.deliver_either(&found, |style| tollgate_report::guest_comparison(&found, style))?;
            return Ok(match self.fail_above.is_some_and(|share| found.exceeds(share)) {
                true => {
                    say("tollgate: the program costs more than --fail-above allows");
                    ExitCode::FAILURE
                }
                false => ExitCode::SUCCESS,
            });
        }
        let found = tollgate_judge::compare(a, b, &options).map_err(Usage::error)?;
        sink.deliver_either(&found, |style| tollgate_report::comparison(&found, self.explain, style))?;
        if found.exceeded.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let names: Vec<_> = found.exceeded.iter().map(|name| printable(name)).collect();
        say(format!("tollgate: slower than --fail-above allows, for sure: {}", names.join(", ")));
        Ok(ExitCode::FAILURE)
    }
}

pub(crate) fn compare(args: &Args) -> anyhow::Result<ExitCode> {
    let (a, b) = match (args.runs.as_slice(), args.with.as_slice()) {
        (all, with @ [_, ..]) => (all, with),
        ([a, b], []) => (std::slice::from_ref(a), std::slice::from_ref(b)),
        ([only], []) => {
            let store = output::store(&args.store).ok().flatten();
            let other = store.and_then(|store| companion(only, &store)).map_or_else(
                || "; no other saved run has a probe of it, so measure again".to_owned(),
                |[old, new]| format!(", as in: tollgate compare {old} {new}"),
            );
            return Err(Usage::error(format!("'{only}' is compared with nothing: give a second run{other}")));
        }
        _ => {
            return Err(Usage::error(
                "more than two runs: say which are which, as in: tollgate compare OLD1 OLD2 --with NEW1 NEW2",
            ));
        }
    };
    let sink = Sink::open(&args.output)?;
    let store = output::store(&args.store)?;
    let names = [a, b].map(|names| names.join(" "));
    let (a, b) = (load_all(a, store.as_ref())?, load_all(b, store.as_ref())?);
    args.judging.show([&a, &b], names, &sink)
}

/// The newest saved runs that are looked at for one to compare with.
const LOOKED_AT: usize = 50;

/// This run and the newest other one of the store that has a probe of it, older run first.
fn companion(only: &str, store: &Store) -> Option<[String; 2]> {
    let run = store.load(only).ok()?;
    let others = store.paths().ok()?.into_iter().rev().take(LOOKED_AT);
    let other = tollgate_judge::comparable(&run, others.filter_map(|path| store::read(&path).ok()))?;
    let name = |run: &Run| printable(&run.id).into_owned();
    match other.started <= run.started {
        true => Some([name(&other), only.to_owned()]),
        false => Some([only.to_owned(), name(&other)]),
    }
}

/// The runs of all these names, each once.
fn load_all(names: &[String], store: Option<&Store>) -> anyhow::Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for name in names {
        for run in load(name, store)? {
            if runs.iter().all(|there| there.id != run.id) {
                runs.push(run);
            }
        }
    }
    Ok(runs)
}

pub(crate) fn load(name: &str, store: Option<&Store>) -> anyhow::Result<Vec<Run>> {
    let path = Path::new(name);
    if path.is_dir() {
        let (runs, unreadable) = load_directory(path)?;
        // Without it the set would be another.
        return unreadable.into_iter().next().map_or(Ok(runs), |error| Err(Usage::error(error)));
    }
    let nowhere = || anyhow!("there is no home directory to look in; name one with --store DIR");
    let run = match store {
        Some(store) => store.load(name),
        None if path.is_file() => store::read(path),
        None => return Err(nowhere()),
    };
    Ok(vec![run.map_err(Usage::error)?])
}

/// Every run of a directory, and why others cannot be read.
pub(crate) fn load_directory(path: &Path) -> anyhow::Result<(Vec<Run>, Vec<String>)> {
    if !path.is_dir() {
        return Err(Usage::error(format!("there is no directory {}", path.display())));
    }
    let directory = Store::open(path.to_owned()).map_err(Usage::error)?;
    let paths = directory.paths().map_err(Usage::error)?;
    if paths.is_empty() {
        return Err(Usage::error(format!(
            "there is no run in {}; a run is a file that ends in .json",
            path.display()
        )));
    }
    let progress = Progress::new();
    let (mut runs, mut unreadable) = (Vec::with_capacity(paths.len()), Vec::new());
    for (place, path) in paths.iter().enumerate() {
        let what = format!("reading run {} of {}", count(place + 1), count(paths.len()));
        progress.show(place as f64 / paths.len() as f64, what);
        // A comparison reads a small part of a record: without the rest, a thousand runs fit into memory.
        match store::read(path) {
            Ok(run) => runs.push(tollgate_judge::essentials(run)),
            Err(error) => unreadable.push(error.to_string()),
        }
    }
    runs.sort_by(|a, b| (&a.started, &a.id).cmp(&(&b.started, &b.id)));
    Ok((runs, unreadable))
}
