//! `tollgate exec`: the arguments, and the way from the room's counts to the screen.

use crate::args::{Destination, Usage, one_of};
use crate::output;
use crate::session::Session;
use anyhow::{Context, bail};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tollgate_judge::Options;
use tollgate_lab::status;
use tollgate_measure::{host, other};
use tollgate_progress::Progress;
use tollgate_record::parse;
use tollgate_toll::{Counted, Extras, Limits, Pricing, Signals, StartError, Wanted, When, bill, turns};

#[derive(clap::Args)]
#[command(
    after_help = "The bill goes to standard error or to --out FILE; the output of the command is untouched.\n\n\
                  Exit status: that of the command, with --repeat of the first run that failed; 1 it costs more than \
                  --fail-above allows; 124 its time was up (--for); 125 tollgate itself failed; \
                  126 the command cannot be executed; 127 it was not found; 128 + N signal N killed it.\n\n\
                  Examples:\n  tollgate exec git status\n  tollgate exec --for 10s -- ./server\n  tollgate exec --pid 1234 --for 10s\n  \
                  tollgate exec --repeat 5 -- make\n  tollgate exec --against './old' --fail-above 3% -- ./new\n  \
                  tollgate exec --count ptrace --json --out bill.json -- make\n\n\
                  How to read it: docs/howto/exec.md"
)]
pub(crate) struct Args {
    /// The source of the counts
    #[arg(long, value_name = "SOURCE", value_parser = one_of(Wanted::NAMES), default_value = "auto")]
    count: Wanted,
    /// The source of the prices
    #[arg(long, hide_short_help = true, value_name = "WHEN", value_parser = one_of(When::NAMES))]
    price: Option<When>,
    /// Count a running process instead, as root, until --for or Ctrl-C
    #[arg(long, value_name = "PID", value_parser = tollgate_toll::process_id, conflicts_with_all = ["command", "count"])]
    pid: Option<libc::pid_t>,
    /// End the command after this time: 10s, 500ms, 2m
    #[arg(long = "for", value_name = "TIME", value_parser = Limits::time)]
    time: Option<Duration>,
    /// Run N times and print medians and spread
    ///
    /// With --count ptrace only the first run is traced.
    #[arg(long, value_name = "N", value_parser = |text: &str| parse::count(text, 1..=10_000, "runs", 5), conflicts_with_all = ["pid", "against", "timeline", "stacks"])]
    repeat: Option<u64>,
    /// Run this command as well, in turns, and compare with it (A)
    ///
    /// Quotes are read as in a shell.
    #[arg(long, value_name = "COMMAND", conflicts_with = "pid")]
    against: Option<String>,
    /// The longest time that --against takes
    ///
    /// At least one pair runs; it ends earlier when the interval of the difference is within 1 %.
    #[arg(long, value_name = "TIME", value_parser = Limits::time, default_value = "30s", requires = "against")]
    at_most: Duration,
    /// Exit with 1 if the command certainly costs this much more: 3% or 3
    #[arg(long, value_name = "PERCENT", value_parser = parse::percentage, requires = "against")]
    fail_above: Option<f64>,
    /// Write a Chrome trace of each 10 ms to this file (BPF only)
    ///
    /// It contains tolls and crossings; Perfetto draws it.
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    timeline: Option<PathBuf>,
    /// Show the ten call sites that pay most, with their callers
    ///
    /// Callers are found as far as they have frame pointers.
    #[arg(long, conflicts_with = "against")]
    stacks: bool,
    /// The command and its arguments, after the options
    #[arg(trailing_var_arg = true, required_unless_present = "pid", value_name = "COMMAND")]
    command: Vec<OsString>,
    #[command(flatten)]
    destination: Destination,
}

/// The exit status of a wrong command line: commands that have the status of what they run have that of `env`.
pub(crate) fn usage_status(code: i32) -> i32 {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let is_own = words.first().is_some_and(|word| word == "exec") || status::is_of_guest(&words);
    if is_own && code == 2 { 125 } else { code }
}

/// A correct command line after a wrong one of `exec`, if clap has no suggestion.
pub(crate) fn tip(error: &clap::Error) -> Option<&'static str> {
    let is_exec = std::env::args_os().nth(1).is_some_and(|word| word == "exec");
    let is_missing = |name: &str| matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::Strings(missing)) if missing.iter().any(|it| it == name));
    match error.kind() {
        ErrorKind::MissingRequiredArgument if is_missing("<COMMAND>...") => {
            Some("the command comes last: tollgate exec git status")
        }
        ErrorKind::UnknownArgument => Some(
            "options of tollgate come before the command; all others belong to it: tollgate exec --stacks ls -l",
        ),
        _ => None,
    }
    .filter(|_| is_exec)
}

pub(crate) fn exec(args: &Args) -> ExitCode {
    match bill_of(args) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            output::say(format!("tollgate: {}", tollgate_record::text::sentence(error.as_ref())));
            ExitCode::from(error.downcast_ref().map_or(125, StartError::exit_status))
        }
    }
}

fn bill_of(args: &Args) -> anyhow::Result<u8> {
    if let Some(other) = &args.against {
        return compared(args, other);
    }
    let signals = Signals::hold()?;
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.aside();
    let host = session.run.host.clone();
    let store = output::store(&args.destination.store).ok().flatten();
    let pricing = Pricing::before(args.price, store.as_ref(), &host)?;
    let limits = Limits { time: args.time };
    let extras = Extras { timeline: args.timeline.is_some(), stacks: args.stacks, ..Extras::default() };
    let (counted, command) = match args.pid {
        Some(pid) => (tollgate_toll::join(pid, limits, extras, || ())?, tollgate_toll::command_of(pid)),
        None => (runs(args, limits, extras, &session.progress)?, bill::words(&args.command)),
    };
    let (prices, unpriced) =
        pricing.finally(&counted.counts, store.as_ref(), &host, signals.was_interrupted());
    session.run.warnings.extend(unpriced);
    if let (Some(path), Some(timeline)) = (&args.timeline, &counted.timeline) {
        let believed = prices.as_ref().map(|prices| counted.believed(prices));
        std::fs::write(path, timeline.chrome_trace(&command, believed.as_ref()))
            .with_context(|| format!("cannot write '{}'", path.display()))?;
    }
    session.run.results = bill::rows(&bill::Input {
        command,
        attached: args.pid.is_some(),
        counted: &counted,
        prices: prices.as_ref(),
    });
    session.run.complete = true;
    let status = counted.account.end.exit_status();
    session.finish()?;
    Ok(status)
}

/// Runs the command once, or as often as `--repeat` says.
fn runs(args: &Args, limits: Limits, extras: Extras, progress: &Progress) -> Result<Counted, StartError> {
    let Some(times) = args.repeat.filter(|times| *times > 1).map(|times| times as usize) else {
        return tollgate_toll::run(&args.command, args.count, limits, extras);
    };
    let counted = tollgate_toll::repeat(&args.command, args.count, limits, times, |done| {
        progress.show(done as f64 / times as f64, format!("run {} of {times}", done + 1));
    });
    progress.clear();
    counted
}

/// The rows of a program as a whole, which alone are compared with `--fail-above`: a program that opens two files in place of one does
/// not cost twice as much.
const WHOLE: [&str; 2] = ["exec/elapsed", "exec/total"];

/// Runs both commands in turns and prints their comparison: A is the command of `--against`, B the one after `--`. The runs are not
/// saved.
fn compared(args: &Args, other: &str) -> anyhow::Result<u8> {
    let started = Instant::now();
    let signals = Signals::hold()?;
    let other = other::words(other).map_err(|why| Usage::error(format!("--against {why}")))?;
    let other: Vec<OsString> = other.into_iter().map(OsString::from).collect();
    let commands = [&other, &args.command];
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.aside();
    let host = session.run.host.clone();
    let store = output::store(&args.destination.store).ok().flatten();
    session.progress.expect(args.at_most);
    let pricing = Pricing::before(args.price, store.as_ref(), &host)?;
    // Afterwards the prices are measured again, and those of what only some programs cross.
    let pairs_until = args.at_most.saturating_sub(2 * started.elapsed());
    let limits = Limits { time: args.time };
    let mut pairs = turns::Pairs {
        started,
        at_most: args.at_most,
        draw: || usize::from(rand::random::<bool>()),
        begin: || session.twin().run,
        show: |share, doing| session.progress.show(share, doing),
        kept: Vec::new(),
    };
    let commands = commands.map(Vec::as_slice);
    let end = turns::run(commands, args.count, limits, pairs_until, &mut pairs)?;
    session.progress.clear();
    let number = pairs.kept.len();
    if number == 0 {
        bail!("interrupted before each command has run once");
    }
    // Both sides pay the same prices.
    let counts: Vec<_> = pairs.kept.iter().flatten().filter_map(|(_, it)| it.counts.as_ref()).collect();
    let is_over = signals.was_interrupted() || started.elapsed() > args.at_most;
    let (prices, unpriced) = pricing.finally(counts, store.as_ref(), &host, is_over);
    let runs = pairs.records(commands, prices.as_ref());
    let names = commands.map(|words| bill::words(words).join(" "));
    let options = Options { names, fail_above: args.fail_above, ..Options::default() };
    let mut found = tollgate_judge::compare(&runs[0], &runs[1], &options)?;
    found.exceeded.retain(|name| name.split(':').next().is_some_and(|row| WHOLE.contains(&row)));
    session.sink().deliver_either(&found, |style| tollgate_report::comparison(&found, false, style))?;
    if let Some(warning) = unpriced {
        output::say(format!("tollgate: {}", warning.text));
    }
    if number < turns::FEWEST {
        let (pairs, least) = (if number == 1 { "pair" } else { "pairs" }, turns::FEWEST);
        output::say(format!(
            "tollgate: {number} {pairs} of runs, too few for a verdict on times, which takes {least} or more: give a longer --at-most"
        ));
    }
    let status = end.exit_status();
    if status == 0 && !found.exceeded.is_empty() {
        output::say(format!(
            "tollgate: costs more than --fail-above allows, for sure: {}",
            found.exceeded.join(", ")
        ));
        return Ok(1);
    }
    Ok(status)
}
