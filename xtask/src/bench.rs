//! `cargo xtask bench`: measures the figures that the project promises. Tests check no times: speed and repeatability are
//! checked here.

mod compare;
mod crossing;
mod effort;
mod export;
mod fault;
mod figures;
mod page;
mod report;
mod riscv;
mod spinner;
mod switch;

use crate::tool::Tool;
use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use effort::Effort;
use figures::{Figure, Ladder};
use spinner::Spinner;
use tollgate_testkit::workspace;

/// Measure the promised figures and print which are met. Other load on the machine changes them
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    effort: Effort,
    /// Only these benchmarks
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(BENCHES.iter().map(|(name, _)| *name)))]
    names: Vec<String>,
}

/// One benchmark: its name and its figures.
type Bench = (&'static str, fn(&Tool, &Effort) -> Result<Vec<Figure>>);

static BENCHES: &[Bench] = &[
    ("time", time),
    ("harness", harness),
    ("proof", proof),
    ("same-cpu", on_spinner),
    ("riscv", |_, _| riscv::speed()),
    ("fault", |tool, _| fault::fault(tool)),
    ("export", |tool, _| export::export(tool)),
    ("switch", switch::switch),
    ("crossing", crossing::crossing),
    ("page", |tool, _| page::page(tool)),
    ("report", |tool, _| report::report(tool)),
    ("compare", compare::compare),
    ("repeat", repeat),
    ("spinner", beside_spinner),
];

impl Args {
    pub(crate) fn run(&self) -> Result<()> {
        let tool = Tool::build(&workspace::root()?)?;
        for (name, bench) in BENCHES {
            if self.names.is_empty() || self.names.iter().any(|wanted| wanted == name) {
                println!("{name}");
                for figure in bench(&tool, &self.effort)? {
                    println!("  {figure}");
                }
            }
        }
        Ok(())
    }
}

/// The record of a run with these arguments.
fn ladder(tool: &Tool, args: &[&str]) -> Result<Ladder> {
    let (document, _) = tool.json(&[args, &["--no-save"]].concat())?;
    Ok(Ladder::of(&document))
}

/// How long a user waits.
fn time(tool: &Tool, _: &Effort) -> Result<Vec<Figure>> {
    let (_, quick) = tool.json(&["--quick", "--no-save"])?;
    let (_, default) = tool.json(&["--no-save"])?;
    Ok(vec![
        Figure::at_most("tollgate --quick, seconds", quick, 5.0),
        Figure::at_most("tollgate, seconds", default, 60.0),
    ])
}

/// Durations that are known in advance.
fn harness(tool: &Tool, _: &Effort) -> Result<Vec<Figure>> {
    let (doctor, _) = tool.json(&["doctor"])?;
    let check = &doctor["self_check"];
    let number = |key: &str| check[key].as_f64().unwrap_or(f64::NAN);
    let error = (number("thousand_multiplies") / number("expected") - 1.0).abs() * 100.0;
    let ladder = ladder(tool, &["run", "null", "fiber/own"])?;
    let ticks = |probe: &str| ladder.ticks(probe).unwrap_or(f64::NAN);
    Ok(vec![
        Figure::at_most("null, ticks from zero", ticks("null").abs(), 0.5),
        Figure::at_most("1,000 dependent multiplies, % from 3,000 cycles", error, 1.0),
        Figure::at_most("fiber/own, ticks", ticks("fiber/own"), 10.0),
    ])
}

/// Counted switches for each claimed one.
fn proof(tool: &Tool, _: &Effort) -> Result<Vec<Figure>> {
    let ladder = ladder(tool, &["run", "thread", "process"])?;
    let claims = ["futex", "pipe", "eventfd", "yield"];
    let claimed = |probe: &str| claims.iter().any(|mechanism| probe.ends_with(mechanism));
    let rows = ladder.switches().filter(|(probe, _)| claimed(probe));
    Ok(rows
        .map(|(probe, switches)| {
            Figure::at_most(
                &format!("{probe}: switches per round trip, from 2"),
                (2.0 * switches - 2.0).abs(),
                0.05,
            )
        })
        .collect())
}

/// How well separate runs repeat.
fn repeat(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    repeated(tool, effort, "")
}

/// The same while another process keeps the other CPU busy.
fn beside_spinner(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    let place = ChosenCpus::of(tool)?;
    let Some(peer) = place.peer else {
        return Ok(vec![Figure::skipped("spinner", "only one CPU may be used")]);
    };
    let _spinner = Spinner::on(peer)?;
    repeated(tool, effort, ", a spinner on the other CPU")
}

fn repeated(tool: &Tool, effort: &Effort, how: &str) -> Result<Vec<Figure>> {
    let options: &[&str] = if effort.quick { &["--quick"] } else { &[] };
    let ladders = (0..effort.runs).map(|_| ladder(tool, options)).collect::<Result<Vec<_>>>()?;
    let spread = figures::spread(&ladders);
    for row in &spread {
        println!("  {row}");
    }
    let one_cpu: Vec<_> = spread.iter().filter(|row| !row.two_cpus()).collect();
    let steady = one_cpu.iter().filter(|row| row.variation <= 0.03).count() as f64 / one_cpu.len() as f64;
    let (pairs, apart) = figures::non_overlapping(&ladders);
    Ok(vec![
        Figure::at_least(
            &format!("probes of one CPU that vary by 3 % or less, %{how}"),
            100.0 * steady,
            90.0,
        ),
        Figure::at_most(
            &format!("A/A: intervals of two runs that do not overlap, % of {pairs}{how}"),
            100.0 * apart as f64 / pairs as f64,
            1.0,
        ),
    ])
}

/// A run beside a spinner on the measured CPU must warn.
fn on_spinner(tool: &Tool, _: &Effort) -> Result<Vec<Figure>> {
    let place = ChosenCpus::of(tool)?;
    let _spinner = Spinner::on(place.cpu)?;
    let (document, _) = tool.json(&["--quick", "--no-save"])?;
    let warned =
        document["warnings"].as_array().is_some_and(|all| all.iter().any(|one| one["code"] == "other-task"));
    Ok(vec![Figure::at_least(
        "a run beside a spinner on the measured CPU warns",
        f64::from(u8::from(warned)),
        1.0,
    )])
}

/// The CPUs that tollgate chooses.
struct ChosenCpus {
    cpu: u64,
    peer: Option<u64>,
}

impl ChosenCpus {
    fn of(tool: &Tool) -> Result<Self> {
        let (document, _) = tool.json(&["run", "null", "--quick", "--no-save"])?;
        let cpu = &document["host"]["cpu"];
        Ok(Self {
            cpu: cpu["measured"].as_u64().context("no measured CPU in the record")?,
            peer: cpu["peer"].as_u64(),
        })
    }
}
