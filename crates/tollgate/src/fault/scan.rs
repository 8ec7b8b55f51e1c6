//! `tollgate fault scan`: a file is mapped, a byte of each page touched, and everything told that
//! `/usr/bin/time -v` tells.

mod args;
mod child;
mod file;
mod group;
mod result;
mod touch;

pub(crate) use args::ScanArgs;
pub(crate) use touch::touch;

use crate::cli::Usage;
use crate::session::Session;
use file::Scanned;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use touch::Job;

pub(crate) fn scan(args: &ScanArgs) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    let (host, site) = sampling.place()?;
    args.check().map_err(Usage::error)?;
    let mut session = Session::open(&sampling.destination, host, sampling.seed())?;
    group::clean_up();
    let limit = args.memory_limit.map(group::limit).transpose()?;
    let stop = session.stop_on_signal()?;

    let sizes = args.sizes();
    let largest = sizes.iter().copied().max().unwrap_or_default();
    session.progress(0.0, "writing the file");
    let Some(file) = Scanned::open(args.file.as_deref(), largest, &stop)? else { return session.finish() };
    for (done, &bytes) in sizes.iter().enumerate() {
        session.progress(done as f64 / sizes.len() as f64, format!("touching {bytes} bytes"));
        let job = Job {
            bytes,
            pattern: args.pattern,
            advice: args.advice,
            seed: session.run.seed,
            cpu: site.cpu,
            source: sampling.clock.source(),
            parent: std::process::id(),
        };
        if !args.warm {
            file.drop_from_cache()?;
        }
        let ended = child::run(&job, &file, limit.as_ref(), &stop)?;
        session.push(result::measurement(&job, &file, args, limit.as_ref(), ended));
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    session.run.complete = session.run.results.len() == sizes.len() && !stop.load(Ordering::Relaxed);
    drop(file);
    session.finish()
}
