//! `tollgate exec`: the arguments, and the way from the room's counts to the screen.

use crate::args::{Destination, Usage};
use crate::output;
use crate::session::Session;
use anyhow::{Context, bail};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tollgate_lab::plan::one_of;
use tollgate_lab::status;
use tollgate_measure::{host, other};
use tollgate_record::Run;
use tollgate_toll::{Counted, Extras, Limits, Pricing, StartError, Wanted, When, bill, turns};

#[derive(clap::Args)]
#[command(
    after_help = "The bill goes to standard error or to --out FILE; the output of the command is untouched.\n\n\
                  Exit status: that of the command; 124 its time was up (--for); 125 tollgate itself failed; \
                  126 the command cannot be executed; 127 it was not found; 128 + N signal N killed it.\n\n\
                  Examples:\n  tollgate exec git status\n  tollgate exec --for 10s -- ./server\n  tollgate exec --pid 1234 --for 10s\n  \
                  tollgate exec --count ptrace --json --out bill.json -- make\n\n\
                  How to read it: docs/howto/exec.md"
)]
pub(crate) struct Args {
    /// What counts: the best that is permitted here, or one of them
    #[arg(long, value_name = "SOURCE", value_parser = one_of(Wanted::NAMES), default_value = "auto")]
    count: Wanted,
    /// Where the prices are from
    #[arg(long, value_name = "WHEN", value_parser = one_of(When::NAMES))]
    price: Option<When>,
    /// Count a process that runs already, in place of a command (as root; --for or Ctrl-C ends the counting)
    #[arg(long, value_name = "PID", value_parser = tollgate_toll::process_id, conflicts_with_all = ["command", "count"])]
    pid: Option<libc::pid_t>,
    /// End the command after this time: 10s, 500ms, 2m
    #[arg(long = "for", value_name = "TIME", value_parser = Limits::time)]
    time: Option<Duration>,
    /// Run this command, too, in turn with the other, and compare with what it pays (A); quotes as in a shell
    #[arg(long, value_name = "COMMAND", conflicts_with = "pid")]
    against: Option<String>,
    /// The longest time that --against takes; it ends earlier when the difference is known within 1 %
    #[arg(long, value_name = "TIME", value_parser = Limits::time, default_value = "30s", requires = "against")]
    at_most: Duration,
    /// Write the tolls and crossings of each 10 ms to this file, as a Chrome trace that Perfetto draws (BPF only)
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    timeline: Option<PathBuf>,
    /// Show the ten call sites that pay most, with their callers as far as these have frame pointers
    #[arg(long, conflicts_with = "against")]
    stacks: bool,
    #[command(flatten)]
    destination: Destination,
    /// The command and its arguments; options of tollgate come before it
    #[arg(trailing_var_arg = true, required_unless_present = "pid", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The exit status of a wrong command line: commands that have the status of what they run have that of `env`.
pub(crate) fn usage_status(code: i32) -> i32 {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let is_own = words.first().is_some_and(|word| word == "exec") || status::is_of_guest(&words);
    if is_own && code == 2 { 125 } else { code }
}

/// What to type after a wrong command line of `exec`, where clap does not know.
pub(crate) fn tip(error: &clap::Error) -> Option<&'static str> {
    let is_exec = std::env::args_os().nth(1).is_some_and(|word| word == "exec");
    let is_missing = |name: &str| matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::Strings(missing)) if missing.iter().any(|it| it == name));
    match error.kind() {
        ErrorKind::MissingRequiredArgument if is_missing("<COMMAND>...") => {
            Some("the command comes last: tollgate exec git status")
        }
        ErrorKind::UnknownArgument => Some(
            "options of tollgate come before the command, and all after it are its own: tollgate exec --stacks ls -l",
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
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.aside();
    let host = session.run.host.clone();
    let store = output::store(&args.destination.store).ok().flatten();
    let pricing = Pricing::before(args.price, store.as_ref(), &host)?;
    let limits = Limits { time: args.time };
    let extras = Extras { timeline: args.timeline.is_some(), stacks: args.stacks, ..Extras::default() };
    let (counted, command) = match args.pid {
        Some(pid) => (tollgate_toll::join(pid, limits, extras, || ())?, tollgate_toll::command_of(pid)),
        None => (tollgate_toll::run(&args.command, args.count, limits, extras)?, bill::words(&args.command)),
    };
    let prices = pricing.after(&counted.counts, store.as_ref(), &host)?;
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

/// Runs both commands in turns and prints their comparison. The runs are not saved.
fn compared(args: &Args, other: &str) -> anyhow::Result<u8> {
    let other = other::words(other).map_err(|why| Usage::error(format!("--against {why}")))?;
    let other: Vec<OsString> = other.into_iter().map(OsString::from).collect();
    let commands = [&args.command, &other];
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.aside();
    let host = session.run.host.clone();
    let store = output::store(&args.destination.store).ok().flatten();
    let pricing = Pricing::before(args.price, store.as_ref(), &host)?;
    let mut pairs: Vec<[(Run, Counted); 2]> = Vec::new();
    let draw = || usize::from(rand::random::<bool>());
    let limits = Limits { time: args.time };
    let end = turns::run(commands.map(Vec::as_slice), args.count, limits, args.at_most, draw, |pair| {
        pairs.push(pair.map(|counted| (session.twin().run, counted)));
    })?;
    if pairs.is_empty() {
        bail!("interrupted before each command has run once");
    }
    // Both sides pay the same prices.
    let counts = pairs.iter().flatten().filter_map(|(_, counted)| counted.counts.as_ref());
    let prices = pricing.after(counts, store.as_ref(), &host)?;
    let mut runs: [Vec<Run>; 2] = Default::default();
    for pair in pairs {
        let ids = pair.each_ref().map(|(run, _)| run.id.clone());
        for (side, (mut run, counted)) in pair.into_iter().enumerate() {
            let command = bill::words(commands[side]);
            let input = bill::Input { command, attached: false, counted: &counted, prices: prices.as_ref() };
            run.results = vec![bill::elapsed(&counted)];
            run.results.extend(bill::rows(&input));
            (run.complete, run.interleaved_with) = (true, Some(ids[1 - side].clone()));
            runs[side].push(run);
        }
    }
    // A is what was, B is what is.
    let names = [commands[1], commands[0]].map(|words| bill::words(words).join(" "));
    let options = tollgate_judge::Options { names, ..tollgate_judge::Options::default() };
    let found = tollgate_judge::compare(&runs[1], &runs[0], &options)?;
    session.sink().deliver_either(&found, |style| tollgate_report::comparison(&found, false, style))?;
    Ok(end.exit_status())
}
