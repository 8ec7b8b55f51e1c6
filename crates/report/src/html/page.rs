//! The frame of the page: head, title, list of runs, contents, sections, foot.

use super::runs::{One, Runs};
use crate::chart::mark;
use crate::markup::{Element, Node, clean, el};
use tollgate_record::{Run, Status};

/// The page's colors and layout.
const STYLE: &str = include_str!("page.css");

/// Tooltip, filter, sorting and arrow keys. The page can be read without it.
const SCRIPT: &str = include_str!("page.js");

/// Nothing may be loaded from anywhere, whatever got into the page.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// A part of the page.
pub(super) struct Section {
    /// Its anchor.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What is in it; nothing when the runs have nothing of the kind.
    pub(super) build: fn(&Runs) -> Vec<Node>,
}

pub(super) fn page(runs: &Runs, sections: Vec<(&Section, Vec<Node>)>) -> String {
    let title = title(runs);
    let head = el("head")
        .with(el("meta").set("charset", "utf-8"))
        .with(el("meta").set("http-equiv", "Content-Security-Policy").set("content", POLICY))
        .with(el("meta").set("name", "viewport").set("content", "width=device-width, initial-scale=1"))
        .with(el("meta").set("name", "color-scheme").set("content", "light dark"))
        // No icon is asked for.
        .with(el("link").set("rel", "icon").set("href", "data:,"))
        .with(el("title").text(format!("tollgate: {title}")))
        .with(el("style").with(Node::Own(STYLE)));
    let contents =
        el("nav").set("aria-label", "Contents").with(el("ul").all(sections.iter().map(|(section, _)| {
            el("li").with(el("a").set("href", format!("#{}", section.id)).words(section.title))
        })));
    let body = el("body")
        .with(el("a").class("skip").set("href", "#content").words("Skip to the figures"))
        .with(mark::shapes())
        .with(header(runs, &title))
        .with(contents)
        .with(el("main").set("id", "content").all(sections.into_iter().map(|(section, content)| {
            let heading = format!("{}-title", section.id);
            el("section")
                .class("part")
                .set("id", section.id)
                .set("aria-labelledby", heading.as_str())
                .with(el("h2").set("id", heading).words(section.title))
                .all(content)
        })))
        .with(footer(runs))
        .with(el("script").with(Node::Own(SCRIPT)));
    let mut out = String::from("<!DOCTYPE html>\n");
    el("html")
        .set("lang", "en")
        .set("xmlns", "http://www.w3.org/1999/xhtml")
        .with(head)
        .with(body)
        .write(&mut out);
    out.push('\n');
    out
}

/// The machine that was measured, by its processor; of several machines the first and how many others.
fn title(runs: &Runs) -> String {
    let mut models: Vec<String> = Vec::new();
    for one in &runs.all {
        let model = machine(&one.run);
        if !model.is_empty() && !models.contains(&model) {
            models.push(model);
        }
    }
    if models.is_empty() {
        "a machine that the record does not name".into()
    } else {
        crate::text::list(&models, 2)
    }
}

/// What was measured: a simulated machine, or the host by its processor or its name.
fn machine(run: &Run) -> String {
    if !run.results.is_empty() && run.results.iter().all(|it| it.family().starts_with("riscv")) {
        return "a simulated RISC-V machine".into();
    }
    let model = crate::head::model(&clean(&run.host.cpu.model));
    if model.is_empty() { clean(&run.host.name) } else { model }
}

fn header(runs: &Runs, title: &str) -> Element {
    let mut header = el("header")
        .with(el("p").class("brand").words("tollgate"))
        .with(el("h1").words("What it costs to cross a boundary on ").with(el("span").text(title)));
    if let Some(line) = range(runs) {
        header = header.with(el("p").class("summary").text(line));
    }
    if runs.all.iter().all(|one| one.run.results.is_empty()) {
        let nothing = "Nothing was measured: no probe was chosen, or none came to its end.";
        header = header.with(el("p").class("summary").words(nothing));
    }
    // More than a few are set in columns.
    let class = if runs.all.len() > 4 { "runs many" } else { "runs" };
    header.with(el("ul").class(class).all(runs.all.iter().map(|one| run(runs, one))))
}

/// From the cheapest to the most expensive, in words.
fn range(runs: &Runs) -> Option<String> {
    let figures = runs
        .all
        .iter()
        .flat_map(|one| &one.run.results)
        .filter(|it| it.probe != "null" && it.engine == "host");
    let mut figures: Vec<(&str, f64)> = figures
        .filter_map(|it| Some((it.probe.as_str(), it.ns?.estimate)))
        .filter(|(_, ns)| *ns > 0.0)
        .collect();
    figures.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (first, last) = (figures.first()?, figures.last()?);
    let ratio = last.1 / first.1;
    if first.0 == last.0 || ratio < 2.0 {
        return None;
    }
    let show = |ns| crate::chart::Unit::Nanoseconds.show(ns);
    let times = tollgate_record::number::three(if ratio < 100.0 { ratio } else { two_digits(ratio) });
    Some(format!(
        "From {} for {} to {} for {}: {times} times as much.",
        show(first.1),
        clean(first.0),
        show(last.1),
        clean(last.0)
    ))
}

fn two_digits(number: f64) -> f64 {
    let unit = 10f64.powf(number.log10().floor() - 1.0);
    (number / unit).round() * unit
}

/// What a run was: its mark, its command, when and where.
fn run(runs: &Runs, one: &One) -> Element {
    let run = &one.run;
    let count = |status| run.results.iter().filter(|it| it.status == status).count();
    let mut item = el("li");
    if runs.are_several() {
        item = item.with(mark::swatch(one.look)).with(el("b").text(&one.letter));
    }
    let command = if run.command.is_empty() {
        "tollgate".into()
    } else {
        format!("tollgate {}", run.command.join(" "))
    };
    item = item.with(el("code").text(command)).with(el("span").class("when").text(when(&run.started)));
    let mut facts: Vec<String> = Vec::new();
    if let Some(release) = Some(clean(&run.host.kernel.release)).filter(|it| !it.is_empty()) {
        facts.push(format!("Linux {release}"));
    }
    if let Some(hypervisor) = &run.host.hypervisor {
        facts.push(format!("{} guest", clean(hypervisor)));
    }
    facts.push(format!("{} measured", count(Status::Measured)));
    for (status, word) in [(Status::Skipped, "skipped"), (Status::Failed, "failed")] {
        if count(status) > 0 {
            facts.push(format!("{} {word}", count(status)));
        }
    }
    item = item.with(el("span").class("of").text(facts.join(" · ")));
    let mut warnings: Vec<String> = Vec::new();
    if !run.complete {
        warnings.push("This run did not reach its end: interrupted, or still going on.".into());
    }
    warnings.extend(
        run.warnings
            .iter()
            .map(|it| if it.text.trim().is_empty() { it.code.clone() } else { it.text.clone() }),
    );
    if warnings.is_empty() {
        return item;
    }
    let list = el("ul").class("why").all(warnings.iter().map(|text| el("li").class("warning").text(text)));
    // The warnings of one run are visible; those of many would fill the screen.
    if runs.are_several() {
        let said = tollgate_record::number::plural(warnings.len(), "warning", "warnings");
        return item.with(el("details").class("data").with(el("summary").text(said)).with(list));
    }
    item.with(list)
}

/// `2026-11-20T10:11:12Z` for a reader.
fn when(started: &str) -> String {
    clean(started).replacen('T', " ", 1).replace('Z', " UTC")
}

fn footer(runs: &Runs) -> Element {
    let ids: Vec<String> =
        runs.all.iter().map(|one| clean(&one.run.id)).filter(|id| !id.is_empty()).collect();
    el("footer").with(el("p").text(format!(
        "Made by tollgate from the record alone ({}): nothing was measured for this page, and it loads nothing.",
        crate::text::list(&ids, 3)
    )))
}
