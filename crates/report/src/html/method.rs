//! How each number was obtained: METHOD.md, and of the pages in docs the sections of what these runs measured.
//! The text is taken from those files when the program is built, so there is one place to edit.

mod markdown;

use super::runs::Runs;
use crate::markup::{Element, Node, el};
use std::collections::BTreeSet;
use tollgate_record::Status;

const METHOD: &str = include_str!("../../../../METHOD.md");

/// The pages of the families.
static PAGES: &[(&str, &str)] = &[
    ("call", include_str!("../../../../docs/reference/probes/call.md")),
    ("core", include_str!("../../../../docs/reference/probes/core.md")),
    ("fault", include_str!("../../../../docs/reference/probes/fault.md")),
    ("fiber", include_str!("../../../../docs/reference/probes/fiber.md")),
    ("hardware", include_str!("../../../../docs/reference/probes/hardware.md")),
    ("null", include_str!("../../../../docs/reference/probes/null.md")),
    ("process", include_str!("../../../../docs/reference/probes/process.md")),
    ("ring", include_str!("../../../../docs/reference/probes/ring.md")),
    ("signal", include_str!("../../../../docs/reference/probes/signal.md")),
    ("spawn", include_str!("../../../../docs/reference/probes/spawn.md")),
    ("switch", include_str!("../../../../docs/reference/probes/switch.md")),
    ("syscall", include_str!("../../../../docs/reference/probes/syscall.md")),
    ("thread", include_str!("../../../../docs/reference/probes/thread.md")),
    ("vdso", include_str!("../../../../docs/reference/probes/vdso.md")),
    ("vm", include_str!("../../../../docs/reference/probes/vm.md")),
];

/// The heading under which every page ends.
const HIDES: &str = "What this hides";

/// The anchor of the section on a probe, where a page has one and this section shows it.
pub(super) fn anchor(probe: &str) -> Option<String> {
    let family = probe.split('/').next()?;
    let (_, page) = PAGES.iter().find(|(name, _)| *name == family)?;
    let section = sections(page).into_iter().find(|(title, _)| title.trim_matches('`') == probe)?;
    Some(format!("how-{}", section.0.trim_matches('`').replace(['/', ' '], "-")))
}

/// A page's sections of the second level: heading and text.
fn sections(page: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut sections = Vec::new();
    for piece in page.split("\n## ").skip(1) {
        sections.push(piece.split_once('\n').unwrap_or((piece, "")));
    }
    sections.into_iter().map(|(title, text)| (title.trim(), text)).collect()
}

pub(super) fn section(runs: &Runs) -> Vec<Node> {
    let results =
        || runs.all.iter().flat_map(|one| &one.run.results).filter(|it| it.status == Status::Measured);
    let probes: BTreeSet<&str> = results().map(|it| it.probe.as_str()).collect();
    let families: BTreeSet<&str> = results().map(|it| it.family()).collect();
    let lead = "The text is that of the program which made this page; the runs may be older. Links in the ladder lead \
                to the section of each probe.";
    let mut nodes: Vec<Node> = vec![el("p").class("lead").words(lead).into()];
    let shown = PAGES.iter().filter(|(family, _)| families.contains(family));
    for (family, page) in shown {
        let of_probe = |title: &str| probes.contains(title.trim_matches('`'));
        let parts = sections(page).into_iter().filter(|(title, _)| of_probe(title) || *title == HIDES);
        let parts: Vec<Element> = parts
            .map(|(title, text)| {
                let name = title.trim_matches('`');
                let id = if name == HIDES {
                    format!("hides-{family}")
                } else {
                    format!("how-{}", name.replace(['/', ' '], "-"))
                };
                el("section")
                    .class("text")
                    .set("id", id)
                    .with(el("h4").words(name))
                    .all(markdown::blocks(text, 5))
            })
            .collect();
        nodes.push(folded(
            &super::runs::family(family),
            &format!("docs/reference/probes/{family}.md"),
            parts,
        ));
    }
    nodes.push(folded(
        "How a figure comes about",
        "METHOD.md",
        vec![el("section").class("text").all(markdown::blocks(METHOD, 4))],
    ));
    nodes
}

/// A text behind its title, so that the figures stay near each other.
fn folded(title: &str, file: &str, parts: Vec<Element>) -> Node {
    let summary =
        el("summary").with(el("h3").text(title)).words(" ").with(el("span").class("per").words(file));
    el("details").class("method").with(summary).all(parts).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_embedded_and_found_by_its_probes() {
        assert_eq!(anchor("syscall/getppid").as_deref(), Some("how-syscall-getppid"));
        assert_eq!(anchor("thread/futex").as_deref(), Some("how-thread-futex"));
        assert_eq!(anchor("syscall/\"><script>"), None);
        assert_eq!(anchor("nothing/of-ours"), None);
        for (family, page) in PAGES {
            assert!(sections(page).iter().any(|(title, _)| *title == HIDES), "{family}");
        }
    }
}
