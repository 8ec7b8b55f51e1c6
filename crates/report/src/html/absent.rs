//! Remarks on figures that have no row of their own: why a figure is missing, and warnings.

use super::runs::Runs;
use crate::markup::{Node, el};
use tollgate_record::{Measurement, Status};

/// The most names before a reason; more are counted, since names of cells have commas of their own.
const NAMED: usize = 2;

/// One remark, and its subjects.
struct Said {
    class: &'static str,
    /// What makes two the same: the reason, or the code of a warning.
    key: String,
    text: String,
    /// Whether others of the same code have other figures in their text.
    varies: bool,
    names: Vec<String>,
}

/// Each reason and each warning once, with the names of what it is of; nothing when all that passes was measured and
/// has no warnings.
pub(super) fn list(runs: &Runs, pass: impl Fn(&Measurement) -> bool) -> Vec<Node> {
    let mut said: Vec<Said> = Vec::new();
    let mut say = |class, key: String, text: String, name: String| match said
        .iter_mut()
        .find(|it| it.class == class && it.key == key)
    {
        Some(there) => {
            there.varies |= there.text != text;
            there.names.push(name);
        }
        None => said.push(Said { class, key, text, varies: false, names: vec![name] }),
    };
    for row in runs.rows(pass) {
        for (n, it) in &row.results {
            let name = || format!("{}{}", runs.before(*n), row.name);
            if it.status != Status::Measured {
                let (class, word) =
                    if it.status == Status::Skipped { ("skipped", "skipped") } else { ("failed", "failed") };
                let reason = it.reason.as_deref().unwrap_or("no reason given");
                let enable = it
                    .enable
                    .as_deref()
                    .map(|enable| format!(". To enable it: {enable}"))
                    .unwrap_or_default();
                let text = format!("{word}: {reason}{enable}");
                say(class, text.clone(), text, name());
            }
            for warning in &it.warnings {
                let text = if warning.text.trim().is_empty() { &warning.code } else { &warning.text };
                say("warning", warning.code.clone(), text.clone(), name());
            }
        }
    }
    if said.is_empty() {
        return Vec::new();
    }
    let items = said.into_iter().map(|it| {
        let names = crate::text::list(&it.names, NAMED);
        let example = if it.varies { "for example " } else { "" };
        let colon = if it.class == "warning" { ":" } else { "" };
        el("li").class(it.class).text(format!("{names}{colon} {example}{}", it.text))
    });
    vec![el("ul").class("why").all(items).into()]
}
