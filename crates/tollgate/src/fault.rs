//! `tollgate fault`: the kinds of page fault, and the scan of a file that does not fit into memory.

use crate::args::{Sampling, Usage, one_of};
use crate::output::say;
use crate::sampled::Sampled;
use crate::session::Session;
use crate::worker::List;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tollgate_boundary::fault::arrange_sampled;
use tollgate_measure::Site;
use tollgate_scan::{Advice, Pattern, Progress as Step, ScanError, ScanPlan, size};
use tollgate_toll::Limits;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tollgate fault kinds --quick\n  tollgate fault scan --size 256M,1G\n  \
                  tollgate fault scan --size 1G --memory-limit 256M --pattern random --advice random")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// The cost of each kind of page fault, and the bill of a major one
    Kinds(KindsArgs),
    /// Map a file, read a byte of each page, and explain the faults
    Scan(Box<ScanArgs>),
    /// Touches the pages of the file on standard input
    #[command(hide = true)]
    Touch {
        /// What to do, as JSON
        job: String,
    },
}

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tollgate fault kinds\n  TMPDIR=/var/tmp tollgate fault kinds --json")]
pub(crate) struct KindsArgs {
    #[command(flatten)]
    sampling: Sampling,
}

pub(crate) fn fault(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Kinds(args) => {
            let (mut session, sampled) = Sampled::open_all(&args.sampling, List::Faults)?;
            sampled.measure(&mut session, &mut |run, samples| {
                arrange_sampled(&mut run.results, &List::Faults.metas(), samples, sampled.source);
            })?;
            session.finish()
        }
        Command::Scan(args) => scan(&args),
        Command::Touch { job } => {
            tollgate_scan::touch(&job, &mut std::io::stdout().lock())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

#[derive(clap::Args)]
#[command(
    mut_arg("quick", |quick| quick.help("A smaller file: 256M, unless --size is given")),
    after_help = "A file of its own is written with real bytes to TMPDIR (or /var/tmp where that is in memory) \
                  and has no name: nothing is left of it, however the program ends.\n\nExamples:\n  \
                  tollgate fault scan --size 256M,1G\n  \
                  tollgate fault scan --size 1G --memory-limit 256M\n  \
                  tollgate fault scan --size 1G --memory-limit 256M --pattern random --advice random\n  \
                  tollgate fault scan --file big.img --size 1G,20G --pattern stride:64K"
)]
pub(crate) struct ScanArgs {
    /// The file to map, which is only read [default: a new one, removed at the end]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Bytes of the file that each scan reads, as 256M,1G [default: 1G; with --quick 256M]
    ///
    /// K, M, G are powers of 1,024, kB, MB, GB of 1,000.
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', value_parser = size)]
    size: Vec<u64>,
    /// The order: sequential, random, or stride:SIZE
    #[arg(long, default_value = "sequential", value_parser = Pattern::parse)]
    pattern: Pattern,
    /// The hint that the kernel receives (madvise)
    #[arg(long, value_name = "ADVICE", value_parser = one_of(Advice::NAMES), default_value = "normal")]
    advice: Advice,
    /// Memory and page cache that the scan may use, in its own control group
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_limit: Option<u64>,
    /// Time of all scans together, without writing the file: 90s, 10m [default: 60s]
    #[arg(long = "for", value_name = "TIME", value_parser = Limits::time)]
    time: Option<Duration>,
    /// Keep the pages of the file that are in the page cache
    #[arg(long)]
    warm: bool,
    #[command(flatten)]
    sampling: Sampling,
}

impl ScanArgs {
    fn plan(&self, site: Site, seed: u64) -> ScanPlan {
        let sizes = match (&self.size[..], self.sampling.quick) {
            ([], true) => vec![256 << 20],
            ([], false) => vec![1 << 30],
            (sizes, _) => sizes.to_vec(),
        };
        ScanPlan {
            file: self.file.clone(),
            sizes,
            pattern: self.pattern,
            advice: self.advice,
            memory_limit: self.memory_limit,
            warm: self.warm,
            time: self.time.unwrap_or(ScanPlan::TIME),
            seed,
            cpu: site.cpu,
            source: self.sampling.clock.source(),
            toucher: toucher(),
        }
    }
}

/// This program, which touches in a process of its own.
fn toucher() -> Vec<OsString> {
    // Behind systemd-run the link would name that program, so it is read here.
    let program = std::fs::read_link("/proc/self/exe").or_else(|_| std::env::current_exe());
    [program.unwrap_or_else(|_| "tollgate".into()).into(), "fault".into(), "touch".into()].into()
}

fn scan(args: &ScanArgs) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    let (host, site) = sampling.place()?;
    let plan = args.plan(site, sampling.seed());
    plan.check().map_err(Usage::error)?;
    let mut session = Session::open(&sampling.destination, host, plan.seed)?;
    let stop = session.stop_on_signal()?;
    let scanned = tollgate_scan::scan(&plan, &stop, &mut |step| match step {
        Step::Writing(words) => {
            session.progress.aside(|| say(format!("tollgate: {words}")));
            session.progress.wait("writing the file");
        }
        Step::Touching { done, bytes } => {
            session.progress.show(done as f64 / plan.sizes.len() as f64, format!("touching {bytes} bytes"));
        }
        Step::Measured(results) => {
            session.run.results = results.to_vec();
            session.save();
        }
    });
    scanned.map_err(|error| match error {
        ScanError::Wrong(why) => Usage::error(why),
        other => other.into(),
    })?;
    session.run.complete = session.run.results.len() == plan.sizes.len() && !stop.load(Ordering::Relaxed);
    session.finish()
}
