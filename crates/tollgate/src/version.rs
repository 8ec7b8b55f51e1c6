//! `tollgate --version`, and with `--verbose` what this build contains.

use crate::output::Sink;
use std::process::ExitCode;
use tollgate_boundary::PROBES;
use tollgate_cores::Core;
use tollgate_lab::Design;
use tollgate_measure::bench::PROTOCOL;
use tollgate_record::SCHEMA;

/// Prints the version.
pub(crate) fn print(verbose: bool) -> anyhow::Result<ExitCode> {
    let mut text = format!("tollgate {}\n", env!("CARGO_PKG_VERSION"));
    if verbose {
        for (name, value) in contents() {
            text += &format!("{name:<16}{value}\n");
        }
    }
    Sink::text(None, "")?.deliver(&text)
}

/// What this build contains, by name.
fn contents() -> Vec<(&'static str, String)> {
    let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    let features = if cfg!(feature = "translate") { "translate" } else { "none" };
    let designs: Vec<&str> = Design::named().map(|design| design.name).collect();
    let mut guests = format!("riscv64: {}", designs.join(" "));
    if cfg!(target_arch = "x86_64") {
        guests += "; x86_64: hardware";
    }
    vec![
        ("commit", env!("TOLLGATE_COMMIT").to_owned()),
        ("target", format!("{}, {linked}", env!("TOLLGATE_TARGET"))),
        ("compiler", env!("TOLLGATE_COMPILER").to_owned()),
        ("profile", env!("TOLLGATE_PROFILE").to_owned()),
        ("features", features.to_owned()),
        ("record", SCHEMA.to_owned()),
        ("worker protocol", PROTOCOL.to_string()),
        ("probes", PROBES.len().to_string()),
        ("cores", Core::PRESETS.join(" ")),
        ("guests", guests),
    ]
}
