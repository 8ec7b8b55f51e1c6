//! The table of figures: how much is measured in every place.

use super::Answers;
use super::commands::{COMMANDS, Kind};
use super::judge::Answer;
use std::io::Write;

/// Prints it past the capture of the test harness.
pub(crate) fn table(everywhere: &[Answer], done: &[(&str, Answers, Vec<String>)]) {
    let mut text = String::from("\n");
    text += &line("measured of all rows in", everywhere, everywhere, true);
    text += &line("no place", everywhere, everywhere, false);
    for (name, answers, _) in done {
        match answers {
            Ok(answers) => text += &line(name, everywhere, answers, false),
            Err(why) => text += &format!("{name:<50}  {why}\n"),
        }
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn line(name: &str, everywhere: &[Answer], here: &[Answer], head: bool) -> String {
    let mut text = format!("{name:<50}");
    for (command, (there, here)) in COMMANDS.iter().zip(everywhere.iter().zip(here)) {
        let cell = match (head, command.kind) {
            (true, _) => command.name.to_owned(),
            (_, Kind::Doctor) => here.findings.len().to_string(),
            _ if here.refused.is_some() => "refused".into(),
            _ => format!("{}/{}", here.measured(), there.rows.len()),
        };
        text += &format!("{cell:>12}");
    }
    text + "\n"
}
