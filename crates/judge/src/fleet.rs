//! The records of many hosts: which of them differ from similar ones, in which probe, and the facts that go with it.
//!
//! Pure functions of records. A host is compared with the hosts that have its processor, kernel and mitigations and were
//! measured with the same effort and clock. METHOD.md says how a difference is found.

mod facts;
mod spread;

pub use facts::SharedFact;

use crate::compare::{Class, effort, gather, short};
use crate::stats::{center, median};
use indexmap::IndexMap;
use serde::Serialize;
use spread::{Level, Probe, judge, qn};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use tollgate_record::text::{letter, list};
use tollgate_record::{Estimate, Measurement, Run};

const SCHEMA: &str = "tollgate-fleet/1";
/// With fewer like hosts nobody can say which one differs.
pub const LEAST_ALIKE: usize = 3;
/// The quantile of the normal distribution behind the intervals of the record.
const Z_RECORD: f64 = 1.959_963_984_540_054;

/// Why there is no fleet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// No complete run.
    #[error("there is no complete run to compare: {0}")]
    NoRun(String),
}

/// Many hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fleet {
    /// Always `tollgate-fleet/1`.
    pub schema: &'static str,
    /// Every host: first those that differ, the farthest first.
    pub hosts: Vec<FleetHost>,
    /// Hosts that can be compared with each other, the largest group first.
    pub groups: Vec<Alike>,
    /// The differences, hosts in the order of `hosts`.
    pub differences: Vec<HostDifference>,
    /// Facts that the hosts that differ in a probe have in common.
    pub companions: Vec<Companion>,
    /// How many figures were tested, for which chances are corrected.
    pub tested: usize,
    /// The share of fleets without differences in which one is named, at most.
    pub chance: f64,
    /// The share of false ones to expect among the differences, at most, if there are five or more.
    pub false_share: f64,
    /// Records that were not used, and why.
    pub left_out: Vec<String>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetHost {
    /// Its node name.
    pub name: String,
    /// Its runs.
    pub runs: Vec<String>,
    /// Start of the first of them.
    pub started: String,
    /// Its processor.
    pub processor: String,
    /// Its kernel's release.
    pub kernel: String,
    /// Version and commit of its program.
    pub tool: String,
    /// The group of hosts like it, by its letter.
    pub group: String,
    /// The core's frequency, the median of all processes.
    pub core_hz: Option<f64>,
    /// How many probes have a figure.
    pub measured: usize,
    /// Probes in which it is slower than similar hosts.
    pub slower: usize,
    /// Probes in which it is faster.
    pub faster: usize,
    /// Why it was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Hosts that can be compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alike {
    /// `A`, `B`, ... `Z`, `AA`.
    pub name: String,
    /// The processor of all of them.
    pub processor: String,
    /// Their kernel's release.
    pub kernel: String,
    /// The kernel's report on each vulnerability.
    pub mitigations: BTreeMap<String, String>,
    /// How much was measured: `quick`, `usual`, `thorough`.
    pub effort: String,
    /// The clock that timed.
    pub clock: String,
    /// Their number.
    pub hosts: usize,
    /// The probes that they measured.
    pub probes: Vec<AlikeProbe>,
}

/// One probe on like hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AlikeProbe {
    /// Which probe, and how it was asked for.
    #[serde(flatten)]
    pub of: ProbeName,
    /// The median of the hosts.
    pub usual: f64,
    /// Standard deviation of a host's figure around it, as a share; 0 if all must be equal.
    pub spread: f64,
    /// The smallest difference that would have been found 4 times in 5, as a share.
    pub sees: f64,
    /// The figure of each host.
    pub figures: Vec<HostFigure>,
}

/// A probe, and what tells it from its neighbors.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ProbeName {
    /// `family/mechanism`.
    pub probe: String,
    /// The engine that ran it.
    pub engine: String,
    /// How it was asked for.
    pub params: BTreeMap<String, String>,
    /// `ns`, or `cycles` of a simulator.
    pub unit: &'static str,
}

impl ProbeName {
    /// The name in a table.
    pub fn words(&self) -> String {
        let engine = if self.engine == "host" { String::new() } else { format!(" ({})", self.engine) };
        let params: String = self.params.values().map(|value| format!(" {value}")).collect();
        format!("{}{engine}{params}", self.probe)
    }
}

/// The figure of one host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostFigure {
    /// The host.
    pub host: String,
    /// Its figure.
    pub value: f64,
    /// Its figure over the usual one.
    pub ratio: f64,
    /// Whether it differs.
    pub differs: bool,
}

/// A host that differs from similar ones in a probe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostDifference {
    /// The host.
    pub host: String,
    /// Its group.
    pub group: String,
    /// The probe.
    #[serde(flatten)]
    pub of: ProbeName,
    /// Its figure.
    pub value: f64,
    /// The median of similar hosts.
    pub usual: f64,
    /// Its figure over that.
    pub ratio: f64,
    /// The 99 % interval of the ratio.
    pub interval: [f64; 2],
    /// The share of false ones to expect among the figures of the fleet that are at least as far away; of the farthest one
    /// the chance that some figure would be as far away if no host differed; 0 in exact figures.
    pub chance: f64,
}

/// The hosts of a group that differ in one probe, and what goes with that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Companion {
    /// The group.
    pub group: String,
    /// The probe.
    #[serde(flatten)]
    pub of: ProbeName,
    /// Whether these hosts are slower than usual, or faster.
    pub slower: bool,
    /// The median of their ratios.
    pub ratio: f64,
    /// The hosts.
    pub hosts: Vec<String>,
    /// Facts that more of them share than of the others, the least likely by chance first.
    pub facts: Vec<SharedFact>,
}

/// The hosts of each kind.
type Groups<'r> = Vec<(Kind, Vec<Member<'r>>)>;

/// The runs of a host.
struct Member<'r> {
    host: FleetHost,
    runs: Vec<&'r Run>,
}

/// Judges the hosts of these runs. Runs of one host are pooled. `unreadable` says which records cannot be read.
///
/// # Errors
/// [`FleetError`] without a complete run.
pub fn fleet(runs: &[Run], unreadable: Vec<String>) -> Result<Fleet, FleetError> {
    let interrupted = |run: &Run| format!("{} of {} was interrupted", short(&run.id), short(&run.host.name));
    let mut left_out: Vec<String> = runs.iter().filter(|run| !run.complete).map(interrupted).collect();
    left_out.extend(unreadable);
    let runs: Vec<_> = runs.iter().filter(|run| run.complete).map(Run::without_non_finite).collect();
    let mut groups: IndexMap<Kind, IndexMap<String, Vec<&Run>>> = IndexMap::new();
    for run in &runs {
        groups.entry(Kind::of(run)).or_default().entry(run.host.name.clone()).or_default().push(run);
    }
    if groups.is_empty() {
        return Err(FleetError::NoRun(list(&left_out, 2)));
    }
    groups.sort_by(|a_kind, a, b_kind, b| b.len().cmp(&a.len()).then_with(|| a_kind.cmp(b_kind)));
    let groups: Groups<'_> = groups
        .into_iter()
        .enumerate()
        .map(|(place, (kind, hosts))| {
            let name = letter(place);
            let members = hosts.into_iter().map(|(host, runs)| member(host, runs, &name)).collect();
            (kind, members)
        })
        .collect();
    Ok(judged(groups, left_out))
}

/// The facts that similar hosts share. The order of the fields sorts groups of the same size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Kind {
    processor: String,
    kernel: String,
    mitigations: BTreeMap<String, String>,
    effort: String,
    clock: String,
    arch: String,
}

impl Kind {
    fn of(run: &Run) -> Self {
        let host = &run.host;
        Self {
            processor: host.cpu.model.clone(),
            kernel: host.kernel.release.clone(),
            mitigations: host.kernel.mitigations.clone(),
            effort: effort(run),
            clock: host.clock.source.clone(),
            arch: host.arch.clone(),
        }
    }
}

fn member<'r>(name: String, runs: Vec<&'r Run>, group: &str) -> Member<'r> {
    let first = runs[0];
    let epochs = runs.iter().flat_map(|run| &run.results).flat_map(|result| &result.epochs);
    let mut hz: Vec<f64> = epochs.filter_map(|epoch| epoch.core_hz).collect();
    if hz.is_empty() {
        hz.extend(runs.iter().filter_map(|run| run.host.cpu.core_hz_before));
    }
    hz.retain(|hz| *hz > 0.0);
    let host = FleetHost {
        name,
        runs: runs.iter().map(|run| run.id.clone()).collect(),
        started: first.started.clone(),
        processor: first.host.cpu.model.clone(),
        kernel: first.host.kernel.release.clone(),
        tool: format!("{} {}", first.tool.version, first.tool.commit).trim().to_owned(),
        group: group.to_owned(),
        core_hz: (!hz.is_empty()).then(|| median(&hz)),
        measured: 0,
        slower: 0,
        faster: 0,
        why: None,
    };
    Member { host, runs }
}

/// One probe of a group on the way to its judgement.
struct Draft {
    group: usize,
    of: ProbeName,
    class: Class,
    exact: bool,
    levels: Vec<Level>,
}

/// A difference with the places of its group and host, and how far it is from the usual.
struct Found {
    distance: f64,
    group: usize,
    host: usize,
    difference: HostDifference,
}

fn judged(mut groups: Groups<'_>, left_out: Vec<String>) -> Fleet {
    let drafts = drafts(&mut groups);
    let verdicts = verdicts(&drafts);
    let tested = drafts.iter().filter(|draft| !draft.exact).map(|draft| draft.levels.len()).sum();
    let mut all: Vec<Alike> = groups.iter().map(|(kind, members)| alike(kind, members)).collect();
    let mut found = Vec::new();
    let mut companions = Vec::new();
    let facts: Vec<OnceCell<_>> = groups.iter().map(|_| OnceCell::new()).collect();
    for (draft, judged) in drafts.iter().zip(&verdicts) {
        let members = &groups[draft.group].1;
        found.extend(differences(draft, judged, members, &all[draft.group].name));
        let of_group = || {
            let runs: Vec<_> = members.iter().map(|member| &member.runs[..]).collect();
            facts::of_hosts(&runs)
        };
        let facts_of_group = || facts[draft.group].get_or_init(of_group);
        for slower in [true, false] {
            let differing = |(_, it): &(&Level, &spread::Judged)| it.differs && (it.shift > 0.0) == slower;
            let differing: Vec<_> = draft.levels.iter().zip(&judged.each).filter(differing).collect();
            if differing.is_empty() {
                continue;
            }
            let hosts: Vec<usize> = differing.iter().map(|(level, _)| level.host).collect();
            companions.push(Companion {
                group: all[draft.group].name.clone(),
                of: draft.of.clone(),
                slower,
                ratio: median(&differing.iter().map(|(_, it)| it.shift).collect::<Vec<_>>()).exp(),
                hosts: hosts.iter().map(|host| members[*host].host.name.clone()).collect(),
                facts: facts::shared(facts_of_group(), &hosts),
            });
        }
        all[draft.group].probes.push(probe_of(draft, judged, members));
    }
    for Found { group, host, difference, .. } in &found {
        let host = &mut groups[*group].1[*host].host;
        *if difference.ratio > 1.0 { &mut host.slower } else { &mut host.faster } += 1;
    }
    let order = farthest_first(&groups, &found);
    let place = |it: &Found| order.iter().position(|place| *place == (it.group, it.host));
    found.sort_by(|a, b| place(a).cmp(&place(b)).then(b.distance.total_cmp(&a.distance)));
    Fleet {
        schema: SCHEMA,
        hosts: order.iter().map(|(group, host)| groups[*group].1[*host].host.clone()).collect(),
        groups: all,
        differences: found.into_iter().map(|it| it.difference).collect(),
        companions,
        tested,
        chance: crate::stats::CHANCE,
        false_share: spread::FALSE,
        left_out,
    }
}

/// The probes of all groups that have enough hosts; the hosts of the others receive the reason why they are not compared.
fn drafts(groups: &mut Groups<'_>) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for (place, (_, members)) in groups.iter_mut().enumerate() {
        drafts.extend(drafts_of(place, members));
        if members.len() < LEAST_ALIKE {
            let why = format!(
                "{} of this kind: {LEAST_ALIKE} are needed to tell which one differs",
                tollgate_record::number::plural(members.len(), "host is", "hosts are")
            );
            members.iter_mut().for_each(|member| member.host.why = Some(why.clone()));
        }
    }
    drafts.retain(|draft| draft.levels.len() >= LEAST_ALIKE);
    drafts
}

fn verdicts(drafts: &[Draft]) -> Vec<spread::Verdicts> {
    let spreads = spread::classes(drafts.iter().map(|it| (it.group, it.class, it.exact, &it.levels[..])));
    let probe = |draft| {
        let Draft { group, class, exact, levels, .. }: &Draft = draft;
        Probe { levels, exact: *exact, class: *class, of_class: spreads.get(&(*group, *class)).copied() }
    };
    judge(&drafts.iter().map(probe).collect::<Vec<_>>())
}

fn differences(draft: &Draft, judged: &spread::Verdicts, members: &[Member<'_>], group: &str) -> Vec<Found> {
    let differing = draft.levels.iter().zip(&judged.each).filter(|(_, it)| it.differs);
    let found = differing.map(|(level, verdict)| Found {
        distance: verdict.distance,
        group: draft.group,
        host: level.host,
        difference: HostDifference {
            host: members[level.host].host.name.clone(),
            group: group.to_owned(),
            of: draft.of.clone(),
            value: level.log.exp(),
            usual: judged.usual.exp(),
            ratio: verdict.shift.exp(),
            interval: verdict.interval.map(f64::exp),
            chance: verdict.chance,
        },
    });
    found.collect()
}

fn probe_of(draft: &Draft, judged: &spread::Verdicts, members: &[Member<'_>]) -> AlikeProbe {
    let figure = |(level, verdict): (&Level, &spread::Judged)| HostFigure {
        host: members[level.host].host.name.clone(),
        value: level.log.exp(),
        ratio: verdict.shift.exp(),
        differs: verdict.differs,
    };
    AlikeProbe {
        of: draft.of.clone(),
        usual: judged.usual.exp(),
        spread: judged.spread,
        sees: judged.sees,
        figures: draft.levels.iter().zip(&judged.each).map(figure).collect(),
    }
}

/// The places of all hosts in their groups: the host with the farthest difference first, the others by group and name.
fn farthest_first(groups: &Groups<'_>, found: &[Found]) -> Vec<(usize, usize)> {
    let distance = |group: usize, host: usize| {
        let of_host = found.iter().filter(|it| (it.group, it.host) == (group, host));
        of_host.map(|it| it.distance).fold(0.0, f64::max)
    };
    let places = groups.iter().enumerate().flat_map(|(group, (_, members))| {
        (0..members.len()).map(move |host| (distance(group, host), group, host))
    });
    let mut order: Vec<(f64, usize, usize)> = places.collect();
    let name = |group: usize, host: usize| &groups[group].1[host].host.name;
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, name(a.1, a.2)).cmp(&(b.1, name(b.1, b.2)))));
    order.into_iter().map(|(_, group, host)| (group, host)).collect()
}

fn alike(kind: &Kind, members: &[Member<'_>]) -> Alike {
    Alike {
        name: members.first().map_or_else(String::new, |member| member.host.group.clone()),
        processor: kind.processor.clone(),
        kernel: kind.kernel.clone(),
        mitigations: kind.mitigations.clone(),
        effort: kind.effort.clone(),
        clock: kind.clock.clone(),
        hosts: members.len(),
        probes: Vec::new(),
    }
}

/// The probes of a group with the level of each host that has a figure.
fn drafts_of(group: usize, members: &mut [Member<'_>]) -> Vec<Draft> {
    let mut drafts: IndexMap<ProbeName, Draft> = IndexMap::new();
    for (host, member) in members.iter_mut().enumerate() {
        for ((name, params), results) in gather(member.runs.iter().copied()) {
            let results: Vec<&Measurement> = results.into_iter().map(|(_, result)| result).collect();
            let unit = if results.iter().all(|it| it.ns.is_some()) { "ns" } else { "cycles" };
            let Some((log, own)) = level(&results) else { continue };
            member.host.measured += 1;
            let params = params.into_iter().map(|(key, value)| (key, short(&value))).collect();
            let of = ProbeName { probe: name.0.to_owned(), engine: name.1.to_owned(), params, unit };
            let draft = drafts.entry(of.clone()).or_insert_with(|| Draft {
                group,
                of,
                class: Class::of(results[0]),
                exact: true,
                levels: Vec::new(),
            });
            draft.exact &= unit == "cycles" && own == 0.0;
            draft.levels.push(Level { host, log, own });
        }
    }
    drafts.into_values().collect()
}

/// The logarithm of a host's figure, and its standard error as its own processes show it.
fn level(results: &[&Measurement]) -> Option<(f64, f64)> {
    let estimate = |it: &&Measurement| -> Option<Estimate> {
        it.ns.or(it.cycles).filter(|it| it.estimate > 0.0 && !it.is_zero_within_error())
    };
    let estimates: Vec<Estimate> = results.iter().map(estimate).collect::<Option<_>>()?;
    let epochs: Vec<f64> = results.iter().flat_map(|it| &it.epochs).map(|epoch| epoch.ns.ln()).collect();
    if results.iter().all(|it| !it.epochs.is_empty()) && epochs.iter().all(|log| log.is_finite()) {
        let found = center(&epochs)?;
        return Some((found.estimate, qn(&epochs) / (epochs.len() as f64).sqrt()));
    }
    let logs: Vec<f64> = estimates.iter().map(|it| it.estimate.ln()).collect();
    let own = |it: &Estimate| (it.ci[1] / it.ci[0]).ln() / 2.0 / Z_RECORD;
    let own: Vec<f64> = estimates.iter().map(own).filter(|own| own.is_finite()).collect();
    Some((median(&logs), if own.is_empty() { 0.0 } else { median(&own) }))
}
