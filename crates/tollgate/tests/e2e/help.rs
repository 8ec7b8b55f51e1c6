//! The texts of `--help`, as they look at 80 columns. The examples in them are parsed by a unit test of
//! the command line, and run by `tests/examples.rs`.

use crate::scene::call;
use insta::assert_snapshot;

const COMMANDS: &[&str] = &[
    "",
    "run",
    "ring",
    "lat_ctx",
    "crossing",
    "fault",
    "switch",
    "exec",
    "list",
    "doctor",
    "runs",
    "show",
    "history",
    "compare",
    "report",
    "export",
    "fleet",
    "import",
    "completions",
    "man",
    "riscv",
];

#[test]
fn every_help_has_examples_and_fits_into_80_columns() {
    for command in COMMANDS {
        for option in ["-h", "--help"] {
            let help = call(&format!("{command} {option}"), 0).stdout;
            assert!(help.contains("Example"), "{command} {option}: {help}");
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{command} {option}: {line}");
            }
        }
    }
}

#[test]
fn help_texts() {
    for command in COMMANDS {
        let name = if command.is_empty() { "tollgate" } else { command };
        assert_snapshot!(format!("help_{name}"), call(&format!("{command} --help"), 0).stdout);
    }
}

#[test]
fn the_version_is_told() {
    let version = call("--version", 0).stdout;
    assert_eq!(version, format!("tollgate {}\n", env!("CARGO_PKG_VERSION")));
}
