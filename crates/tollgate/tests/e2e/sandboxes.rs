//! Containers and sandboxes: what each removes, and that nothing else changes.
//!
//! Every command runs once unrestricted and once in every place that can change it. A place is held to its row of the table
//! by comparison with the unrestricted answers of the same session, so that the test says the same on a
//! machine where other probes cannot be measured to begin with.

mod billed;
mod blocks;
mod commands;
mod compare;
mod judge;
pub(crate) mod killed;
mod show;
mod table;

use crate::scene::Scene;
use commands::{COMMANDS, Command, Kind};
use judge::Answer;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use table::{PLACES, Place};
use tollgate_testkit::Recorded;

const TEST: &str = "e2e::sandboxes::every_place";

/// What the commands answered in one place, in their order, if they run there; or why it is not available here.
pub(crate) type Answers = Result<Vec<Option<Answer>>, String>;

#[test]
fn every_place() {
    let only = std::env::var("TOLLGATE_CASE").ok();
    let named = |place: &&Place| only.as_ref().is_none_or(|only| place.name.contains(only));
    // In haste one of three.
    let step = if tollgate_testkit::fast() && only.is_none() { 3 } else { 1 };
    let wanted: Vec<&Place> = PLACES.iter().filter(named).step_by(step).collect();
    let mut wrong = Vec::new();
    let everywhere = visit(None, 0, &mut wrong).expect("nothing is needed for no place");
    let everywhere: Vec<Answer> = everywhere.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "without any place: {wrong:#?}");
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for lane in 0..2 {
            let (next, done, wanted, everywhere) = (&next, &done, &wanted, &everywhere);
            scope.spawn(move || {
                while let Some(&place) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut wrong = Vec::new();
                    let answers = visit(Some(place), lane, &mut wrong);
                    if let Ok(answers) = &answers {
                        compare::compare(place, everywhere, answers, &mut wrong);
                    }
                    done.lock().unwrap().push((place, answers, wrong));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(place, _, _)| PLACES.iter().position(|it| it.name == place.name));
    assert_eq!(done.len(), wanted.len(), "a place ended in a panic");
    show::print(&everywhere, &done);
    if Recorded::is_blessing() && only.is_none() {
        show::bless(&everywhere, &done);
    }
    let mut broken = Vec::new();
    for (place, answers, wrong) in &done {
        if let Err(why) = answers {
            tollgate_testkit::skipped(TEST, Some(place.name), why);
        }
        broken.extend(wrong.iter().map(|wrong| format!("{}: {wrong}", place.name)));
    }
    assert!(broken.is_empty(), "{} findings:\n{}", broken.len(), broken.join("\n"));
}

/// Runs the commands of a place, or all without one.
fn visit(place: Option<&Place>, lane: usize, wrong: &mut Vec<String>) -> Answers {
    let runs = |command: &Command| place.is_none_or(|place| place.runs.contains(&command.name));
    let answer = |command| runs(command).then(|| call(place, command, lane, wrong)).transpose();
    COMMANDS.iter().map(answer).collect()
}

fn call(
    place: Option<&Place>,
    command: &Command,
    lane: usize,
    wrong: &mut Vec<String>,
) -> Result<Answer, String> {
    // Two lanes on two CPUs, where the place leaves the choice.
    let two = crate::places::needs_cpus(2).is_ok() && !place.is_some_and(|place| place.its_cpu);
    let cpu = if two && command.kind != Kind::Simulated { format!(" --cpu {lane}") } else { String::new() };
    let mut scene = Scene::new(&format!("{}{cpu}", command.args));
    if let Some(place) = place {
        (place.enter)(&mut scene)?;
    }
    let outcome = scene.play(|_| {})?;
    let judged = catch_unwind(AssertUnwindSafe(|| {
        outcome.check_manners();
        let mut found = Vec::new();
        (judge::judge(command, &outcome, &mut found), found)
    }));
    Ok(match judged {
        Ok((answer, found)) => {
            wrong.extend(found);
            answer
        }
        Err(_) => {
            wrong.push(format!("{}: a panic of the judge: {}", command.name, outcome.describe()));
            Answer::default()
        }
    })
}
