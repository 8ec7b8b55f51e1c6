//! `cargo xtask bench`: the figures that the project promises, measured here and printed as they come
//! out. Nothing in the tests is timed; this is where speed and repeatability are looked at.

mod cache;
mod compare;
mod crossing;
mod export;
mod fault;
mod figures;
mod page;
mod report;
mod spinner;
mod switch;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use figures::{Figure, Ladder};
use spinner::Spinner;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tollgate_testkit::workspace;

/// Measure the promised figures and say which are met; what others do on the machine shows in them
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many runs stand behind a repeatability figure
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    runs: u32,
    /// Use quick runs instead of default ones for repeatability
    #[arg(long)]
    quick: bool,
    /// Only these benchmarks
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(BENCHES.iter().map(|(name, _)| *name)))]
    names: Vec<String>,
}

/// One benchmark: its name and what it gives.
type Bench = (&'static str, fn(&Tool, &Args) -> Result<Vec<Figure>>);

static BENCHES: &[Bench] = &[
    ("time", time),
    ("harness", harness),
    ("proof", proof),
    ("same-cpu", on_spinner),
    ("riscv", riscv),
    ("cache", |_, _| cache::cache()),
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
                for figure in bench(&tool, self)? {
                    println!("  {figure}");
                }
            }
        }
        Ok(())
    }
}

/// The release binary.
pub(crate) struct Tool {
    path: PathBuf,
}

impl Tool {
    pub(crate) fn build(root: &Path) -> Result<Self> {
        let built = workspace::cargo(root)
            .args(["build", "--release", "--quiet", "--package", "tollgate"])
            .status()?;
        if !built.success() {
            bail!("the release build failed");
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        Ok(Self { path: target.join("release/tollgate") })
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(args).stdin(Stdio::null());
        command
    }

    /// The document that the arguments print, and how many seconds that took.
    pub(crate) fn json(&self, args: &[&str]) -> Result<(serde_json::Value, f64)> {
        let start = Instant::now();
        let output = self.command(args).args(["--json"]).stderr(Stdio::inherit()).output()?;
        let seconds = start.elapsed().as_secs_f64();
        let document = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("tollgate {} printed no document", args.join(" ")))?;
        Ok((document, seconds))
    }

    fn ladder(&self, args: &[&str]) -> Result<Ladder> {
        let (document, _) = self.json(&[args, &["--no-save"]].concat())?;
        Ok(Ladder::of(&document))
    }
}

/// How long a person waits.
fn time(tool: &Tool, _: &Args) -> Result<Vec<Figure>> {
    let (_, quick) = tool.json(&["--quick", "--no-save"])?;
    let (_, default) = tool.json(&["--no-save"])?;
    Ok(vec![
        Figure::at_most("tollgate --quick, seconds", quick, 5.0),
        Figure::at_most("tollgate, seconds", default, 60.0),
    ])
}

/// Things of known length.
fn harness(tool: &Tool, _: &Args) -> Result<Vec<Figure>> {
    let (doctor, _) = tool.json(&["doctor"])?;
    let check = &doctor["self_check"];
    let number = |key: &str| check[key].as_f64().unwrap_or(f64::NAN);
    let error = (number("thousand_multiplies") / number("expected") - 1.0).abs() * 100.0;
    let ladder = tool.ladder(&["run", "null", "fiber/own"])?;
    let ticks = |probe: &str| ladder.ticks(probe).unwrap_or(f64::NAN);
    Ok(vec![
        Figure::at_most("null, ticks from zero", ticks("null").abs(), 0.5),
        Figure::at_most("1,000 dependent multiplies, % from 3,000 cycles", error, 1.0),
        Figure::at_most("fiber/own, ticks", ticks("fiber/own"), 10.0),
    ])
}

/// Switches that were counted for each that was claimed.
fn proof(tool: &Tool, _: &Args) -> Result<Vec<Figure>> {
    let ladder = tool.ladder(&["run", "thread", "process"])?;
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

/// The speed of the RISC-V machine, by processor time.
fn riscv(_: &Tool, _: &Args) -> Result<Vec<Figure>> {
    let mut cargo = workspace::cargo(&workspace::root()?);
    cargo.args(["run", "--release", "--quiet", "--package", "tollgate-riscv", "--example", "mips"]);
    // Enough for every part of the programs, and bounded: to their ends it takes minutes.
    cargo.args(["--", "3", "--steps", "200000000"]);
    let output = cargo.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    for line in text.lines() {
        println!("  {line}");
    }
    let number = |line: &[&str]| figures::number_after(&text, line).unwrap_or(f64::NAN);
    Ok(vec![
        Figure::at_least("integer mix under Sv39, MIPS", number(&["mix", "blocks"]), 600.0),
        Figure::at_least("five stages, caches, TLBs and ledger, MIPS", number(&["mix", "pipeline"]), 150.0),
        Figure::at_least("caches and TLBs counted, MIPS", number(&["mix", "counting"]), 250.0),
        Figure::at_most("start to first instructions, ms", number(&["start", "instructions:"]) / 1e3, 5.0),
    ])
}

/// Probes of one CPU in separate runs.
fn repeat(tool: &Tool, args: &Args) -> Result<Vec<Figure>> {
    repeated(tool, args, "")
}

/// The same while another process spins on the other CPU.
fn beside_spinner(tool: &Tool, args: &Args) -> Result<Vec<Figure>> {
    let place = Place::of(tool)?;
    let Some(peer) = place.peer else {
        return Ok(vec![Figure::skipped("spinner", "only one CPU may be used")]);
    };
    let _spinner = Spinner::on(peer)?;
    repeated(tool, args, ", a spinner on the other CPU")
}

fn repeated(tool: &Tool, args: &Args, how: &str) -> Result<Vec<Figure>> {
    let options: &[&str] = if args.quick { &["--quick"] } else { &[] };
    let ladders = (0..args.runs).map(|_| tool.ladder(options)).collect::<Result<Vec<_>>>()?;
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

/// A spinner on the measured CPU must be told of.
fn on_spinner(tool: &Tool, _: &Args) -> Result<Vec<Figure>> {
    let place = Place::of(tool)?;
    let _spinner = Spinner::on(place.cpu)?;
    let (document, _) = tool.json(&["--quick", "--no-save"])?;
    let warned =
        document["warnings"].as_array().is_some_and(|all| all.iter().any(|one| one["code"] == "other-task"));
    Ok(vec![Figure::at_least("a spinner on the measured CPU is told of", f64::from(u8::from(warned)), 1.0)])
}

/// The CPUs that the tool chooses.
struct Place {
    cpu: u64,
    peer: Option<u64>,
}

impl Place {
    fn of(tool: &Tool) -> Result<Self> {
        let (document, _) = tool.json(&["run", "null", "--quick", "--no-save"])?;
        let cpu = &document["host"]["cpu"];
        Ok(Self {
            cpu: cpu["measured"].as_u64().context("no measured CPU in the record")?,
            peer: cpu["peer"].as_u64(),
        })
    }
}
