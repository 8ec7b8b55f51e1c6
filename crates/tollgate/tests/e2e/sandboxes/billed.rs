//! `exec` in every place: which source counts there, and that the bill says why no better one does.

use super::table::{PLACES, Place, Source};
use crate::case::squeezed;
use crate::scene::{Outcome, Scene};
use serde_json::Value;
use tollgate_testkit::skip_case;

#[test]
fn exec_in_every_place() {
    let (best, _) = counted(&bill(None).expect("nothing is needed for no place")).unwrap();
    let only = std::env::var("TOLLGATE_CASE").unwrap_or_default();
    let mut wrong = Vec::new();
    for place in PLACES.iter().filter(|place| place.name.contains(&only)) {
        match bill(Some(place)) {
            Err(why) => skip_case!(place.name, "{why}"),
            Ok(outcome) => wrong.extend(
                judge(place.counts, &outcome, &best)
                    .err()
                    .map(|why| format!("{}: {why}\n{}", place.name, outcome.describe())),
            ),
        }
    }
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
}

fn bill(place: Option<&Place>) -> Result<Outcome, String> {
    let mut scene = Scene::new("exec --price none --no-save --json -- true");
    if let Some(place) = place {
        (place.enter)(&mut scene)?;
    }
    let outcome = scene.play(|_| {})?;
    outcome.check_manners();
    Ok(outcome)
}

fn judge(expected: Source, outcome: &Outcome, best: &str) -> Result<(), String> {
    let (exit, why) = match expected {
        Source::Refused(exit, why) => (exit, why),
        // A command that could not be started there has the status of tollgate's own failure, and its reason.
        Source::Any if outcome.exit == Some(125) => (125, "cannot"),
        _ => (0, ""),
    };
    if outcome.exit != Some(exit) || !squeezed(&outcome.stderr).contains(why) {
        return Err(format!("exit {exit} with '{why}' is expected"));
    }
    if exit != 0 || matches!(expected, Source::Refused(..)) {
        return Ok(());
    }
    let (source, says) = counted(outcome)?;
    match expected {
        Source::Only(other, why) if best == "bpf" && (source != other || !says.contains(why)) => {
            Err(format!("counted by {source}, saying '{says}', where {other} and '{why}' are expected"))
        }
        Source::Bpf if source != best => Err(format!("counted by {source}, saying '{says}'")),
        _ => Ok(()),
    }
}

/// What counted, and what the bill warns of.
fn counted(outcome: &Outcome) -> Result<(String, String), String> {
    let run: Value = serde_json::from_str(&outcome.stderr).map_err(|error| format!("no bill: {error}"))?;
    let whole = &run["results"][0];
    let source = whole["found"]["source"].as_str().ok_or("the bill has no source")?;
    let warnings = whole["warnings"].as_array().into_iter().flatten();
    let says: Vec<&str> = warnings.filter_map(|warning| warning["text"].as_str()).collect();
    Ok((source.into(), says.join("; ")))
}
