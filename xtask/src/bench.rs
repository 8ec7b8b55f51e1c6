//! `cargo xtask bench`: measures the figures that the project promises. Tests check no times: speed and repeatability are
//! checked here.

mod boot;
mod cores;
mod exact;
mod exec;
mod families;
mod figures;
mod fleet;
mod lab_page;
mod lat_ctx;
mod neighbor;
mod page;
mod power;
mod riscv;
mod rungs;

use crate::tool::Tool;
use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use figures::{Effort, Figure, at_least, at_most, row, skipped};
use neighbor::{NEIGHBORS, Neighbor, chosen_cpus};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;
use tollgate_record::Run;
use tollgate_testkit::workspace;

/// Measure the promised figures and print which are met. Other load on the machine changes them
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    effort: Effort,
    /// A built tollgate to measure; without one, the release build of this tree
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Only these benchmarks; 'exec', 'exec-exact', 'fleet', 'riscv' and 'rungs' are all that begin so
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(names()))]
    names: Vec<String>,
}

/// One benchmark: its name and its figures.
type Bench = (&'static str, fn(&Tool, &Effort) -> Result<Vec<Figure>>);

static BENCHES: &[Bench] = &[
    ("time", time),
    ("harness", harness),
    ("proof", proof),
    ("same-cpu", on_spinner),
    ("riscv", |tool, _| riscv::speed(tool)),
    ("riscv-cores", |tool, effort| cores::speed(tool, effort.against.as_deref())),
    ("boot", |tool, _| boot::boot(tool)),
    ("fault", |tool, _| families::fault(tool)),
    ("export", |tool, _| page::export(tool)),
    ("switch", |tool, _| families::switch(tool)),
    ("crossing", families::crossing),
    ("lat-ctx", lat_ctx::beside_lmbench),
    ("rungs-wake", rungs::wake),
    ("rungs-interpose", rungs::interpose),
    ("rungs-ffi", rungs::ffi),
    ("exec-exact-time", |tool, _| exact::time(tool)),
    ("exec-exact-repeat", |tool, _| exact::repeat(tool)),
    ("exec-exact-call", |tool, _| exact::one_call(tool)),
    ("exec-exact-layouts", |tool, _| exact::layouts(tool)),
    ("exec-exact-changes", |tool, _| exact::changes(tool)),
    ("exec-overhead", |tool, _| exec::overhead(tool)),
    ("exec-windows", |tool, _| exec::windows(tool)),
    ("exec-unattributed", |tool, _| exec::unattributed(tool)),
    ("exec-planted", |tool, _| exec::planted(tool)),
    ("exec-alike", |tool, _| exec::false_alarms(tool)),
    ("exec-time", |tool, _| exec::beside_time(tool)),
    ("fleet-small", |tool, _| fleet::part(tool, "small")),
    ("fleet-hosts", |tool, _| fleet::part(tool, "hosts")),
    ("fleet-one-host", |tool, _| fleet::part(tool, "one-host")),
    ("fleet-disturbed", |tool, _| fleet::part(tool, "disturbed")),
    ("fleet-designs", |tool, _| fleet::part(tool, "designs")),
    ("fleet-wheel", |_, _| fleet::wheel()),
    ("page", |tool, _| page::in_browser(tool)),
    ("page-lab", |_, _| lab_page::speed()),
    ("report", |tool, _| page::report(tool)),
    ("compare", compare),
    ("repeat", |tool, effort| repeated(tool, effort, "")),
    ("spinner", beside_spinner),
    ("power", power::power),
];

impl Args {
    pub(crate) fn run(&self) -> Result<()> {
        let tool = match &self.program {
            Some(program) => Tool::at(program),
            None => Tool::build(&workspace::root()?)?,
        };
        for (name, bench) in BENCHES {
            // Without names all but the one that takes longer than a day.
            let is_asked = self.names.is_empty() && *name != "power";
            if is_asked
                || self.names.iter().any(|wanted| wanted == name || groups(name).any(|it| it == wanted))
            {
                println!("{name}");
                let started = Instant::now();
                for figure in bench(&tool, &self.effort)? {
                    println!("  {figure}");
                }
                println!("  ({:.0} s)", started.elapsed().as_secs_f64());
            }
        }
        Ok(())
    }
}

/// The benchmarks and groups of them, each once.
fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for name in BENCHES.iter().flat_map(|(name, _)| groups(name).chain([*name])) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// `exec` and `exec-exact` of `exec-exact-time`, `rungs` of `rungs-wake`.
fn groups(name: &'static str) -> impl Iterator<Item = &'static str> {
    let is_group = |group: &&str| ["exec", "exec-exact", "fleet", "page", "riscv", "rungs"].contains(group);
    name.match_indices('-').map(|(at, _)| &name[..at]).filter(is_group)
}

/// How long a user waits, alone and beside each kind of neighbor on the other CPU.
fn time(tool: &Tool, _: &Effort) -> Result<Vec<Figure>> {
    let peer = chosen_cpus(tool)?.peer;
    let mut figures = Vec::new();
    for (name, neighbor) in NEIGHBORS {
        let _running = match (neighbor, peer) {
            (Some(_), None) => {
                figures.push(skipped(name, "only one CPU may be used"));
                continue;
            }
            (neighbor, peer) => neighbor.zip(peer).map(|(neighbor, cpu)| neighbor.on(cpu)).transpose()?,
        };
        let (most_quick, most) = if neighbor.is_none() { (5.0, 60.0) } else { (6.0, 70.0) };
        for (what, args, bound) in
            [("tollgate --quick", &["--quick"][..], most_quick), ("tollgate", &[], most)]
        {
            figures.push(at_most(&format!("{what}, {name}, seconds"), tool.run(args)?.1, bound));
        }
    }
    Ok(figures)
}

/// Durations that are known in advance.
fn harness(tool: &Tool, _: &Effort) -> Result<Vec<Figure>> {
    let (doctor, _) = tool.json(&["doctor"])?;
    let check = &doctor["self_check"];
    let number = |key: &str| check[key].as_f64().unwrap_or(f64::NAN);
    let error = (number("thousand_multiplies") / number("expected") - 1.0).abs() * 100.0;
    let (run, _) = tool.run(&["run", "null", "fiber/own"])?;
    let ticks = |probe: &str| row(&run, probe).and_then(|row| row.ticks).map_or(f64::NAN, |it| it.estimate);
    Ok(vec![
        at_most("null, ticks from zero", ticks("null").abs(), 0.5),
        at_most("1,000 dependent multiplies, % from 3,000 cycles", error, 1.0),
        at_most("fiber/own, ticks", ticks("fiber/own"), 10.0),
    ])
}

/// Counted switches for each claimed one.
fn proof(tool: &Tool, _: &Effort) -> Result<Vec<Figure>> {
    let (run, _) = tool.run(&["run", "thread", "process"])?;
    let claims = ["futex", "pipe", "eventfd", "yield"];
    let claimed = run.results.iter().filter(|row| claims.iter().any(|claim| row.probe.ends_with(claim)));
    let figure = |(probe, switches): (&String, &f64)| {
        at_most(&format!("{probe}: switches per round trip, from 2"), (2.0 * switches - 2.0).abs(), 0.05)
    };
    let counted = claimed.filter_map(|row| Some((&row.probe, row.proof.get("switches-per-crossing")?)));
    Ok(counted.map(figure).collect())
}

/// How well separate runs repeat while another process keeps the other CPU busy.
fn beside_spinner(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    let Some(peer) = chosen_cpus(tool)?.peer else {
        return Ok(vec![skipped("spinner", "only one CPU may be used")]);
    };
    let _spinner = Neighbor::Spinner.on(peer)?;
    repeated(tool, effort, ", a spinner on the other CPU")
}

fn repeated(tool: &Tool, effort: &Effort, how: &str) -> Result<Vec<Figure>> {
    let runs: Vec<Run> = effort.repeat(tool, &[])?.into_iter().map(|(run, _)| run).collect();
    let spread = figures::spread(&runs);
    for row in &spread {
        println!("  {row}");
    }
    let one_cpu: Vec<_> = spread.iter().filter(|row| !row.two_cpus()).collect();
    let steady = one_cpu.iter().filter(|row| row.variation <= 0.03).count() as f64 / one_cpu.len() as f64;
    let (pairs, apart) = figures::non_overlapping(&runs);
    Ok(vec![
        at_least(&format!("probes of one CPU that vary by 3 % or less, %{how}"), 100.0 * steady, 90.0),
        at_most(
            &format!("A/A: intervals of two runs that do not overlap, % of {pairs}{how}"),
            100.0 * apart as f64 / pairs as f64,
            1.0,
        ),
    ])
}

/// Comparisons of equal runs: how often they report a difference. Quick runs are compared in pairs: the first with the
/// second, the third with the fourth. The promise is about 200 pairs: `cargo xtask bench compare --runs 400`.
fn compare(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    let dir = tempfile::tempdir()?;
    let paths = tool.quick_runs(dir.path(), effort.runs as usize)?;
    let mut verdicts: BTreeMap<String, u32> = BTreeMap::new();
    let mut flagged: BTreeMap<String, u32> = BTreeMap::new();
    let mut seen: Vec<f64> = Vec::new();
    for pair in paths.chunks_exact(2) {
        let (found, _) = tool.json(&["compare", &pair[0], &pair[1]])?;
        for row in found["rows"].as_array().context("a comparison without rows")? {
            let verdict = row["verdict"].as_str().unwrap_or("none").to_owned();
            if verdict == "better" || verdict == "worse" {
                let ratio = row["ratio"].as_f64().unwrap_or(f64::NAN);
                *flagged.entry(format!("{}: {verdict}, {ratio:.3}", row["probe"])).or_default() += 1;
            }
            seen.extend(row["smallest_seen"].as_f64());
            *verdicts.entry(verdict).or_default() += 1;
        }
    }
    for (row, times) in &flagged {
        println!("  {row} ({times})");
    }
    let words: Vec<String> = verdicts.iter().map(|(verdict, times)| format!("{times} {verdict}")).collect();
    println!("  {}", words.join(", "));
    println!(
        "  smallest change that is detected: {:.1} % (median of all probes)",
        100.0 * figures::median(seen)
    );
    let count = |verdict: &str| f64::from(verdicts.get(verdict).copied().unwrap_or(0));
    let (better, worse) = (count("better"), count("worse"));
    let all = f64::from(verdicts.values().sum::<u32>());
    // The difference of heads and tails in fair tosses has a standard deviation of the square root of their number.
    let uneven = if better + worse > 0.0 { (better - worse).abs() / (better + worse).sqrt() } else { 0.0 };
    Ok(vec![
        at_most(
            &format!("A/A, {} pairs: probes called better or worse, %", paths.len() / 2),
            100.0 * (better + worse) / all,
            1.0,
        ),
        at_most("A/A: better against worse, in deviations of a fair toss", uneven, 3.0),
    ])
}

/// A run beside a spinner on the measured CPU must warn.
fn on_spinner(tool: &Tool, _: &Effort) -> Result<Vec<Figure>> {
    let _spinner =
        Neighbor::Spinner.on(chosen_cpus(tool)?.measured.context("no measured CPU in the record")?)?;
    let (run, _) = tool.run(&["--quick"])?;
    let warned = run.warnings.iter().any(|warning| warning.code == "other-task");
    Ok(vec![at_least("a run beside a spinner on the measured CPU warns", f64::from(u8::from(warned)), 1.0)])
}
