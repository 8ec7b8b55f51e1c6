//! tollgate: measures and explains what it costs to cross an execution boundary.
//!
//! Glue only: parse, plan, measure, save, show.

mod against;
mod args;
mod cli;
mod compare;
mod crossing;
mod doctor;
mod exec;
mod export;
mod fault;
mod fleet;
mod generate;
mod history;
mod import;
mod lab;
mod lat_ctx;
mod list;
mod output;
mod pin;
mod report;
mod ring;
mod riscv;
mod run;
mod sampled;
mod session;
mod show;
mod switch;
mod topics;
mod version;
mod worker;

use clap::FromArgMatches;
use cli::{Cli, Command};
use std::process::ExitCode;
use tollgate_progress::ReaderGone;

/// Stack that the program needs, with a margin.
const STACK: usize = 4 << 20;

/// Names the process that started this one and with which it is to end: a Python that is killed cannot end it.
const PARENT: &str = "TOLLGATE_PARENT";

fn main() -> ExitCode {
    #[cfg(panic = "abort")]
    without_backtraces();
    if let Some(parent) = std::env::var(PARENT).ok().and_then(|text| text.parse().ok()) {
        // SAFETY: there is one thread yet. What this process starts has another parent.
        unsafe { std::env::remove_var(PARENT) };
        if tollgate_supervise::end_with_parent(parent).is_err() {
            return ExitCode::FAILURE;
        }
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is valid for the call to fill.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) } == 0;
    if !known || limit.rlim_cur >= STACK as libc::rlim_t {
        return run_command();
    }
    // `ulimit -s` leaves the main thread too little. Only then, because a second thread changes what a worker measures.
    let mut parent_death: libc::c_int = 0;
    // SAFETY: writes one integer.
    unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut parent_death) };
    let body = move || {
        // The signal is a property of each thread, and a worker looks for it in its own.
        // SAFETY: takes a signal number.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, parent_death) };
        run_command()
    };
    match std::thread::Builder::new().stack_size(STACK).spawn(body) {
        Ok(thread) => {
            // Signals are for the thread that does the work.
            // SAFETY: a set that is filled, and a change of this thread alone.
            unsafe {
                let mut all = std::mem::zeroed();
                libc::sigfillset(&raw mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
            }
            thread.join().unwrap_or(ExitCode::FAILURE)
        }
        Err(error) => {
            output::say(format!(
                "tollgate: cannot start a thread with a stack of {} MiB: {error}; raise the limit: ulimit -s 8192",
                STACK >> 20
            ));
            ExitCode::FAILURE
        }
    }
}

/// Keeps backtraces out of errors, which have one if the environment asks for it. A program that aborts on panic is without tables for
/// unwinding (`packaging/no-unwind.ld`), and the unwinder aborts where it finds none.
#[cfg(panic = "abort")]
fn without_backtraces() {
    const SWITCH: &str = "RUST_LIB_BACKTRACE";
    let asked = std::env::var_os(SWITCH);
    // SAFETY: there is one thread yet.
    unsafe { std::env::set_var(SWITCH, "0") };
    // The first one reads the environment for all that follow.
    let _ = std::backtrace::Backtrace::capture();
    // Child processes get the environment unchanged.
    // SAFETY: as above.
    match asked {
        Some(value) => unsafe { std::env::set_var(SWITCH, value) },
        None => unsafe { std::env::remove_var(SWITCH) },
    }
}

/// Parses the command line and executes it. Never a part of `main`, whose frame must fit into any stack.
#[inline(never)]
fn run_command() -> ExitCode {
    if let Some(page) = topics::asked(std::env::args_os()) {
        return ended(topics::print(page));
    }
    let matches = cli::command().try_get_matches_from(lat_ctx::called_as(std::env::args_os()));
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.unwrap_or_else(|error| {
        if let Some(sentence) = cli::renamed(&error) {
            output::say(format!("tollgate: {sentence}"));
            std::process::exit(2);
        }
        let error = cli::improved(error);
        output::print_usage(&error);
        std::process::exit(exec::usage_status(error.exit_code()));
    });
    // A limit on the size of files (`ulimit -f`) is then an error with a message, here and in child processes.
    // SAFETY: a signal is ignored; there is no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let done = match cli.command {
        None if cli.version => version::print(cli.verbose),
        None => run::run(&cli.ladder, &[]),
        Some(Command::Run(args)) => measure(&args),
        Some(Command::Ring(args)) => ring::ring(&args),
        Some(Command::LatCtx(args)) => lat_ctx::lat_ctx(&args),
        Some(Command::Fault(args)) => fault::fault(args),
        Some(Command::Switch(args)) => switch::switch(&args),
        Some(Command::Exec(args)) => Ok(exec::exec(&args)),
        Some(Command::Crossing(args)) => crossing::crossing(&args),
        Some(Command::List(args)) => list::list(&args),
        Some(Command::Doctor(args)) => doctor::doctor(&args),
        Some(Command::Show(args)) => show::show(&args),
        Some(Command::Report(args)) => report::report(&args),
        Some(Command::History(args)) => history::history(&args),
        Some(Command::Fleet(args)) => fleet::fleet(&args),
        Some(Command::Protocol) => against::protocol(),
        Some(Command::Compare(args)) => compare::compare(&args),
        Some(Command::Examples) => generate::examples(cli::command()),
        Some(Command::Export(args)) => export::export(&args),
        Some(Command::Import(args)) => import::import(&args),
        Some(Command::Generate(args)) => generate::generate(args, cli::command()),
        Some(Command::Riscv(args)) => riscv::run(args),
        Some(Command::Lab(args)) => lab::run(&args),
        Some(Command::Worker(args)) => worker::worker(&args),
    };
    ended(done)
}

/// The exit status of a command, whose error is printed.
fn ended(done: anyhow::Result<ExitCode>) -> ExitCode {
    match done {
        Ok(code) => code,
        // Everything that needs it was dropped: children have ended.
        Err(error) if error.is::<ReaderGone>() => ReaderGone::end_process(),
        Err(error) => {
            output::say(format!("tollgate: {}", tollgate_record::text::sentence(error.as_ref())));
            if error.is::<args::Usage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

/// One run, or two that take turns.
fn measure(args: &run::Args) -> anyhow::Result<ExitCode> {
    match args.judging.given().or(args.baseline.until.map(|_| "--until")) {
        _ if args.baseline.is_asked() => against::run(args),
        Some(option) => Err(args::Usage::error(format!(
            "{option} is for a comparison: add --against PROGRAM or --against-with COMMAND"
        ))),
        None => run::run(&args.sampling, &args.patterns),
    }
}
