//! What on this host spoils a measurement, and what would mend it. Changes nothing.

use crate::cli::{self, ClockChoice, DoctorArgs};
use crate::output::Sink;
use crate::progress::Progress;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::time::Duration;
use std::{io, mem};
use tollgate_measure::doctor::{Observed, findings};
use tollgate_measure::host;
use tollgate_measure::noise::Watch;
use tollgate_measure::self_check::self_check;
use tollgate_record::Store;

/// Bytes that a long run takes in the store.
const RECORD: u64 = 1 << 20;
/// How long the machine is watched while nothing of ours runs.
const WATCH: Duration = Duration::from_secs(1);

pub(crate) fn doctor(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let mut facts = host::here();
    let site = cli::site(&facts.cpu, args.cpu, None)?;
    host::place("/".as_ref(), &mut facts, site.cpu, site.peer);
    let attempts = host::attempts();
    let progress = Progress::new();
    progress.say(format!("watching cpu {} for {} s", site.cpu, WATCH.as_secs()));
    let watch = Watch::new(site.cpu, site.peer);
    let mark = watch.mark();
    std::thread::sleep(WATCH);
    let span = watch.span(&mark, &watch.mark());
    // From here on this process may use one CPU only.
    let pinned = crate::pin::pin(site.cpu);
    let self_check = pinned.is_ok().then(|| self_check(ClockChoice::Auto.source())).flatten();
    let observed = Observed {
        span: Some(span),
        audit: host::audited(),
        attempts,
        pinned: Some(pinned.map_err(|error| error.to_string())),
        self_check,
        store: Some(store()),
    };
    let found = findings(&facts, &observed);
    drop(progress);
    let text = if sink.json() {
        format!("{:#}\n", serde_json::json!({ "host": facts, "self_check": self_check, "findings": found }))
    } else {
        tollgate_report::findings(&found, &sink.style())
    };
    sink.deliver(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The usual store's directory, or why nothing can be saved there. Nothing is made here: the first run
/// makes the directory.
fn store() -> Result<String, String> {
    let directory = Store::default_dir().ok_or("there is no home directory to save runs in")?;
    let there = directory.ancestors().find(|ancestor| ancestor.exists()).unwrap_or("/".as_ref());
    let path = CString::new(there.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the path ends in a zero byte.
    if unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) } != 0 {
        let (error, store) = (io::Error::last_os_error(), directory.display());
        return Err(format!("the store {store} cannot be written: {error}"));
    }
    // SAFETY: statvfs is plain numbers for which all zeroes is valid.
    let mut room: libc::statvfs = unsafe { mem::zeroed() };
    // SAFETY: the path ends in a zero byte, and `room` is valid for the call to fill.
    if unsafe { libc::statvfs(path.as_ptr(), &raw mut room) } == 0 && room.f_blocks > 0 {
        let left = room.f_bavail.saturating_mul(room.f_frsize);
        if left < RECORD {
            let (left, store) = (left >> 10, directory.display());
            return Err(format!("the disk of the store {store} is full: {left} KiB are left"));
        }
    }
    Ok(directory.display().to_string())
}
