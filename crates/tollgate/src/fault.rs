//! `tollgate fault`: the kinds of page fault, and the scan of a file that does not fit into memory.

mod scan;

use crate::args::Sampling;
use crate::sampled::Sampled;
use crate::worker::List;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tollgate fault kinds --quick\n  tollgate fault scan --size 256M,1G\n  \
                  tollgate fault scan --size 1G --memory-limit 256M --pattern random --advice random")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// What each kind of page fault costs, with its proof, and the bill of a major one
    Kinds(KindsArgs),
    /// Map a file, touch a byte of each page, and see what /usr/bin/time -v would tell, and why
    Scan(Box<scan::ScanArgs>),
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
            sampled
                .measure(&mut session, &mut |run, _| tollgate_boundary::fault::arrange(&mut run.results))?;
            session.finish()
        }
        Command::Scan(args) => scan::scan(&args),
        Command::Touch { job } => {
            tollgate_scan::touch(&job, &mut std::io::stdout().lock())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
