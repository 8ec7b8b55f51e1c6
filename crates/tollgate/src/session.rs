//! The session that every command with a run uses: it opens the output and the store, keeps the record while it
//! grows, and at the end saves it, prints it and gives the exit status. What is left to a command is its arguments,
//! its plan and the measuring; [`crate::ring`] shows the whole way. From each `push` on, a SIGKILL does not lose the row.
//!
//! A command whose rows grow together (the ladder) rewrites `session.run` and calls [`Session::save`] from time to
//! time; [`crate::sampled`] does that for every list of probes.
//!
//! The store is opened before anything is measured. If `--store` names one that cannot be used, nothing is measured
//! (exit status 2). If the usual one cannot be used, the run is printed and standard error says why it is not saved.
//! If saving fails later, the run is printed and the exit status is 1. After a signal what was measured is printed and
//! saved as incomplete, and the exit status is 128 and the signal's number.

use crate::args::{Destination, Usage};
use crate::output::{self, Sink, say};
use anyhow::anyhow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;
use tollgate_measure::host;
use tollgate_progress::Progress;
use tollgate_record::{Host, Measurement, Run, Status, Store, Tool, Warning, store, text, warning};
use tollgate_supervise::Stop;

/// A command's run, from the first check to the exit status.
pub(crate) struct Session {
    /// The record. A command writes its results, its warnings and what it learned of the host.
    pub(crate) run: Run,
    /// Saves states of the record that are not yet in `run`.
    pub(crate) keeper: Keeper,
    sink: Sink,
    /// Failures without a row.
    failures: Vec<String>,
    /// Print nothing on standard error at the end, because scripts read it.
    pub(crate) quiet: bool,
    pub(crate) progress: Progress,
    stop: Arc<Stop>,
}

impl Session {
    /// Checks where the run is to be printed and saved, and begins its record.
    ///
    /// # Errors
    /// A file of `--out` or a directory of `--store` that cannot be written: a usage error.
    pub(crate) fn open(destination: &Destination, host: Host, seed: u64) -> anyhow::Result<Self> {
        let sink = Sink::open(&destination.output)?.with(destination.detail);
        let stop = Stop::announced();
        let keeper = Keeper::open(destination, &stop)?;
        let run = new_record(host, seed);
        let (failures, progress) = (Vec::new(), Progress::new());
        Ok(Self { run, keeper, sink, failures, quiet: false, progress, stop })
    }

    /// The session of a guest that is profiled; others have none.
    pub(crate) fn of_profile(is_profile: bool, destination: &Destination) -> anyhow::Result<Option<Self>> {
        let why = "--json, --out, --store and --no-save belong to a profile: add --profile or --core";
        match is_profile {
            true => Self::open(destination, host::here(), 0).map(Some),
            false if destination.is_given() => Err(Usage::error(why)),
            false => Ok(None),
        }
    }

    /// From here on the result goes to standard error, because standard output belongs to the program that is run.
    pub(crate) fn aside(&mut self) {
        self.sink.aside();
    }

    /// The destination of the result.
    pub(crate) fn sink(&self) -> &Sink {
        &self.sink
    }

    /// A second run, measured in turns with this one: same host, seed, destination and signals.
    pub(crate) fn twin(&self) -> Self {
        Self {
            run: new_record(self.run.host.clone(), self.run.seed),
            keeper: self.keeper.clone(),
            sink: self.sink.clone(),
            failures: Vec::new(),
            quiet: false,
            progress: Progress::hidden(),
            stop: Arc::clone(&self.stop),
        }
    }

    /// From here on SIGINT, SIGTERM and SIGHUP set the flag that is returned; a second one ends the program at once.
    pub(crate) fn stop_on_signal(&self) -> anyhow::Result<Arc<AtomicBool>> {
        self.stop.register()?;
        Ok(self.stop.flag())
    }

    /// Adds a finished row and saves.
    pub(crate) fn push(&mut self, result: Measurement) {
        self.run.results.push(result);
        self.save();
    }

    /// Saves the record in its present state.
    pub(crate) fn save(&mut self) {
        self.keeper.save(&self.run);
    }

    /// Notes a failure that no row shows: exit status 1.
    pub(crate) fn fail(&mut self, why: impl Into<String>) {
        self.failures.push(why.into());
    }

    /// Saves and prints the run, and gives the exit status.
    ///
    /// # Errors
    /// Output that cannot be written.
    pub(crate) fn finish(self) -> anyhow::Result<ExitCode> {
        self.finish_with(|run, sink| sink.deliver_run(run))
    }

    /// [`Session::finish`] for a command that a signal may have stopped: the run is then incomplete, and the status its own.
    pub(crate) fn finish_unless(mut self, stop: &Stop) -> anyhow::Result<ExitCode> {
        self.run.complete = !stop.is_set();
        let status = self.finish()?;
        Ok(if stop.is_set() { ExitCode::from(stop.status(0)) } else { status })
    }

    /// [`Session::finish`] for a command that prints something other than the view of its run.
    pub(crate) fn finish_with(
        mut self,
        deliver: impl FnOnce(&Run, &Sink) -> anyhow::Result<ExitCode>,
    ) -> anyhow::Result<ExitCode> {
        // A record keeps no figure that is not finite, and what is printed is what the record has.
        self.run = self.run.without_non_finite().into_owned();
        self.save();
        if let Some(why) = self.keeper.unsaved.as_ref().filter(|_| self.sink.json()) {
            self.run.warnings.push(Warning::new(warning::NOT_SAVED, format!("the run was not saved: {why}")));
        }
        self.progress.clear();
        let delivered = deliver(&self.run, &self.sink);
        // The path of the saved run is most useful when the run could not be printed.
        if !self.quiet {
            self.conclude().into_iter().for_each(say);
        }
        // The results until a signal are printed and saved; the status says that the run is incomplete.
        if delivered.is_ok() && !self.run.complete && self.stop.is_set() {
            return Ok(ExitCode::from(self.stop.status(0)));
        }
        let whole = self.run.complete && self.failures.is_empty() && !self.keeper.failed();
        let done = whole && self.failed_rows().next().is_none();
        delivered.map(|delivered| if done { delivered } else { ExitCode::FAILURE })
    }

    /// The lines after the result: what failed, and where the run is.
    fn conclude(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for result in self.failed_rows() {
            let reason = result.reason.as_deref().unwrap_or("no reason given");
            lines.push(format!("tollgate: {} failed: {reason}", result.probe));
        }
        lines.extend(self.failures.iter().map(|failure| format!("tollgate: {failure}")));
        if let Some(lost) = self.run.warnings.iter().find(|warning| warning.code == warning::WORKER_LOST) {
            lines.push(format!("tollgate: {}", lost.text));
        } else if !self.run.complete {
            lines.push("tollgate: interrupted; the table has what was measured until then".into());
        }
        match (&self.keeper.unsaved, self.keeper.command_that_shows(&self.run.id)) {
            (Some(why), _) => lines.push(format!("tollgate: the run was not saved: {why}")),
            (None, Some(command)) if !self.sink.json() => {
                lines.push(format!("saved as {} ({command})", self.run.id));
            }
            _ => {}
        }
        lines
    }

    fn failed_rows(&self) -> impl Iterator<Item = &Measurement> {
        self.run.results.iter().filter(|result| result.status == Status::Failed)
    }
}

/// Keeps the run's file up to date.
#[derive(Clone)]
pub(crate) struct Keeper {
    /// `None` if nothing is to be saved, or if the usual store cannot be used.
    store: Option<Store>,
    /// The option that names the store, for the command that is suggested.
    option: String,
    /// Why the last state is not in the store.
    unsaved: Option<String>,
    stop: Arc<Stop>,
}

impl Keeper {
    fn open(destination: &Destination, stop: &Arc<Stop>) -> anyhow::Result<Self> {
        let named = destination.store.store.as_ref();
        let opened = if destination.no_save { Ok(None) } else { usable_store(destination).map(Some) };
        let (store, unsaved) = match opened {
            Ok(store) => (store, None),
            Err(error) if named.is_some() => return Err(error),
            Err(error) => (None, Some(error.to_string())),
        };
        let option =
            named.map(|directory| format!(" --store {}", text::quoted(&directory.to_string_lossy())));
        let stop = Arc::clone(stop);
        Ok(Self { store, option: option.unwrap_or_default(), unsaved, stop })
    }

    /// Saves this state. A failure does not stop the measuring: the disk may have room later.
    pub(crate) fn save(&mut self, run: &Run) {
        let Some(store) = &self.store else { return };
        self.unsaved = store.save(run).err().map(|error| error.to_string());
        if self.unsaved.is_none() && self.stop.saved.get().is_none() {
            let command = self.command_that_shows(&run.id).unwrap_or_default();
            self.stop.saved.get_or_init(|| command);
        }
    }

    /// Whether a store that could be used at the start failed later.
    fn failed(&self) -> bool {
        self.store.is_some() && self.unsaved.is_some()
    }

    /// The command that shows a saved run.
    fn command_that_shows(&self, id: &str) -> Option<String> {
        Some(format!("tollgate show {}{}", self.store.as_ref()?.shortest_prefix(id), self.option))
    }
}

/// A record without results, of a run that begins now.
fn new_record(host: Host, seed: u64) -> Run {
    let now = SystemTime::now();
    let command = std::env::args().skip(1).collect();
    Run::begin(store::new_id(now), store::rfc3339(now), tool(), command, host, seed)
}

/// This program.
pub(crate) fn tool() -> Tool {
    Tool { version: env!("CARGO_PKG_VERSION").into(), commit: env!("TOLLGATE_COMMIT").into() }
}

/// The store that was named, or the usual one, if it can be written.
fn usable_store(destination: &Destination) -> anyhow::Result<Store> {
    let store = output::store(&destination.store)?.ok_or_else(|| {
        anyhow!("there is no home directory to save in; name a directory with --store DIR, or use --no-save")
    })?;
    store.check_writable().map_err(Usage::error)?;
    Ok(store)
}
