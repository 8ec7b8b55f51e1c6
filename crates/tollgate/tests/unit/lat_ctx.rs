//! How command lines of `lat_ctx` are read.

use super::*;

#[test]
fn the_name_is_the_command() {
    let called = |args: &[&str]| called_as(args.iter().map(OsString::from));
    assert_eq!(called(&["/x/lat_ctx", "-s", "0", "2"])[..3], ["tollgate", "lat_ctx", "-s"]);
    assert_eq!(called(&["lat_ctx", "worker", "--cpu", "1"])[1], "worker");
    assert_eq!(called(&["tollgate", "lat_ctx", "2"]).len(), 3);
    assert_eq!(called(&["lat_ctx"]).len(), 2);
    assert!(called(&[]).is_empty());
}

/// What lmbench's `getopt.c` and `atoi` make of a command line: `-P`, `-W`, `-N`, bytes of `-s` and the processes.
type Taken = (u64, u64, Option<u64>, u64, &'static [u32]);

#[rustfmt::skip]
const LINES: &[(&str, Option<Taken>)] = &[
    ("2", Some((1, 0, None, 0, &[2]))),
    ("2 4 8 16", Some((1, 0, None, 0, &[2, 4, 8, 16]))),
    ("8 2 8", Some((1, 0, None, 0, &[8, 2, 8]))),
    ("+2 002", Some((1, 0, None, 0, &[2, 2]))),
    ("-s 64 2", Some((1, 0, None, 65_536, &[2]))),
    ("-s64 2", Some((1, 0, None, 65_536, &[2]))),
    ("-s0 2", Some((1, 0, None, 0, &[2]))),
    ("-s +64 2", Some((1, 0, None, 65_536, &[2]))),
    ("-s064 2", Some((1, 0, None, 65_536, &[2]))),
    ("-s64k 2", Some((1, 0, None, 65_536, &[2]))),
    ("-s 16 -s 32 2", Some((1, 0, None, 32_768, &[2]))),
    ("-s16 -s 8 -s4 2", Some((1, 0, None, 4_096, &[2]))),
    ("-P 2 2", Some((2, 0, None, 0, &[2]))),
    ("-P2 2", Some((2, 0, None, 0, &[2]))),
    ("-P2 -P 3 2", Some((3, 0, None, 0, &[2]))),
    ("-P1000 2", Some((1_000, 0, None, 0, &[2]))),
    ("-W 1000 2", Some((1, 1_000, None, 0, &[2]))),
    ("-W0 2", Some((1, 0, None, 0, &[2]))),
    ("-W1000000 -W 5 2", Some((1, 5, None, 0, &[2]))),
    ("-N 1 2", Some((1, 0, Some(1), 0, &[2]))),
    ("-N1 2", Some((1, 0, Some(1), 0, &[2]))),
    ("-N 10000 2", Some((1, 0, Some(10_000), 0, &[2]))),
    ("-N2147483647 2", Some((1, 0, Some(i32::MAX as u64), 0, &[2]))),
    ("-N 5 -N 7 2", Some((1, 0, Some(7), 0, &[2]))),
    ("-P2 -N1 -W 1000 2", Some((2, 1_000, Some(1), 0, &[2]))),
    ("-W 1 -s 2 -N 3 -P 4 2 96", Some((4, 1, Some(3), 2_048, &[2, 96]))),
    // lmbench's own getopt does not know it; POSIX's does.
    ("-s 64 -- 2", Some((1, 0, None, 65_536, &[2]))),
    // lmbench takes options after processes for processes, of which there are 0.
    ("2 -s 64", Some((1, 0, None, 65_536, &[2]))),
    // lmbench prints its usage.
    ("", None),
    ("-s 64", None),
    ("-s", None),
    ("2 -N", None),
    ("-x 2", None),
    ("-2", None),
    ("-s -4 2", None),
    ("-W -1 2", None),
    ("-P 0 2", None),
    ("-P-1 2", None),
    // lmbench reads what begins with no digit as 0, and stops at the first other letter.
    ("two", None),
    ("- 2", None),
    ("-s abc 2", None),
    ("-P2s64 2", None),
    ("-sk 2", None),
    ("-s 18446744073709551615 2", None),
    ("-N 0 2", None),
    ("-W x 2", None),
    ("1", None),
];

#[test]
fn command_lines_as_lmbench_takes_them() {
    for (line, expected) in LINES {
        let command = <Args as clap::Args>::augment_args(clap::Command::new("lat_ctx"));
        let words = std::iter::once("lat_ctx").chain(line.split(' ').filter(|word| !word.is_empty()));
        let args = command.try_get_matches_from(words).ok();
        let args = args.and_then(|matches| <Args as clap::FromArgMatches>::from_arg_matches(&matches).ok());
        let taken =
            args.as_ref().map(|it| (it.parallelism, it.warmup, it.repetitions, it.size, it.procs.as_slice()));
        assert_eq!(taken, *expected, "lat_ctx {line}");
    }
}
