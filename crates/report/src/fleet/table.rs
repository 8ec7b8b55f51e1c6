//! A fleet as text for a terminal.

use crate::sheet::{Cell, Column, Sheet, Table, prose};
use crate::style::{Paint, Style};
use crate::text::{clean, cut, list};
use indexmap::IndexMap;
use tollgate_judge::{Alike, Companion, Fleet, FleetHost, HostDifference, SharedFact, median};
use tollgate_record::number::{SHORT, change, count, fit, percent, plural, three};

/// Differences that a terminal shows; the page and `--json` have all of them.
const SHOWN: usize = 60;
/// Probes that are named in a sentence.
const NAMED: usize = 4;

/// All hosts, what differs, and what goes with it.
pub fn fleet_table(fleet: &Fleet, style: &Style) -> String {
    let mut text = Sheet::new();
    for group in &fleet.groups {
        text.extend(prose(group_words(group, style), format!("{}  ", group.name)));
    }
    text.blank();
    text.extend(hosts(fleet, style));
    text.blank();
    if !fleet.differences.is_empty() {
        text.extend(differences(fleet, style));
        text.blank();
    }
    text.extend(prose(tally(fleet), ""));
    for sentence in companions(fleet) {
        text.extend(prose(clean(&sentence, style), "  - "));
    }
    for sentence in remarks(fleet) {
        text.extend(prose(clean(&sentence, style), ""));
    }
    text.text(style)
}

/// What like hosts have in common.
fn group_words(group: &Alike, style: &Style) -> String {
    let words = [
        cut(&clean(&crate::head::model(&group.processor), style), 50, style),
        if group.kernel.is_empty() {
            String::new()
        } else {
            format!("Linux {}", clean(&group.kernel, style))
        },
        match group.mitigations.len() {
            0 => String::new(),
            n => plural(n, "mitigation", "mitigations"),
        },
        format!("{} runs", clean(&group.effort, style)),
        plural(group.hosts, "host", "hosts"),
        sees(group).map_or_else(String::new, |sees| format!("sees {}", percent(sees))),
    ];
    words.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The smallest difference that would be found, in the middle probe.
pub(super) fn sees(group: &Alike) -> Option<f64> {
    let all: Vec<f64> =
        group.probes.iter().map(|it| it.sees).filter(|it| *it > 0.0 && it.is_finite()).collect();
    (!all.is_empty()).then(|| median(&all))
}

pub(super) fn hosts(fleet: &Fleet, style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("host").most(40).least(12),
        Column::left("like"),
        Column::right("GHz").rank(3),
        Column::right("probes").rank(2),
        Column::right("slower"),
        Column::right("faster"),
        Column::left("farthest").most(50).least(16).rank(1),
    ]);
    for host in &fleet.hosts {
        let farthest = farthest(fleet, host);
        let paint = match farthest {
            Some(it) if it.ratio > 1.0 => Paint::Bad,
            Some(_) => Paint::Good,
            None => Paint::Plain,
        };
        let words = farthest.map_or_else(
            || host.why.as_ref().map_or_else(String::new, |_| "not compared".into()),
            |it| format!("{} {}", change(it.ratio - 1.0), clean(&it.of.words(), style)),
        );
        let number = |n: usize| if host.why.is_some() { "-".to_owned() } else { count(n) };
        table.row([
            clean(&host.name, style).into(),
            host.group.clone().into(),
            host.core_hz.map_or("".into(), |hz| Cell::shown(format!("{:.2}", hz / 1e9), hz)),
            Cell::count(host.measured as u64),
            number(host.slower).into(),
            number(host.faster).into(),
            Cell::from(words).paint(paint),
        ]);
    }
    table.into()
}

/// The difference of a host that is the surest.
fn farthest<'f>(fleet: &'f Fleet, host: &FleetHost) -> Option<&'f HostDifference> {
    fleet.differences.iter().find(|it| it.host == host.name && it.group == host.group)
}

pub(super) fn differences(fleet: &Fleet, style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("differs from its like").most(44).least(20),
        Column::right("it has").rank(2),
        Column::right("usual").rank(1),
        Column::right("change"),
        Column::right("99 % interval").rank(3),
        Column::right("chance").rank(4),
    ]);
    let mut of = ("", "");
    let shown = if style.all { fleet.differences.len() } else { SHOWN };
    for it in fleet.differences.iter().take(shown) {
        if of != (it.host.as_str(), it.group.as_str()) {
            of = (&it.host, &it.group);
            table.heading(clean(&it.host, style), Paint::Plain);
        }
        let unit = if it.of.unit == "cycles" { "c" } else { "" };
        let value = |value: f64| Cell::shown(format!("{}{unit}", fit(value, SHORT)), value);
        let paint = if it.ratio > 1.0 { Paint::Bad } else { Paint::Good };
        table.row([
            format!("  {}", clean(&it.of.words(), style)).into(),
            value(it.value),
            value(it.usual),
            Cell::shown(change(it.ratio - 1.0), it.ratio).paint(paint),
            Cell::shown(interval(it), it.interval[0]),
            Cell::shown(chance(it.chance), it.chance),
        ]);
    }
    let mut text = Sheet::from(table);
    let more = fleet.differences.len().saturating_sub(shown);
    if more > 0 {
        text.extend(prose(format!("{} more: see the page, or --json.", count(more)), ""));
    }
    text
}

/// The interval of a change, or that it is exact.
fn interval(it: &HostDifference) -> String {
    let [low, high] = it.interval;
    if low == high {
        return "exact".into();
    }
    let signed = |share: f64| change(share).trim_end_matches(" %").to_owned();
    format!("{} {}", signed(low - 1.0), signed(high - 1.0))
}

/// A chance in few columns.
fn chance(chance: f64) -> String {
    match chance {
        0.0 => "exact".into(),
        it if it < 0.0001 => "< 0.0001".into(),
        it => three(it),
    }
}

/// How many differ, and what that means.
pub(super) fn tally(fleet: &Fleet) -> String {
    let differing = fleet.hosts.iter().filter(|host| host.slower + host.faster > 0).count();
    let found = match fleet.differences.len() {
        0 => "no host differs from its like".to_owned(),
        n => format!(
            "{}, in {}",
            match differing {
                1 => "1 host differs from its like".to_owned(),
                n => format!("{} hosts differ from their like", count(n)),
            },
            plural(n, "figure", "figures")
        ),
    };
    let hosts = plural(fleet.hosts.len(), "host", "hosts");
    if fleet.tested == 0 {
        return format!("{hosts}: {found}.");
    }
    format!(
        "{hosts}, {} tested: {found}. Chances are corrected for all of these figures: of fleets in which no host differs, \
         at most {} name one, and of many differences at most {} are false.",
        plural(fleet.tested, "figure", "figures"),
        percent(fleet.chance),
        percent(fleet.false_share)
    )
}

/// What goes with the differences: one sentence for each set of hosts.
pub(super) fn companions(fleet: &Fleet) -> Vec<String> {
    let mut sets: IndexMap<(&str, &[String], bool), Vec<&Companion>> = IndexMap::new();
    for it in &fleet.companions {
        sets.entry((it.group.as_str(), &it.hosts[..], it.slower)).or_default().push(it);
    }
    let sentence = |((_, hosts, slower), all): ((&str, &[String], bool), Vec<&Companion>)| {
        let probes: Vec<String> =
            all.iter().map(|it| format!("{} ({})", it.of.words(), change(it.ratio - 1.0))).collect();
        let word = if slower { "slower" } else { "faster" };
        format!("{}: {word} in {}. {}", list(hosts, 3), list(&probes, NAMED), with(all[0]))
    };
    sets.into_iter().map(sentence).collect()
}

/// The facts in a sentence.
fn with(it: &Companion) -> String {
    let words = |fact: &SharedFact| {
        let (here, there) = (it.hosts.len(), fact.of_others);
        let value = |value: &str| tollgate_record::text::short(value, 60);
        format!(
            "{} {} ({} of {here}; {} of {there} others, of which most have {})",
            fact.what,
            value(&fact.value),
            fact.differing,
            fact.others,
            value(&fact.usual)
        )
    };
    let sure: Vec<String> = it.facts.iter().filter(|fact| fact.sure).map(words).collect();
    if !sure.is_empty() {
        return format!("Goes with {}.", sure.join(", "));
    }
    let rare = |fact: &&SharedFact| fact.differing == it.hosts.len() && 10 * fact.others <= fact.of_others;
    let maybe: Vec<String> = it.facts.iter().filter(rare).map(words).collect();
    if maybe.is_empty() {
        return "No recorded fact goes with it.".into();
    }
    format!("May go with {}; so few hosts cannot prove it.", maybe.join(", "))
}

/// What was not compared, and why.
pub(super) fn remarks(fleet: &Fleet) -> Vec<String> {
    let mut reasons: IndexMap<(&str, &str), Vec<String>> = IndexMap::new();
    for host in &fleet.hosts {
        if let Some(why) = &host.why {
            reasons.entry((&host.group, why)).or_default().push(host.name.clone());
        }
    }
    let mut text: Vec<String> =
        reasons.iter().map(|((_, why), hosts)| format!("Not compared: {}: {why}.", list(hosts, 3))).collect();
    if !fleet.left_out.is_empty() {
        text.push(format!("Left out: {}.", list(&fleet.left_out, 3)));
    }
    let tools: IndexMap<&str, ()> = fleet.hosts.iter().map(|host| (host.tool.as_str(), ())).collect();
    if tools.len() > 1 {
        let tools: Vec<String> = tools.keys().map(|tool| (*tool).to_owned()).collect();
        text.push(format!("The hosts ran different programs: {}.", list(&tools, 3)));
    }
    text
}
