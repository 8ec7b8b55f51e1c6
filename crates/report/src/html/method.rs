//! How each number was obtained: METHOD.md, and of the pages in docs the sections of what these runs measured.
//! The text is taken from those files when the program is built, so there is one place to edit.

mod markdown;

use super::runs::Runs;
use crate::markup::clean;
use maud::{Markup, html};
use std::collections::BTreeSet;
use tollgate_record::Status;

const METHOD: &str = include_str!("../../METHOD.md");

/// The pages of the families.
static PAGES: &[(&str, &str)] = &[
    ("call", include_str!("../../docs/reference/probes/call.md")),
    ("core", include_str!("../../docs/reference/probes/core.md")),
    ("fault", include_str!("../../docs/reference/probes/fault.md")),
    ("ffi", include_str!("../../docs/reference/probes/ffi.md")),
    ("fiber", include_str!("../../docs/reference/probes/fiber.md")),
    ("hardware", include_str!("../../docs/reference/probes/hardware.md")),
    ("interpose", include_str!("../../docs/reference/probes/interpose.md")),
    ("null", include_str!("../../docs/reference/probes/null.md")),
    ("process", include_str!("../../docs/reference/probes/process.md")),
    ("ring", include_str!("../../docs/reference/probes/ring.md")),
    ("signal", include_str!("../../docs/reference/probes/signal.md")),
    ("spawn", include_str!("../../docs/reference/probes/spawn.md")),
    ("switch", include_str!("../../docs/reference/probes/switch.md")),
    ("syscall", include_str!("../../docs/reference/probes/syscall.md")),
    ("thread", include_str!("../../docs/reference/probes/thread.md")),
    ("vdso", include_str!("../../docs/reference/probes/vdso.md")),
    ("vm", include_str!("../../docs/reference/probes/vm.md")),
    ("wake", include_str!("../../docs/reference/probes/wake.md")),
];

/// The heading under which every page ends.
const HIDES: &str = "What this hides";

/// The anchor of the section on a probe, where a page has one and this section shows it.
pub(super) fn anchor(probe: &str) -> Option<String> {
    let family = probe.split('/').next()?;
    let (_, page) = PAGES.iter().find(|(name, _)| *name == family)?;
    sections(page).find(|(name, _)| is_about(name, probe)).map(|(name, _)| id(name))
}

/// Whether a section is about a probe: it has its name, or that of the group to which the probe belongs.
fn is_about(section: &str, probe: &str) -> bool {
    let group = probe.strip_prefix(section).is_some_and(|rest| rest.starts_with('/'));
    section == probe || group && section.contains('/')
}

fn id(name: &str) -> String {
    format!("how-{}", name.replace(['/', ' '], "-"))
}

/// A page's sections of the second level: the name in the heading, and the text.
fn sections(page: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let section = |piece: &'static str| {
        let (title, text) = piece.split_once('\n').unwrap_or((piece, ""));
        (title.trim().trim_matches('`'), text)
    };
    page.split("\n## ").skip(1).map(section)
}

pub(super) fn section(runs: &Runs) -> Markup {
    let results =
        || runs.all.iter().flat_map(|one| &one.run.results).filter(|it| it.status == Status::Measured);
    let probes: BTreeSet<&str> = results().map(|it| it.probe.as_str()).collect();
    let families: BTreeSet<&str> = results().map(|it| it.family()).collect();
    let shown = PAGES.iter().filter(|(family, _)| families.contains(family));
    html! {
        p.lead {
            "The text is that of the program which made this page; the runs may be older. Links in the ladder lead to the \
             section of each probe."
        }
        @for (family, page) in shown {
            (folded(&super::runs::family(family), &format!("docs/reference/probes/{family}.md"), html! {
                @for (name, text) in sections(page).filter(|(name, _)| is_shown(name, &probes)) {
                    section class="text" id=(if name == HIDES { format!("hides-{family}") } else { id(name) }) {
                        h4 { (name) }
                        (markdown::blocks(text, 5))
                    }
                }
            }))
        }
        (folded("How a figure comes about", "METHOD.md", html! { section.text { (markdown::blocks(METHOD, 4)) } }))
    }
}

/// Whether these probes need a section.
fn is_shown(section: &str, probes: &BTreeSet<&str>) -> bool {
    section == HIDES || probes.iter().any(|probe| is_about(section, probe))
}

/// A text behind its title, so that the figures stay near each other.
fn folded(title: &str, file: &str, text: Markup) -> Markup {
    html! { details.method { summary { h3 { (clean(title)) } " " span.per { (file) } } (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_is_embedded_and_found_by_its_probes() {
        assert_eq!(anchor("syscall/getppid").as_deref(), Some("how-syscall-getppid"));
        assert_eq!(anchor("thread/futex").as_deref(), Some("how-thread-futex"));
        assert_eq!(anchor("ffi/cgo/down-8").as_deref(), Some("how-ffi-cgo"));
        assert_eq!(anchor("ffi/cg/down"), None);
        assert_eq!(anchor("syscall/\"><script>"), None);
        assert_eq!(anchor("nothing/of-ours"), None);
        for (family, page) in PAGES {
            assert!(sections(page).any(|(name, _)| name == HIDES), "{family}");
        }
    }
}
