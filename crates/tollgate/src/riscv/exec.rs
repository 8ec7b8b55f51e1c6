//! `tollgate riscv exec`: a program inside Linux, or alone, and the bill of both.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tollgate_lab::boot::KernelError;
use tollgate_lab::exec::{
    Alone, Ended, ExecError, ExecJob, Limits, Linux, PassOn, Prepared, Ran, Ready, TreeError, Views, hash,
};
use tollgate_lab::kernel::BillError;
use tollgate_lab::status::EXIT_STATUS;
use tollgate_measure::host;
use tollgate_record::family::ProgramAsked;
use tollgate_record::parse::share;
use tollgate_record::{Found, Measurement, Run, Series, file};
use tollgate_riscv::ConfigError;
use tollgate_supervise::Stop;

use super::boot::{ISA, check_writable, lost, save};
use super::options::{check_budget, core, program, read, trusted, within};
use crate::args::{Destination, NOT_A_PROGRAM, NOT_FOUND, Usage};
use crate::compare::load;
use crate::output::{self, reader_gone, say};
use crate::session::Session;

/// The most standard input.
const MOST_INPUT: u64 = 256 << 20;
/// Debian's root of the cross compiler.
const SYSROOT: &str = "/usr/riscv64-linux-gnu";
/// How often the output of a program inside of Linux is printed.
const OUTPUT_EVERY: Duration = Duration::from_secs(2);
const MOST_SEEDS: u64 = 1_000;

/// `tollgate riscv exec`.
#[derive(Args)]
#[command(
    after_help = format!("A program for riscv64 runs inside of a real Linux; every instruction of it, of its libraries and of the kernel is counted, \
                        and the figures are the same on every host, every time. Standard input is read to its end before (a terminal counts as \
                        empty); the output comes while the program runs, every few seconds, and the bill goes to standard error. The environment is PATH, HOME and \
                        LANG unless --env sets more, so that hosts do not differ. A boot takes some 2 seconds; --save and --from pay it once.\n\n\
                        {EXIT_STATUS}\n\nExamples:\n  \
                        tollgate riscv exec --kernel Image -- ./hello world\n  \
                        tollgate riscv exec --kernel Image --core rocket -- ./hello\n  \
                        tollgate riscv exec --user-only -- ./hello-static\n  \
                        tollgate riscv exec --kernel Image --root debian/ -- /bin/ls /etc\n  \
                        tollgate riscv exec --kernel Image --timeline trace.json -- ./hello\n  \
                        tollgate riscv exec --kernel Image --drmemtrace hello.trace -- ./hello\n  \
                        tollgate riscv exec --kernel Image --save ready.snap -- ./hello\n  \
                        tollgate riscv exec --from ready.snap --against before.json --fail-above 1% -- ./hello")
)]
pub(super) struct ExecArgs {
    /// The kernel: Linux's Image for riscv64
    #[arg(long, value_name = "FILE", required_unless_present_any = ["from", "user_only"])]
    kernel: Option<PathBuf>,
    /// Continue a Linux that --save saved, instead of booting
    #[arg(long, value_name = "SNAPSHOT", conflicts_with_all = ["kernel", "save", "user_only", "seeds", "seed"])]
    from: Option<PathBuf>,
    /// Save the Linux as it is before the program, for --from
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    save: Option<PathBuf>,
    /// Run a static program without a kernel; the host answers its system calls
    #[arg(long, conflicts_with_all = ["kernel", "root", "save"])]
    user_only: bool,
    /// The instruction set, for programs that need more: rv64gcv, rva23u64, ... [default: rv64gc with Zba, Zbb, Zbs, Zicbom,
    /// Zicboz, Sstc, Svinval and Svpbmt]
    #[arg(long, hide_short_help = true, value_name = "ISA", default_value = ISA, hide_default_value = true, conflicts_with = "from")]
    isa: String,
    /// A directory or a tar with the files of the guest, as an unpacked Debian
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Where libraries come from without --root
    #[arg(long, hide_short_help = true, value_name = "DIR", default_value = SYSROOT)]
    sysroot: PathBuf,
    /// A file that the program may read; can be repeated
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    allow: Vec<PathBuf>,
    /// A variable of its environment; can be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Count the cycles of this core, too: a preset, or a file that ends in .toml
    #[arg(long, value_name = "CORE")]
    core: Option<String>,
    /// Compare with a saved run, or with another program that is run in the same way
    #[arg(long, value_name = "OLD", conflicts_with = "seeds")]
    against: Option<String>,
    /// With --against, fail if the program costs more by this share, as 1%
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "against", allow_hyphen_values = true)]
    fail_above: Option<f64>,
    /// Run with N layouts of memory, and print the median and the range
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// Write stages, calls, faults and interrupts as a Chrome trace
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    timeline: Option<PathBuf>,
    /// Write instructions and accesses, the kernel's too, in DynamoRIO's format drmemtrace
    ///
    /// An instruction takes some 30 bytes; the trace ends after 100 million.
    #[arg(long, hide_short_help = true, value_name = "FILE", conflicts_with = "seeds")]
    drmemtrace: Option<PathBuf>,
    /// The seed of all that is random in the guest
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// RAM in MiB
    #[arg(long, hide_short_help = true, default_value_t = 512, value_name = "MIB")]
    memory: u64,
    /// Harts of the guest, which take turns; with --core each is a core of its own
    #[arg(long, hide_short_help = true, default_value_t = 1, value_name = "N", conflicts_with_all = ["from", "user_only"])]
    harts: u64,
    /// The kernel's System.map, if the image contains no symbols
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    symbols: Option<PathBuf>,
    /// Stop the program after N instructions
    #[arg(long, hide_short_help = true, default_value_t = 10_000_000_000, value_name = "N")]
    max_instructions: u64,
    /// Functions that are printed; the record has all
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 20, allow_hyphen_values = true)]
    top: u64,
    #[command(flatten)]
    destination: Destination,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Runs the program, and prints what both cost.
pub(super) fn run(args: &ExecArgs) -> Result<ExitCode> {
    args.check()?;
    let core = args.core.as_deref().map(core).transpose()?;
    let job = ExecJob {
        program: args.command[0].clone(),
        arguments: args.command[1..].to_vec(),
        environment: args.environment()?,
        root: args.root.clone(),
        sysroot: args.sysroot.clone(),
        files: args.allow.clone(),
        input: input()?,
        core,
        max_instructions: args.max_instructions,
        views: Views { timeline: args.timeline.is_some(), drmemtrace: args.drmemtrace.clone() },
    };
    let prepared = Prepared::new(job.clone()).map_err(|error| args.explain(&error))?;
    let mut guest = Guest::new(args)?;
    let other = args.against.as_deref().map(|old| args.other(old, &job)).transpose()?;
    let stop = Stop::on_signal()?;
    let mut session = Session::open(&args.destination, host::here(), args.seed)?;
    session.aside();
    session.progress.wait(if args.user_only { "the program runs" } else { "booting the kernel" });
    let old = other.map(|other| other.record(args, &mut guest, &session, &stop)).transpose()?;
    let failed = RefCell::new(None);
    let (mut ran, mut entry) = {
        let pass_on = |file: usize, text: &[u8]| {
            if failed.borrow().is_none()
                && let Err(error) = session.progress.aside(|| write(file, text))
            {
                failed.replace(Some(error));
            }
        };
        let interrupted = || stop.is_set() || failed.borrow().is_some();
        let pass_on = PassOn { to: &pass_on, every: OUTPUT_EVERY };
        guest.measure(args, &prepared, args.seed, &interrupted, Some(pass_on))?
    };
    if let Some(error) = failed.into_inner() {
        return Err(reader_gone(error));
    }
    args.save_views(&mut ran)?;
    if let Some(seeds) = args.seeds {
        entry.series.extend(args.layouts(&mut guest, &prepared, &entry, seeds, &mut session, &stop)?);
    }
    session.progress.clear();
    write(0, &ran.output).map_err(reader_gone)?;
    write(1, &ran.errors).ok();
    session.run.results.push(entry);
    session.run.complete = !stop.is_set();
    explain_end(&ran);
    let status = ran.ended.exit_status();
    let Some(old) = old else {
        let done = session.finish()?;
        return Ok(if status == 0 { done } else { ExitCode::from(stop.status(status)) });
    };
    let mut exceeded = false;
    let limit = args.fail_above;
    session.finish_with(|run, sink| {
        let Some(found) = tollgate_judge::guest(&old, run) else {
            return Err(Usage::error("--against: the saved run is not one of 'tollgate riscv exec'"));
        };
        exceeded = limit.is_some_and(|limit| found.exceeds(limit));
        sink.deliver_either(&found, |style| tollgate_report::guest_comparison(&found, style))
    })?;
    if status == 0 && exceeded {
        say("tollgate: the program costs more than --fail-above allows");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::from(stop.status(status)))
}

/// Writes what the program wrote; standard error may be closed.
fn write(file: usize, text: &[u8]) -> io::Result<()> {
    if file == 0 {
        let mut stdout = io::stdout().lock();
        return stdout.write_all(text).and_then(|()| stdout.flush());
    }
    io::stderr().write_all(text).ok();
    Ok(())
}

/// Says why a program did not end well.
fn explain_end(ran: &Ran) {
    match ran.ended {
        Ended::Exited(_) => {}
        ended => say(format!("tollgate: the program: {}", ended.sentence())),
    }
    if let Some(missing) = ran.missing() {
        say(format!("tollgate: the program: {missing}"));
    }
    if !ran.console.is_empty() {
        say(format!("tollgate: the guest's last lines:\n{}", ran.console));
    }
}

/// Standard input to its end; of a terminal nothing.
fn input() -> Result<Vec<u8>, Usage> {
    let (stdin, mut bytes) = (io::stdin(), Vec::new());
    if !stdin.is_terminal() {
        let read = stdin.lock().take(MOST_INPUT + 1).read_to_end(&mut bytes);
        // A closed one is empty.
        read.ok();
    }
    if bytes.len() as u64 > MOST_INPUT {
        return Err(Usage::new(
            "standard input has more than 256 MiB, and the guest holds it in memory; give it less",
        ));
    }
    Ok(bytes)
}

/// What the program is compared with.
enum Other {
    Saved(Box<Run>),
    Program(Box<Prepared>),
}

impl Other {
    fn record(self, args: &ExecArgs, guest: &mut Guest, session: &Session, stop: &Stop) -> Result<Run> {
        match self {
            Self::Saved(run) => Ok(*run),
            Self::Program(prepared) => {
                let (_, entry) = guest.measure(args, &prepared, args.seed, &|| stop.is_set(), None)?;
                let mut run = session.twin().run;
                run.results.push(entry);
                Ok(run)
            }
        }
    }
}

/// The Linux of the runs: its file, which is booted for each run, or continued.
struct Guest {
    image: Option<Vec<u8>>,
    snapshot: Option<Vec<u8>>,
    map: Option<String>,
    /// Their SHA-256.
    hash: Option<(&'static str, String)>,
}

impl Guest {
    fn new(args: &ExecArgs) -> Result<Self, Usage> {
        // The program is not to blame for a kernel that cannot be read.
        let image = args.kernel.as_deref().map(program).transpose().map_err(Usage::of_tollgate)?;
        let snapshot = args.from.as_deref().map(trusted).transpose()?;
        let map = args.symbols.as_deref().map(read).transpose()?;
        let hashed = image.as_ref().map(|it| ("kernel", it)).or(snapshot.as_ref().map(|it| ("snapshot", it)));
        Ok(Self {
            hash: hashed.map(|(name, bytes)| (name, hash(bytes))),
            map: map.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            image,
            snapshot,
        })
    }

    /// Runs a program once.
    fn measure(
        &mut self,
        args: &ExecArgs,
        prepared: &Prepared,
        seed: u64,
        interrupted: &dyn Fn() -> bool,
        output: Option<PassOn<'_>>,
    ) -> Result<(Ran, Measurement)> {
        let limits = Limits { instructions: args.max_instructions, interrupted, output };
        let isa = super::options::isa(&args.isa)?;
        let ram_bytes = args.memory << 20;
        let ran = if args.user_only {
            prepared.run_alone(Alone { isa, ram_bytes, seed }, &limits)
        } else {
            let ready = match (&self.snapshot, &self.image) {
                (Some(snapshot), _) => {
                    Ready::restore(snapshot, self.map.as_deref(), None, ram_bytes.max(2048 << 20))
                }
                (None, image) => Ready::boot(
                    Linux {
                        image: image.as_deref().unwrap_or_default(),
                        map: self.map.as_deref(),
                        rules: None,
                        isa,
                        ram_bytes,
                        harts: args.harts as usize,
                        seed,
                    },
                    interrupted,
                ),
            };
            let mut ready = ready.map_err(|error| args.explain(&error))?;
            if let Some(path) = args.save.as_ref().filter(|_| self.snapshot.is_none()) {
                let bytes = ready.save().map_err(|error| args.explain(&error))?;
                save(path, &bytes)?;
                // As one that continues begins.
                ready = Ready::restore(&bytes, self.map.as_deref(), None, ram_bytes)
                    .map_err(|error| args.explain(&error))?;
                self.snapshot = Some(bytes);
            }
            prepared.run(ready, &limits)
        }
        .map_err(|error| args.explain(&error))?;
        let asked = args.asked(prepared.program(), ran.harts());
        let mut entry = ran.record(asked).map_err(|error| args.explain(&error))?;
        if let Found::Program(found) = &mut entry.found
            && let Some(exec) = &mut found.exec
        {
            exec.hashes.extend(self.hash.iter().map(|(name, hash)| ((*name).to_owned(), hash.clone())));
            exec.hashes.insert("program".into(), prepared.program_hash());
            exec.hashes.insert("files".into(), prepared.files_hash());
        }
        Ok((ran, entry))
    }
}

impl ExecArgs {
    fn check(&self) -> Result<(), Usage> {
        check_budget(self.max_instructions)?;
        within("--memory", self.memory, "MiB", if self.user_only { 32..=1024 } else { 64..=4096 })?;
        if !self.memory.is_multiple_of(2) {
            return Err(Usage::value("--memory", self.memory, "give an even number of MiB"));
        }
        within("--harts", self.harts, "a number", 1..=8)?;
        if let Some(seeds) = self.seeds {
            within("--seeds", seeds, "a number", 2..=MOST_SEEDS)?;
        }
        for path in [&self.save, &self.timeline, &self.drmemtrace] {
            path.as_deref().map(check_writable).transpose()?;
        }
        Ok(())
    }

    /// Writes the timeline, and ends the trace, if they are asked for.
    fn save_views(&self, ran: &mut Ran) -> Result<(), Usage> {
        if let (Some(path), Some((text, dropped))) = (&self.timeline, ran.timeline()) {
            file::replace(path, text.as_bytes())
                .map_err(|error| Usage::file(path, lost("the timeline", &error)))?;
            if dropped > 0 {
                say(format!("tollgate: {}: {dropped} stretches more are not in it", path.display()));
            }
        }
        if let Some(path) = &self.drmemtrace {
            let dropped = ran.finish_trace().map_err(|error| Usage::file(path, lost("the trace", &error)))?;
            if let Some(dropped) = dropped.filter(|&dropped| dropped > 0) {
                say(format!("tollgate: {}: {dropped} instructions more are not in it", path.display()));
            }
        }
        Ok(())
    }

    /// The guest's environment: the same on every host.
    fn environment(&self) -> Result<Vec<String>, Usage> {
        let usual = ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LANG=C.UTF-8"];
        let name = |variable: &str| variable.split('=').next().unwrap_or_default().to_owned();
        for variable in &self.env {
            if variable.find('=').is_none_or(|at| at == 0) {
                return Err(Usage::value("--env", variable, "give NAME=VALUE"));
            }
        }
        let own = |usual: &&str| self.env.iter().all(|given| name(given) != name(usual));
        Ok(usual
            .iter()
            .filter(|usual| own(usual))
            .map(ToString::to_string)
            .chain(self.env.iter().cloned())
            .collect())
    }

    /// The other side of `--against`: a saved run if there is one of that name, else a program.
    fn other(&self, old: &str, job: &ExecJob) -> Result<Other> {
        let store = output::store(&self.destination.store).ok().flatten();
        let is_record = old.ends_with(".json") || !Path::new(old).is_file();
        if is_record {
            let mut runs = load(old, store.as_ref())?;
            return match (runs.pop(), runs.is_empty()) {
                (Some(run), true) => Ok(Other::Saved(Box::new(run))),
                _ => Err(Usage::value("--against", old, "give one run, or a program").into()),
            };
        }
        let job = ExecJob { program: old.to_owned(), views: Views::default(), ..job.clone() };
        let prepared = Prepared::new(job).map_err(|error| self.explain(&error))?;
        Ok(Other::Program(Box::new(prepared)))
    }

    /// The totals with other seeds.
    fn layouts(
        &self,
        guest: &mut Guest,
        prepared: &Prepared,
        first: &Measurement,
        seeds: u64,
        session: &mut Session,
        stop: &Stop,
    ) -> Result<Option<Series>> {
        let unit = if self.core.is_some() { "cycles" } else { "instructions" };
        let total = |entry: &Measurement| entry.counters.get(unit).copied().unwrap_or_default();
        let mut points = vec![[self.seed as f64, total(first)]];
        for n in 1..seeds {
            if stop.is_set() {
                break;
            }
            session.progress.show(n as f64 / seeds as f64, format!("layout {} of {seeds}", n + 1));
            let seed = self.seed.wrapping_add(n);
            let (_, entry) = guest.measure(self, prepared, seed, &|| stop.is_set(), None)?;
            points.push([seed as f64, total(&entry)]);
        }
        Ok(Some(Series { name: "layouts".into(), x_unit: "seed".into(), y_unit: unit.into(), points }))
    }

    /// What the record says of the request.
    fn asked(&self, program: &str, harts: usize) -> ProgramAsked {
        let name = Path::new(program).file_name().unwrap_or_default();
        let machine = if harts > 1 { format!("virt with {harts} harts") } else { "virt".into() };
        ProgramAsked {
            program: name.to_string_lossy().into_owned(),
            isa: self.isa.clone(),
            machine,
            core: None,
            top: Some(self.top),
            command: std::iter::once(program.to_owned()).chain(self.command[1..].iter().cloned()).collect(),
        }
    }

    /// The option or file that caused an error, and what to do.
    fn explain(&self, error: &ExecError) -> Usage {
        let kernel = self.from.as_deref().or(self.kernel.as_deref()).unwrap_or(Path::new("kernel"));
        match error {
            ExecError::Tree(TreeError::NotFound(_)) => Usage { of_guest: NOT_FOUND, ..Usage::new(error) },
            ExecError::Tree(
                TreeError::Program(..) | TreeError::Interpreter { .. } | TreeError::Library { .. },
            )
            | ExecError::Refused { .. }
            | ExecError::Dynamic(..)
            | ExecError::Alone(_) => Usage { of_guest: NOT_A_PROGRAM, ..Usage::new(error) },
            ExecError::Kernel(KernelError::Machine(ConfigError::NoMemory(_) | ConfigError::RamSize(_))) => {
                Usage::value("--memory", self.memory, error)
            }
            ExecError::Bill(BillError::NotAMap) => {
                Usage::file(self.symbols.as_deref().unwrap_or(kernel), error)
            }
            ExecError::Trace(path, error) => Usage::file(path, lost("the trace", error)),
            ExecError::Kernel(_) | ExecError::Bill(_) | ExecError::NoProcess(_) | ExecError::NotReady => {
                Usage::file(kernel, error)
            }
            _ => Usage::new(error),
        }
    }
}
