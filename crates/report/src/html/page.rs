//! The frame of the page: head, title, list of runs, contents, sections, foot.

use super::compared;
use super::runs::{One, Runs};
use crate::chart::mark;
use crate::markup::{clean, finish, own};
use crate::remarks::sentence;
use indexmap::IndexSet;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use tollgate_record::number::{percent, plural, three};
use tollgate_record::{Run, Status, phase};

/// The page's colors and layout.
const STYLE: &str = include_str!("page.css");

/// Tooltip, filter, sorting and arrow keys. The page can be read without it.
const SCRIPT: &str = include_str!("page.js");

/// What the browser must know first. Nothing may be loaded from anywhere, whatever got into the page; no icon is asked for.
/// Closed, as XML wants it.
const HEAD: PreEscaped<&str> = PreEscaped(concat!(
    r#"<meta charset="utf-8"/><meta http-equiv="Content-Security-Policy" content="default-src 'none'; "#,
    r#"style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"/>"#,
    r#"<meta name="viewport" content="width=device-width, initial-scale=1"/>"#,
    r#"<meta name="color-scheme" content="light dark"/><link rel="icon" href="data:,"/>"#,
));

/// A part of the page: its anchor, its title, and what is in it; nothing when the runs have nothing of the kind.
pub(super) type Section = (&'static str, &'static str, fn(&Runs) -> Markup);

pub(super) fn page(runs: &Runs, sections: &[(&str, &str, Markup)]) -> String {
    let title = title(runs);
    document(&title, &header(runs, &title), sections, &made_from(runs))
}

/// A whole page: its title, its header, its sections, each with anchor and title, and the sentence at its foot.
pub(crate) fn document(
    title: &str,
    header: &Markup,
    sections: &[(&str, &str, Markup)],
    foot: &str,
) -> String {
    finish(html! {
        (DOCTYPE) "\n"
        html lang="en" xmlns="http://www.w3.org/1999/xhtml" {
            head { (HEAD) title { (clean(&format!("tollgate: {title}"))) } style { (own(STYLE)) } }
            body {
                a.skip href="#content" { "Skip to the figures" }
                (mark::shapes())
                (header)
                nav aria-label="Contents" {
                    ul { @for (id, title, _) in sections { li { a href={ "#" (id) } { (title) } } } }
                }
                main #content {
                    @for (id, title, content) in sections {
                        @let heading = format!("{id}-title");
                        section.part #(id) aria-labelledby=(heading) {
                            h2 #(heading) { (title) }
                            (content)
                        }
                    }
                }
                footer { p { (clean(foot)) } }
                script { (own(SCRIPT)) }
            }
        }
    })
}

/// The machine that was measured, by its processor; of several machines the first and how many others.
fn title(runs: &Runs) -> String {
    let models: IndexSet<String> = runs.all.iter().map(|one| machine(&one.run)).collect();
    let models: Vec<String> = models.into_iter().filter(|model| !model.is_empty()).collect();
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

fn header(runs: &Runs, title: &str) -> Markup {
    html! {
        header {
            p.brand { "tollgate" }
            @let verdict = compared::verdict(runs);
            h1 {
                (if verdict.is_some() { "What changed from A to B on " } else { "What it costs to cross a boundary on " })
                span { (clean(title)) }
            }
            @if let Some(line) = verdict.or_else(|| range(runs)).or_else(|| paid(runs)) { p.summary { (clean(&line)) } }
            @if runs.all.iter().all(|one| one.run.results.is_empty()) {
                p.summary { "Nothing was measured: no probe was chosen, or none came to its end." }
            }
            // More than a few are set in columns.
            ul class=(if runs.all.len() > 4 { "runs many" } else { "runs" }) {
                @for one in &runs.all { (run(runs, one)) }
            }
        }
    }
}

/// From the cheapest to the most expensive, in words.
fn range(runs: &Runs) -> Option<String> {
    let figures = runs
        .all
        .iter()
        .flat_map(|one| &one.run.results)
        .filter(|it| it.probe != "null" && it.engine == "host" && it.asked.exec().is_none());
    let figures = figures.filter_map(|it| Some((it.probe.as_str(), it.ns?.estimate)));
    let mut figures: Vec<(&str, f64)> = figures.filter(|(_, ns)| *ns > 0.0).collect();
    figures.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (first, last) = (figures.first()?, figures.last()?);
    let ratio = last.1 / first.1;
    if first.0 == last.0 || !(2.0..f64::INFINITY).contains(&ratio) {
        return None;
    }
    let show = |ns| crate::chart::Unit::Nanoseconds.show(ns);
    let times = three(if ratio < 100.0 { ratio } else { two_digits(ratio) });
    Some(format!(
        "From {} for {} to {} for {}: {times} times as much.",
        show(first.1),
        clean(first.0),
        show(last.1),
        clean(last.0)
    ))
}

/// What the first program with a bill paid, in words.
fn paid(runs: &Runs) -> Option<String> {
    let whole = runs.all.iter().flat_map(|one| &one.run.results).find(|it| it.found.exec().is_some())?;
    let (tolls, cpu) = (whole.phase(phase::TOLL)?.ns?.estimate, whole.ns?.estimate);
    let command = whole.asked.exec()?.command.join(" ");
    let show = |ns| crate::chart::Unit::Nanoseconds.show(ns);
    let share = percent(tolls / cpu);
    Some(format!("{command} paid {} of tolls, {share} of its {} of CPU time.", show(tolls), show(cpu)))
}

fn two_digits(number: f64) -> f64 {
    let unit = 10f64.powf(number.log10().floor() - 1.0);
    (number / unit).round() * unit
}

/// What a run was: its mark, its command, when and where.
fn run(runs: &Runs, one: &One) -> Markup {
    let run = &one.run;
    let count = |status| run.results.iter().filter(|it| it.status == status).count();
    let command: Vec<&str> =
        std::iter::once("tollgate").chain(run.command.iter().map(String::as_str)).collect();
    let host = Some(format!("host {}", clean(&run.host.name))).filter(|_| runs.are_several());
    let mut facts: Vec<String> = host.into_iter().collect();
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
    let unfinished = "This run did not reach its end: interrupted, or still going on.";
    let warnings: Vec<&str> =
        (!run.complete).then_some(unfinished).into_iter().chain(run.warnings.iter().map(sentence)).collect();
    let list = html! { ul.why { @for text in &warnings { li.warning { (clean(text)) } } } };
    html! {
        li {
            @if runs.are_several() { (mark::swatch(one.look)) b { (one.letter) } }
            code { (clean(&command.join(" "))) }
            span.when { (when(&run.started)) }
            span.of { (clean(&facts.join(" · "))) }
            // The warnings of one run are visible; those of many would fill the screen.
            @if !warnings.is_empty() && runs.are_several() {
                details.data { summary { (plural(warnings.len(), "warning", "warnings")) } (list) }
            } @else if !warnings.is_empty() {
                (list)
            }
        }
    }
}

/// `2026-11-20T10:11:12Z` for a reader.
fn when(started: &str) -> String {
    clean(started).replacen('T', " ", 1).replace('Z', " UTC")
}

fn made_from(runs: &Runs) -> String {
    let ids: Vec<String> =
        runs.all.iter().map(|one| clean(&one.run.id)).filter(|id| !id.is_empty()).collect();
    format!(
        "Made by tollgate from the record alone ({}): nothing was measured for this page, and it loads nothing.",
        crate::text::list(&ids, 3)
    )
}
