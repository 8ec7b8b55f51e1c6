//! The field's words for what the record names by a key.

use crate::style::Style;
use crate::text::clean;
use tollgate_record::{Measurement, Per, PhaseName, WarningKind, phase_words, warning};

/// The code of the warning that a figure is an emulator's own.
pub(crate) const EMULATED: WarningKind = warning::EMULATED;

/// Why there is no figure.
pub(crate) fn reason(result: &Measurement, style: &Style) -> String {
    clean(result.reason.as_deref().unwrap_or("no reason given"), style)
}

/// A phase in words; the name of anything else as it is.
pub(crate) fn phase(name: &str, style: &Style) -> String {
    match PhaseName::find(name) {
        Some(_) => clean(&phase_words(name), style),
        None => clean(name, style),
    }
}

/// Whether a result says nothing of hardware: an emulator made it, or would have.
pub(crate) fn is_emulated(result: &Measurement) -> bool {
    result.has_warning(EMULATED) || result.engine.starts_with("qemu-") || result.engine == "kvm-pvm"
}

/// What a family of probes crosses, and what one figure of it stands for unless a row says otherwise.
pub(crate) fn family(family: &str) -> Option<(&'static str, Per)> {
    Some(match family {
        "null" => ("nothing: what the harness itself adds", Per::Pass),
        "call" => ("call and return", Per::Call),
        "vdso" => ("call into the vDSO", Per::Call),
        "syscall" => ("system call", Per::Syscall),
        "signal" => ("signal, sent and handled", Per::Signal),
        "fault" => ("page fault", Per::Touch),
        "fiber" => ("fiber switch", Per::Switch),
        "thread" => ("thread switch, one CPU", Per::Switch),
        "process" => ("process switch, one CPU", Per::Switch),
        "core" => ("message to another core, one way", Per::Message),
        "spawn" => ("task made, run and collected", Per::Task),
        "vm" => ("VM exit and return", Per::Exit),
        "ffi" => ("call into another language and back", Per::Call),
        "interpose" => ("crossing with something in its way", Per::Syscall),
        "wake" => ("wake-up by a message, one way", Per::Message),
        _ => return None,
    })
}

/// What a key of the proof counts: `switches-per-crossing` counts `switches`. Longer keys of our own
/// probes have a short word, since the column is narrow.
pub(crate) fn counted(key: &str) -> String {
    match key.split("-per-").next().unwrap_or(key) {
        "right-answers" => "right".into(),
        "handler-runs" => "handled".into(),
        "callee-count" => "called".into(),
        "copies" => "copied".into(),
        "user-mode" => "in user mode".into(),
        other => other.replace('-', " "),
    }
}
