//! The texts of `--help`, as they look at 80 columns. The examples in them are parsed by a unit test of
//! the command line, and run by `examples`.

use crate::scene::call;
use insta::assert_snapshot;
use serde_json::Value;

const COMMANDS: &[&str] = &[
    "", "run", "ring", "lat_ctx", "crossing", "fault", "switch", "exec", "list", "doctor", "show", "history",
    "compare", "report", "export", "fleet", "import", "generate", "riscv",
];

/// The most lines that `-h` prints: a terminal shows them at once.
const SCREEN: usize = 40;

#[test]
fn every_help_has_examples_and_fits_into_80_columns() {
    let commands: Vec<Value> = serde_json::from_str(&call("examples", 0).stdout).unwrap();
    assert!(commands.len() >= 30, "{} commands", commands.len());
    for command in commands {
        let path = command["command"].as_str().unwrap();
        for option in ["-h", "--help"] {
            let help = call(&format!("{path} {option}"), 0).stdout;
            assert!(help.contains("Example"), "{path} {option}: {help}");
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{path} {option}: {line}");
            }
        }
        let help = call(&format!("{path} -h"), 0).stdout;
        let lines = help.lines().count();
        assert!(lines <= SCREEN, "{path} -h has {lines} lines: hide an option with hide_short_help\n{help}");
        let (_, common) = help.split_once("\nCommon options:\n").unwrap();
        assert!(!common.contains(":\n  -"), "{path} -h: what commands share comes last\n{help}");
        for option in command["options"].as_array().unwrap() {
            let name = format!("--{}", option.as_str().unwrap());
            let is_hidden = ["--budget-ms", "--patience-ms", "--batch-us"].contains(&name.as_str());
            assert!(help.contains(&name) != is_hidden, "{path} -h names {name}\n{help}");
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
fn the_version_is_printed() {
    let version = call("--version", 0).stdout;
    assert_eq!(version, format!("tollgate {}\n", env!("CARGO_PKG_VERSION")));
    let verbose = call("--version --verbose", 0).stdout;
    let rest = verbose.strip_prefix(&version).expect("the version is the first line");
    let names: Vec<&str> = rest.lines().map(|line| line.split("  ").next().unwrap().trim_end()).collect();
    for name in ["commit", "target", "features", "record", "guests"] {
        assert!(names.contains(&name), "{verbose}");
    }
    for word in ["tollgate/2", std::env::consts::ARCH, "full", "vector-lazy", "clic-next"] {
        assert!(rest.contains(word), "{verbose}");
    }
}

#[test]
fn a_topic_is_printed_and_a_command_keeps_its_help() {
    assert!(call("help quote", 0).stdout.starts_with("# Which figure do I quote"));
    assert!(call("help run", 0).stdout.starts_with("Measure some of the probes"));
}
