//! `tollgate completions`: what a shell needs to complete the command line.

use crate::args::Output;
use crate::output::Sink;
use clap::Command;
use clap_complete::{Shell, generate};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tollgate completions bash --out tollgate.bash\n  tollgate completions zsh --out _tollgate\n  \
                        tollgate completions fish > tollgate.fish"
)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
    /// Write to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn completions(args: &Args, mut whole: Command) -> anyhow::Result<ExitCode> {
    let output = Output { json: false, out: args.out.clone() };
    let sink = Sink::open(&output)?;
    let mut script = Vec::new();
    generate(args.shell, &mut whole, "tollgate", &mut script);
    sink.deliver(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
