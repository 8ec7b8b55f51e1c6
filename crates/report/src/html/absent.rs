//! Why a figure is not there, where it would be.

use super::runs::Runs;
use crate::markup::{Node, el};
use tollgate_record::{Measurement, Status};

/// Each reason once, with the names of what it kept from being measured; nothing when all that passes was measured.
pub(super) fn list(runs: &Runs, pass: impl Fn(&Measurement) -> bool) -> Vec<Node> {
    let mut said: Vec<(&'static str, String, Vec<String>)> = Vec::new();
    for row in runs.rows(|it| it.status != Status::Measured && pass(it)) {
        for (n, it) in &row.results {
            let reason = it.reason.as_deref().unwrap_or("no reason given");
            let enable =
                it.enable.as_deref().map(|enable| format!(". To enable it: {enable}")).unwrap_or_default();
            let (class, word) =
                if it.status == Status::Skipped { ("skipped", "skipped") } else { ("failed", "failed") };
            let text = format!("{word}: {reason}{enable}");
            let name = format!("{}{}", runs.before(*n), row.name);
            match said.iter_mut().find(|(_, there, _)| *there == text) {
                Some((_, _, names)) => names.push(name),
                None => said.push((class, text, vec![name])),
            }
        }
    }
    if said.is_empty() {
        return Vec::new();
    }
    let items = said.into_iter().map(|(class, text, names)| {
        el("li").class(class).text(format!("{} {text}", crate::text::list(&names, 6)))
    });
    vec![el("ul").class("why").all(items).into()]
}
