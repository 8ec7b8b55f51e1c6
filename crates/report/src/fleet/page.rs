//! A fleet as one HTML page that needs nothing else.

use super::table::{companions, differences, hosts, remarks, sees, tally};
use crate::chart::mark::{self, Look};
use crate::chart::{Scale, Unit, rungs};
use crate::figure::Figure;
use crate::markup::clean;
use crate::sheet::{Cell, Page, Table};
use crate::style::Style;
use maud::{Markup, html};
use tollgate_judge::{Alike, AlikeProbe, Fleet};
use tollgate_record::number::{change, percent, plural};

/// Height of the strip of a probe in pixels.
const STRIP: f64 = 26.0;
/// Shares beyond this are drawn at the edge.
const FARTHEST: f64 = 0.25;

/// The page of a fleet.
pub fn fleet_html(fleet: &Fleet) -> String {
    let title = format!("a fleet of {}", plural(fleet.hosts.len(), "host", "hosts"));
    let header = html! {
        header {
            p.brand { "tollgate" }
            h1 { "What boundaries cost on " span { (clean(&title)) } }
            p.summary { (clean(&tally(fleet))) }
            ul.runs { @for group in &fleet.groups { (group_line(group)) } }
            @let remarks = remarks(fleet);
            @if !remarks.is_empty() { ul.why { @for text in &remarks { li.warning { (clean(text)) } } } }
        }
    };
    let sections = [
        ("hosts", "The hosts", hosts(fleet, &Style::PAGE).elements(&Page::PLAIN)),
        ("differences", "What differs", differing(fleet)),
        ("spread", "Every host in every probe", spread(fleet)),
    ];
    let sections: Vec<_> = sections.into_iter().filter(|(.., content)| !content.0.is_empty()).collect();
    let foot = "Made by tollgate fleet from the records alone: nothing was measured for this page, and it loads nothing. \
                A host is compared with the hosts that have its processor, kernel and mitigations and were measured with \
                the same effort and clock.";
    crate::html::document(&title, &header, &sections, foot)
}

fn group_line(group: &Alike) -> Markup {
    let mitigations: Vec<String> =
        group.mitigations.iter().map(|(name, state)| format!("{name}: {state}")).collect();
    let facts = [
        plural(group.hosts, "host", "hosts"),
        format!("{} runs", group.effort),
        format!("clock {}", group.clock),
        sees(group).map_or_else(String::new, |sees| format!("a difference of {} is found", percent(sees))),
    ];
    let facts: Vec<String> = facts.into_iter().filter(|it| !it.is_empty()).collect();
    html! {
        li {
            b { (group.name) }
            code { (clean(&crate::head::model(&group.processor))) }
            span.when { "Linux " (clean(&group.kernel)) }
            span.of { (clean(&facts.join(" · "))) }
            @if !mitigations.is_empty() {
                details.data {
                    summary { (plural(mitigations.len(), "mitigation", "mitigations")) }
                    ul.why { @for it in &mitigations { li { (clean(it)) } } }
                }
            }
        }
    }
}

fn differing(fleet: &Fleet) -> Markup {
    if fleet.differences.is_empty() {
        return Markup::default();
    }
    html! {
        p.lead { "What goes with each set of hosts:" }
        ul.notes { @for text in companions(fleet) { li { (clean(&text)) } } }
        (differences(fleet, &Style::PAGE).elements(&Page::PLAIN))
    }
}

fn spread(fleet: &Fleet) -> Markup {
    html! { @for group in fleet.groups.iter().filter(|group| !group.probes.is_empty()) { (strips(group)) } }
}

/// One row for each probe, one mark for each host.
fn strips(group: &Alike) -> Markup {
    let shares = |probe: &AlikeProbe| probe.figures.iter().map(|it| it.ratio - 1.0).collect::<Vec<_>>();
    let far = group.probes.iter().flat_map(shares).fold(0.0, |far: f64, it| far.max(it.abs()));
    let far = 100.0 * far.clamp(0.02, FARTHEST);
    let scale = Scale::linear([-far, far]);
    let mut table = Table::data(
        format!("What hosts of {} have in each probe", group.name),
        &[
            ("probe", false),
            ("hosts", true),
            ("usual", true),
            ("spread", true),
            ("sees", true),
            ("differ", true),
        ],
    );
    for probe in &group.probes {
        let unit = Unit::named(probe.of.unit);
        let share = |share: f64| Cell::shown(percent(share), share);
        let differing = probe.figures.iter().filter(|it| it.differs).count();
        table.row([
            Cell::text(probe.of.words()),
            Cell::count(probe.figures.len() as u64),
            Cell::shown(unit.show(probe.usual), probe.usual),
            share(probe.spread),
            share(probe.sees),
            Cell::count(differing as u64),
        ]);
    }
    let lead = "Each mark is a host: how far its figure is from the usual one of its like. Hosts that differ are diamonds \
                with their names. What is beyond the axis is at its end.";
    let title = format!("{}: {}", group.name, plural(group.hosts, "host", "hosts"));
    let mut figure = Figure::new(&title, lead, table);
    let unit = Unit::Other("%".into());
    figure.picture.push(rungs::axis(&scale, &unit, &[]));
    figure.picture.push(html! {
        ol class="rungs spread" {
            @for probe in &group.probes {
                @let name = probe.of.words();
                li.rung data-name=(clean(&name)) {
                    span.name { (clean(&name)) }
                    (strip(&scale, probe))
                    span.figures { b { (Unit::named(probe.of.unit).show(probe.usual)) } i { "± " (percent(probe.spread)) } }
                }
            }
        }
    });
    figure.element()
}

fn strip(scale: &Scale, probe: &AlikeProbe) -> Markup {
    let look = Look::nth(0);
    let named = Look { color: 1, shape: 2 };
    let at = |ratio: f64| scale.near(100.0 * (ratio - 1.0));
    let (usual, differing): (Vec<_>, Vec<_>) = probe.figures.iter().partition(|it| !it.differs);
    mark::track(
        STRIP,
        html! {
            (rungs::grid(scale, &Unit::Other("%".into()), STRIP))
            // The hosts that do not differ are one drawing, whose names the table of hosts has.
            g class=(look.class()) aria-hidden="true" {
                @for it in &usual { (mark::shape(look, "small", at(it.ratio), STRIP / 2.0)) }
            }
            @for it in &differing {
                @let words = format!("{}: {} {}", it.host, change(it.ratio - 1.0), probe.of.words());
                (mark::mark(&named.class(), &words, mark::shape(named, "middle", at(it.ratio), STRIP / 2.0)))
            }
        },
    )
}
