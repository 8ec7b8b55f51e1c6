//! A place's answers against those of no place: what it took away, and whether its row of the table says so.

use super::commands::{COMMANDS, Command, Kind};
use super::judge::{Answer, Row};
use super::table::{ANYWHERE, Place, Take};

/// A row that is not what it is elsewhere.
struct Change<'a> {
    command: &'static str,
    probe: &'a str,
    row: &'a Row,
}

/// A command with its answers without the place and in it.
type Pair<'a> = (&'static Command, &'a Answer, &'a Answer);

/// The rows of a place that are not what they are without it.
fn changes<'a>(pairs: &[Pair<'a>]) -> Vec<Change<'a>> {
    pairs
        .iter()
        .flat_map(|&(command, there, here)| {
            here.rows
                .iter()
                .filter(|(key, row)| there.rows.get(*key).is_none_or(|there| there.status != row.status))
                .map(|((probe, _), row)| Change { command: command.name, probe, row })
        })
        .collect()
}

/// Notes everything in which a place differs from its row of the table.
pub(crate) fn compare(
    place: &Place,
    everywhere: &[Answer],
    here: &[Option<Answer>],
    wrong: &mut Vec<String>,
) {
    let answers = COMMANDS.iter().zip(everywhere.iter().zip(here));
    let pairs = answers.filter_map(|(command, (there, here))| Some((command, there, here.as_ref()?)));
    let pairs: Vec<Pair> = pairs.collect();
    for &(command, there, here) in &pairs {
        let refusal = place.refuses.iter().find(|refused| refused.command == command.name);
        match (&here.refused, refusal) {
            (None, None) => {}
            (Some((exit, said)), Some(refused)) => {
                if *exit != Some(refused.exit) || !said.contains(refused.says) {
                    wrong.push(format!("{}: exit {exit:?}: {said}", command.name));
                }
                continue;
            }
            (Some((exit, said)), None) => {
                wrong.push(format!("{}: no document, exit {exit:?}: {said}", command.name));
                continue;
            }
            (None, Some(_)) => wrong.push(format!("{}: answered, and should have refused", command.name)),
        }
        for (probe, _) in there.rows.keys().filter(|(probe, _)| !here.rows.keys().any(|(it, _)| it == probe))
        {
            wrong.push(format!("{}: the result does not mention {probe}", command.name));
        }
        if command.kind == Kind::Simulated && there.exact != here.exact {
            wrong.push(format!("{}: a simulation has other figures here", command.name));
        }
        if command.kind == Kind::Doctor {
            for code in place.finds.iter().filter(|code| !here.findings.iter().any(|found| found == *code)) {
                wrong.push(format!("doctor does not say [{code}]: {:?}", here.findings));
            }
        }
    }
    let changes = changes(&pairs);
    for Change { command, probe, row } in &changes {
        if !place.takes.iter().chain(ANYWHERE).any(|take| take.covers(command, probe) && take.describes(row))
        {
            wrong.push(format!(
                "{command}: {probe} is {}: {}; enable: {}",
                row.status, row.reason, row.enable
            ));
        }
    }
    // A place removes each row that its table names, if the host has that row.
    for take in place.takes.iter().filter(|take| take.always) {
        for &(command, there, here) in &pairs {
            for ((probe, number), row) in &here.rows {
                let was = there.rows.get(&(probe.clone(), *number)).is_some_and(Row::has_figure);
                if take.covers(command.name, probe) && was && row.has_figure() {
                    wrong.push(format!(
                        "{}: {probe} is measured, and should be {}",
                        command.name, take.status
                    ));
                }
            }
        }
    }
}

impl Take {
    fn covers(&self, command: &str, probe: &str) -> bool {
        (self.command.is_empty() || self.command == command)
            && self.rows.split(' ').any(|rows| match rows.split_once('*') {
                Some((start, end)) => probe.starts_with(start) && probe.ends_with(end),
                None => probe == rows,
            })
    }

    fn describes(&self, row: &Row) -> bool {
        row.status == self.status && row.reason.contains(self.reason) && row.enable.contains(self.enable)
    }
}
