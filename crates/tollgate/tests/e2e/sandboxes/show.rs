//! The table of figures: how much is measured in every place. It is printed, and `docs/reference/places.md` has it.

use super::Answers;
use super::commands::{COMMANDS, Command, Kind};
use super::judge::Answer;
use super::table::{PLACES, Place, Source, Take};
use std::io::Write;
use tollgate_testkit::Recorded;

/// The table of the page.
fn recorded() -> Recorded {
    Recorded::in_page("places", "docs/reference/places.md")
}

/// Prints it past the capture of the test harness.
pub(crate) fn print(everywhere: &[Answer], done: &[(&Place, Answers, Vec<String>)]) {
    let mut text = format!("\n{:<50}", "rows with a figure, of all rows, in");
    for command in COMMANDS {
        text += &format!("{:>11}", command.name);
    }
    text += "\n";
    let mut line = |name: &str, cells: Result<Vec<String>, &String>| {
        text += &format!("{name:<50}");
        match cells {
            Ok(cells) => text.extend(cells.iter().map(|cell| format!("{cell:>11}"))),
            Err(why) => text += why,
        }
        text += "\n";
    };
    line("no place", Ok(whole(everywhere)));
    for (place, answers, _) in done {
        line(place.name, answers.as_ref().map(|answers| cells(everywhere, answers)));
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// For each command how much was measured, or found; a dash if it does not run there.
fn cells(everywhere: &[Answer], here: &[Option<Answer>]) -> Vec<String> {
    let answers = COMMANDS.iter().zip(everywhere.iter().zip(here));
    let text = |(command, (there, here)): (_, (_, &Option<Answer>))| {
        here.as_ref().map_or("-".into(), |here| cell(command, there, here))
    };
    answers.map(text).collect()
}

/// The same of no place.
fn whole(everywhere: &[Answer]) -> Vec<String> {
    COMMANDS.iter().zip(everywhere).map(|(command, answer)| cell(command, answer, answer)).collect()
}

fn cell(command: &Command, there: &Answer, here: &Answer) -> String {
    match command.kind {
        Kind::Doctor => here.findings.len().to_string(),
        _ if here.refused.is_some() => "refused".into(),
        _ => format!("{}/{}", here.measured(), there.rows.len()),
    }
}

/// Writes the table of the page.
pub(crate) fn bless(everywhere: &[Answer], done: &[(&Place, Answers, Vec<String>)]) {
    let mut table = format!("\nThe counts are those of {}.\n\n| place |", everywhere[0].machine);
    table.extend(COMMANDS.iter().map(|command| format!(" {} |", command.name)));
    table += " doctor says | what it removes |\n|---|";
    table += &"---:|".repeat(COMMANDS.len());
    table += "---|---|\n";
    let mut row = |name: &str, cells: &[String], last: [String; 2]| {
        table += &format!("| {name} | {} | {} | {} |\n", cells.join(" | "), last[0], last[1]);
    };
    row("(none)", &whole(everywhere), [String::new(), String::new()]);
    for place in PLACES {
        let answers = done.iter().find(|(it, _, _)| it.name == place.name).map(|(_, answers, _)| answers);
        let counts = match answers {
            Some(Ok(answers)) => cells(everywhere, answers),
            _ => vec!["not here".into(); COMMANDS.len()],
        };
        row(place.name, &counts, told(place));
    }
    recorded().write(&format!("{table}\n")).unwrap();
}

/// What the table says of a place, whatever the machine: doctor's codes, and what is removed.
fn told(place: &Place) -> [String; 2] {
    let codes: Vec<String> = place.finds.iter().map(|code| format!("`{code}`")).collect();
    let refused = place.refuses.iter().map(|it| format!("{}: ends with \"{}\"", it.command, it.says));
    let taken = place.takes.iter().map(Take::told);
    let exec = match place.counts {
        Source::Bpf => None,
        Source::Only("none", why) => Some(format!("exec: counts nothing (\"{why}\")")),
        Source::Only(source, why) => Some(format!("exec: counts by {source} (\"{why}\")")),
        Source::Any => Some("exec: counts by what still fits".into()),
        Source::Refused(..) => Some("exec: the bill goes nowhere".into()),
    };
    let all: Vec<String> = refused.chain(taken).chain(exec).collect();
    [codes.join(" "), if all.is_empty() { "nothing".into() } else { all.join("; ") }]
}

impl Take {
    fn told(&self) -> String {
        let which = if self.always { "" } else { "some of " };
        let command = if self.command.is_empty() { "every command" } else { self.command };
        let rows: Vec<String> = self.rows.split(' ').map(|row| format!("`{row}`")).collect();
        let why =
            [self.reason, self.enable].map(|part| format!("\"{part}\"")).join(", ").replace(", \"\"", "");
        format!("{command}: {which}{} {} ({})", rows.join(" "), self.status, why.replace("\"\", ", ""))
    }
}

/// The page says of every place what the table of this test says. Counts depend on the machine and are not
/// compared; what a place removes is, in `every_place`.
#[test]
fn the_page_has_every_place() {
    // Another test writes it then.
    if Recorded::is_blessing() {
        return;
    }
    let text = recorded().text().unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    for place in PLACES {
        let row = rows.iter().find(|row| row.first() == Some(&place.name));
        let row = row.unwrap_or_else(|| {
            panic!("docs/reference/places.md has no row {:?}: cargo xtask bless places", place.name)
        });
        let [codes, taken] = told(place);
        assert_eq!(
            row[row.len() - 2..],
            [codes.as_str(), taken.as_str()],
            "{:?}: cargo xtask bless places",
            place.name
        );
    }
    let known: Vec<&str> = PLACES.iter().map(|place| place.name).collect();
    // The heads and the row without a place.
    let more = rows.iter().filter(|row| !known.contains(&row[0]) && row.len() > COMMANDS.len()).count();
    assert_eq!(
        more, 2,
        "docs/reference/places.md has rows of places that are not in the table: cargo xtask bless places"
    );
}
