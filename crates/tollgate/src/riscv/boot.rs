//! `tollgate riscv boot`: a real kernel on the embedded machine.

use std::io;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::boot::Terminal;
use tollgate_lab::plan::{self, BootRequest};
use tollgate_lab::status::EXIT_STATUS;
use tollgate_progress::Console;
use tollgate_supervise::Stop;

use crate::args::Destination;
use crate::output::{reader_gone, say};
use crate::session::Session;

/// `tollgate riscv boot`.
#[derive(Args)]
#[command(
    after_help = format!("{EXIT_STATUS}\n\nExamples:\n  tollgate riscv boot --kernel Image --initrd initrd.cpio --append console=ttyS0\n  \
                        tollgate riscv boot --kernel xv6/kernel/kernel --drive xv6/fs.img --memory 128\n  \
                        tollgate riscv boot --kernel Image --initrd initrd.cpio --append console=ttyS0 --save-at '# ' shell.snap\n  \
                        tollgate riscv boot --from shell.snap\n  \
                        tollgate riscv boot --from shell.snap --core rocket --symbols System.map --max-instructions 10000000\n  \
                        tollgate riscv boot --from shell.snap --timeline trace.json --max-instructions 10000000")
)]
pub(super) struct BootArgs {
    #[command(flatten)]
    request: BootRequest,

    #[command(flatten)]
    destination: Destination,
}

/// Boots the kernel; the terminal is its console.
pub(super) fn run(args: &BootArgs) -> Result<ExitCode> {
    let request = &args.request;
    let mut machine = request.prepare()?;
    let mut watch = request.watch(&machine)?;
    let session = Session::of_profile(watch.is_profile(), &args.destination)?;
    let (until, most) = (request.until()?, request.max_instructions);
    let stop = Stop::on_signal()?;
    let terminal = Terminal::take()?;
    let input = plan::input(io::stdin())?;
    let mut console = Console::of_guest("the kernel runs", args.destination.output.json);
    let mut saving = request.saving();
    let mut reached = |machine: &mut _| saving.save(machine, |text| say(format!("tollgate: {text}")));
    let limits = (most, until.as_ref(), &mut reached as &mut dyn FnMut(&mut _) -> bool);
    let outcome = watch.run(&mut machine, limits, &input, &mut console, &|| stop.is_set());
    drop((terminal, console));
    let outcome = outcome.map_err(reader_gone)?;
    if let Some(mut session) = session {
        session.run.results.extend(watch.result(request.asked()));
        session.finish_unless(&stop)?;
    }
    let timeline = request.save_timeline(&watch);
    timeline.iter().flatten().for_each(say);
    say(saving.verdict(&outcome)?);
    timeline?;
    Ok(ExitCode::from(stop.status(saving.exit_status(&outcome))))
}
