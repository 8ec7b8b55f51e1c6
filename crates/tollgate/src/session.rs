//! The session that every command with a run uses: it opens the output and the store, keeps the record while it
//! grows, and at the end saves it, prints it and gives the exit status. What is left to a command is its arguments,
//! its plan and the measuring:
//!
//! ```ignore
//! let (host, site) = args.sampling.place()?;
//! let cells = cells(args, &host, site)?;
//! let mut session = Session::open(&args.sampling.destination, host, args.sampling.seed())?;
//! let stop = session.stop_on_signal()?;                       // omit it, and a signal ends the program at once
//! for (done, cell) in cells.iter().enumerate() {
//!     session.progress(done as f64 / cells.len() as f64, format!("ring of {}", cell.procs));
//!     let Some(result) = bench.measure(cell, &mut session.run, &stop)? else { break };
//!     session.push(result);                                   // from here on a SIGKILL does not lose it
//! }
//! session.run.complete = session.run.results.len() == cells.len();
//! session.finish()
//! ```
//!
//! A command whose rows grow together (the ladder) rewrites `session.run` and calls [`Session::save`] from time to
//! time; [`crate::sampled`] does that for every list of probes.
//!
//! The store is opened before anything is measured. If `--store` names one that cannot be used, nothing is measured
//! (exit status 2). If the usual one cannot be used, the run is printed and standard error says why it is not saved.
//! If saving fails later, the run is printed and the exit status is 1.

use crate::cli::{Destination, Usage};
use crate::output::{self, Sink, say};
use crate::progress::Progress;
use anyhow::anyhow;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;
use tollgate_record::{Host, Measurement, Run, SCHEMA, Status, Store, Tool, Warning, document, store};

/// A command's run, from the first check to the exit status.
pub(crate) struct Session<'a> {
    /// The record. A command writes its results, its warnings and what it learned of the host.
    pub(crate) run: Run,
    sink: Sink<'a>,
    store: Option<Store>,
    /// The option that names the store again, for the commands that are suggested.
    store_option: String,
    /// Why the record as it stands is not in the store.
    unsaved: Option<String>,
    /// What was asked for and failed, other than rows.
    failures: Vec<String>,
    progress: Progress,
    interrupt: Arc<Interrupt>,
}

impl<'a> Session<'a> {
    /// Checks where the run is to be printed and saved, and begins its record.
    ///
    /// # Errors
    /// A file of `--out` or a directory of `--store` that cannot be written: a usage error.
    pub(crate) fn open(destination: &'a Destination, host: Host, seed: u64) -> anyhow::Result<Self> {
        let sink = Sink::open(&destination.output)?;
        let opened = if destination.no_save { Ok(None) } else { usable_store(destination).map(Some) };
        let (store, unsaved) = match opened {
            Ok(store) => (store, None),
            Err(error) if destination.store.store.is_some() => return Err(error),
            Err(error) => (None, Some(error.to_string())),
        };
        let store_option = match &destination.store.store {
            Some(directory) => format!(" --store {}", quoted(&directory.to_string_lossy())),
            None => String::new(),
        };
        Ok(Self {
            run: new_record(host, seed),
            sink,
            store,
            store_option,
            unsaved,
            failures: Vec::new(),
            progress: Progress::new(),
            interrupt: Arc::default(),
        })
    }

    /// A second run, measured in turns with this one: same host, seed, destination and signals.
    pub(crate) fn twin(&self) -> Self {
        Self {
            run: new_record(self.run.host.clone(), self.run.seed),
            sink: self.sink,
            store: self.store.clone(),
            store_option: self.store_option.clone(),
            unsaved: self.unsaved.clone(),
            failures: Vec::new(),
            progress: Progress::hidden(),
            interrupt: Arc::clone(&self.interrupt),
        }
    }

    /// From here on SIGINT, SIGTERM and SIGHUP set the flag that is returned; a second one ends the program at once.
    pub(crate) fn stop_on_signal(&self) -> anyhow::Result<Arc<AtomicBool>> {
        self.interrupt.register()?;
        Ok(Arc::clone(&self.interrupt.stop))
    }

    /// Shows how far the command is (0 to 1) and what it does, on a terminal only.
    pub(crate) fn progress(&self, share: f64, what: impl Into<String>) {
        self.progress.share(share);
        self.progress.say(what.into());
    }

    /// Adds a finished row and saves.
    pub(crate) fn push(&mut self, result: Measurement) {
        self.run.results.push(result);
        self.save();
    }

    /// Saves the record as it stands. A failure does not stop the measuring: the disk may have room later.
    pub(crate) fn save(&mut self) {
        let Some(store) = &self.store else { return };
        self.unsaved = store.save(&self.run).err().map(|error| error.to_string());
        if self.unsaved.is_none() {
            self.interrupt.saved.get_or_init(|| self.command_that_shows(store));
        }
    }

    /// Notes a failure that no row shows; the exit status is then 1.
    pub(crate) fn fail(&mut self, why: impl Into<String>) {
        self.failures.push(why.into());
    }

    /// Saves and prints the run, and gives the exit status.
    ///
    /// # Errors
    /// Output that cannot be written.
    pub(crate) fn finish(self) -> anyhow::Result<ExitCode> {
        self.finish_with(|run, sink| {
            sink.deliver(&if sink.json() {
                document::to_json(run)?
            } else {
                crate::runs::view(run, &sink.style())
            })?;
            Ok(ExitCode::SUCCESS)
        })
    }

    /// [`Session::finish`] for a command that prints something other than the view of its run.
    pub(crate) fn finish_with(
        mut self,
        deliver: impl FnOnce(&Run, &Sink<'_>) -> anyhow::Result<ExitCode>,
    ) -> anyhow::Result<ExitCode> {
        self.save();
        let json = self.sink.json();
        if let Some(why) = self.unsaved.as_ref().filter(|_| json) {
            self.run.warnings.push(Warning::new("not-saved", format!("the run was not saved: {why}")));
        }
        self.progress.clear();
        let delivered = deliver(&self.run, &self.sink);
        // Where the run was saved is most useful when it could not be printed.
        let failed = self.run.results.iter().filter(|result| result.status == Status::Failed);
        for result in failed.clone() {
            let reason = result.reason.as_deref().unwrap_or("no reason given");
            say(format!("tollgate: {} failed: {reason}", result.probe));
        }
        for failure in &self.failures {
            say(format!("tollgate: {failure}"));
        }
        if let Some(lost) = self.run.warnings.iter().find(|warning| warning.code == "worker-lost") {
            say(format!("tollgate: {}", lost.text));
        } else if !self.run.complete {
            say("tollgate: interrupted; the run has what was measured until then");
        }
        match (&self.unsaved, &self.store) {
            (Some(why), _) => say(format!("tollgate: the run was not saved: {why}")),
            (None, Some(store)) if !json => {
                say(format!("saved as {} ({})", self.run.id, self.command_that_shows(store)));
            }
            _ => {}
        }
        let lost = self.store.is_some() && self.unsaved.is_some();
        let done = failed.count() == 0 && self.failures.is_empty() && self.run.complete && !lost;
        let code = delivered?;
        Ok(if done { code } else { ExitCode::FAILURE })
    }

    /// The command that shows this run.
    fn command_that_shows(&self, store: &Store) -> String {
        format!("tollgate show {}{}", store.shortest_prefix(&self.run.id), self.store_option)
    }
}

/// A record without results, of a run that begins now.
fn new_record(host: Host, seed: u64) -> Run {
    let started = SystemTime::now();
    Run {
        schema: SCHEMA.into(),
        id: store::new_id(started),
        started: store::rfc3339(started),
        seed,
        tool: Tool { version: env!("CARGO_PKG_VERSION").into(), commit: env!("TOLLGATE_COMMIT").into() },
        command: std::env::args().skip(1).collect(),
        complete: false,
        interleaved_with: None,
        host,
        warnings: Vec::new(),
        results: Vec::new(),
    }
}

/// The store that was named, or the usual one, if it can be written.
fn usable_store(destination: &Destination) -> anyhow::Result<Store> {
    let store = output::store(&destination.store)?.ok_or_else(|| {
        anyhow!("there is no home directory to save in; name a directory with --store DIR, or use --no-save")
    })?;
    store.check_writable().map_err(Usage::error)?;
    Ok(store)
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    if word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+:@".contains(&byte)) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What the signal handlers share with the session.
#[derive(Default)]
struct Interrupt {
    stop: Arc<AtomicBool>,
    registered: AtomicBool,
    /// The command that shows the saved run, once there is one.
    saved: OnceLock<String>,
}

impl Interrupt {
    /// Installs the handlers, once.
    fn register(self: &Arc<Self>) -> anyhow::Result<()> {
        if self.registered.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let own = Arc::clone(self);
            // SAFETY: the handler reads atomics and calls write(2) and _exit(2), which a handler may do.
            unsafe { signal_hook::low_level::register(signal, move || own.signal()) }?;
        }
        Ok(())
    }

    /// Runs in a signal handler.
    fn signal(&self) {
        let write = |text: &str| {
            // SAFETY: the text is valid for its length.
            unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        };
        if !self.stop.swap(true, Ordering::Relaxed) {
            return write("tollgate: stopping after the batch in hand; a second signal ends it at once\n");
        }
        match self.saved.get() {
            Some(command) => {
                write("tollgate: ended at once; '");
                write(command);
                write("' prints what was saved\n");
            }
            None => write("tollgate: ended at once; nothing was saved yet\n"),
        }
        signal_hook::low_level::exit(1);
    }
}
