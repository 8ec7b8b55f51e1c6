//! `tollgate lat_ctx`, and this program called by that name: lmbench's command line and lmbench's output.

use crate::args::{Sampling, Usage};
use crate::output::say;
use crate::ring::{rings_worker, room, runner};
use crate::session::Session;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tollgate_boundary::ring::{CellRunner, MeasuredCell, Spec, beside, too_large};
use tollgate_record::parse::{bytes, count};
use tollgate_record::{Run, Status};

#[derive(clap::Args)]
#[command(
    // As in lmbench, the last of an option that comes twice counts.
    args_override_self = true,
    mut_arg("quick", |quick| quick.help("A rougher answer, 0.35 s for each point")),
    after_help = "Prints on standard error the lines of lmbench: an empty line, the size and the overhead (one process \
                  passing the token to itself and adding up its array), then processes and microseconds for a \
                  switch without that overhead. The overhead is measured beside each point; the line shows the \
                  first point's.\n\nExamples:\n  tollgate lat_ctx -s 64 2 4 8 16\n  ln -s tollgate lat_ctx && ./lat_ctx -s 0 2"
)]
pub(crate) struct Args {
    /// Rings that run side by side
    #[arg(short = 'P', value_name = "parallelism", value_parser = |text: &str| count(text, 1..=1_000, "rings side by side", 2), default_value = "1", allow_hyphen_values = true)]
    parallelism: u64,
    /// Microseconds that each ring runs before it is timed
    #[arg(short = 'W', value_name = "warmups", value_parser = |text: &str| count(text, 0..=60_000_000, "microseconds of warm-up", 1_000), default_value = "0", allow_hyphen_values = true)]
    warmup: u64,
    /// Repetitions, each with new processes [default: 6]
    #[arg(short = 'N', value_name = "repetitions", value_parser = |text: &str| count(text, 1..=i32::MAX as u64, "repetitions", 6), allow_hyphen_values = true)]
    repetitions: Option<u64>,
    /// Array of each process in kilobytes (1,024), or with B, K, M, G, kB, MB, GB
    #[arg(short = 's', value_name = "size_in_kbytes", value_parser = |text: &str| bytes(text.trim_start().trim_start_matches('+'), 1024), default_value = "0", allow_hyphen_values = true)]
    size: u64,
    /// Numbers of processes
    #[arg(required = true, value_name = "procs", value_parser = tollgate_boundary::ring::procs, allow_negative_numbers = true)]
    procs: Vec<u32>,
    #[command(flatten)]
    sampling: Sampling,
}

const NAME: &str = "lat_ctx";

/// The arguments, with the command inserted if the program was called by the name `lat_ctx`.
pub(crate) fn called_as(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    let name = args.first().map(Path::new).and_then(Path::file_name);
    // A worker is this program, too, under whatever name.
    if name.is_some_and(|name| name == NAME) && args.get(1).is_none_or(|first| first != "worker") {
        args.splice(..1, ["tollgate".into(), NAME.into()]);
    }
    args
}

/// lmbench's usage line, if the command line is that of `lat_ctx`.
pub(crate) fn usage() -> Option<String> {
    let given: Vec<OsString> = std::env::args_os().collect();
    let called = called_as(given.iter().cloned());
    let name = if called.len() > given.len() { NAME } else { "tollgate lat_ctx" };
    let usage = format!(
        "Usage: {name} [-P <parallelism>] [-W <warmup>] [-N <repetitions>] [-s kbytes] processes [processes ...]"
    );
    (called.get(1)? == NAME).then_some(usage)
}

pub(crate) fn lat_ctx(args: &Args) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    let output = &sampling.destination.output;
    let (facts, site) = sampling.place()?;
    let room = room(&facts);
    let spec = |procs: u32| Spec { warm_us: args.warmup, ..Spec::like_lmbench(procs, args.size, site.cpu) };
    for &procs in &args.procs {
        let all = Spec { procs: procs.saturating_mul(args.parallelism as u32), ..spec(procs) };
        if let Some(why) = room.and_then(|room| too_large(&all, room)) {
            return Err(Usage::error(format!("-s: {why}")));
        }
    }
    let allowed = facts.cpu.allowed.clone();
    let mut session = Session::open(&sampling.destination, facts, sampling.seed())?;
    let stop = session.stop_on_signal()?;
    let start = rings_worker(sampling.clock.source());
    let usual = runner(site, sampling, session.run.seed, &start);
    let runner = CellRunner { epochs: args.repetitions.map_or(usual.epochs, |it| it as u32), ..usual };
    let cpus = beside(site.cpu, &allowed, args.parallelism as u32);
    let mut lines = String::new();
    session.progress.expect(Duration::from_nanos(runner.budget_ns) * args.procs.len() as u32);
    for (done, &procs) in args.procs.iter().enumerate() {
        session.progress.show(done as f64 / args.procs.len() as f64, format!("ring of {procs}"));
        let keep = &mut |unfinished: &Run| session.keeper.save(unfinished);
        let points = runner.measure_side_by_side(&spec(procs), &cpus, &mut session.run, &stop, keep);
        let Some(points) = points else { break };
        let (overhead, switch) = (middle(&points, |it| it.overhead_us), middle(&points, |it| it.switch_us));
        let measured = points.iter().all(|point| point.result.status == Status::Measured);
        for point in &points {
            if let Some(why) = point.result.reason.as_deref() {
                say(format!("lat_ctx: {procs} processes: {why}"));
            }
        }
        session.run.results.extend(points.into_iter().map(|point| point.result));
        session.save();
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if let (true, Some(overhead), Some(switch)) = (measured, overhead, switch) {
            let mut text = String::new();
            if lines.is_empty() {
                // The open quotation mark is lmbench's: scripts for its plots look for it.
                let _ = writeln!(text, "\n\"size={}k ovr={overhead:.2}", args.size / 1024);
            }
            let _ = writeln!(text, "{procs} {switch:.2}");
            lines.push_str(&text);
            if output.out.is_none() && !output.json {
                // A closed standard error is not a failure.
                let write = || std::io::stderr().write_all(text.as_bytes());
                let _ = session.progress.aside(write);
            }
        } else {
            session.fail(format!("{procs} processes gave no figure"));
        }
    }
    let interrupted = stop.load(Ordering::Relaxed);
    session.run.complete = session.run.results.len() == args.procs.len() * cpus.len() && !interrupted;
    if interrupted {
        say("lat_ctx: interrupted; the lines above are complete");
    }
    // Scripts read lmbench's lines from standard error.
    session.quiet = true;
    session.finish_with(|run, sink| match sink.json() {
        true => sink.deliver_run(run),
        false if output.out.is_some() => sink.deliver(&lines),
        false => Ok(ExitCode::SUCCESS),
    })
}

/// The median over rings that ran side by side.
fn middle(points: &[MeasuredCell], of: impl Fn(&MeasuredCell) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = points.iter().map(of).collect();
    values.map(|values| tollgate_measure::stats::median(&values)).filter(|value| value.is_finite())
}

#[cfg(test)]
#[path = "../tests/unit/lat_ctx.rs"]
mod tests;
