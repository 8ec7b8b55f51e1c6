//! The options of `tollgate switch`.

use crate::args::Sampling;
use std::path::PathBuf;
use tollgate_record::parse::{bytes, count};
use tollgate_runtime::table::MOST_TASKS;

#[derive(clap::Args)]
#[command(
    mut_arg("quick", |quick| quick.help("A rougher answer: two epochs; the time grows with the number of rows")),
    after_help = "Examples:\n  tollgate switch\n  tollgate switch boost-fiber 50 1000000\n  tollgate switch \
                  --runtime own,tokio/channel,thread --tasks 2,50,1000\n  tollgate switch --growth --runtime own,tokio \
                  --memory 2G\n  tollgate switch --program ./mine --runtime own"
)]
pub(crate) struct Args {
    /// A runtime ('boost-fiber'), one of its mechanisms ('tokio/channel') or a kind ('stackful', 'stackless',
    /// 'thread')
    #[arg(value_name = "RUNTIME", conflicts_with = "runtime")]
    name: Option<String>,
    /// How many tasks
    #[arg(value_name = "TASKS", value_parser = tasks, conflicts_with_all = ["tasks", "growth"], allow_hyphen_values = true)]
    number: Option<u64>,
    /// How many switches in all
    #[arg(value_name = "ITERATIONS", value_parser = iterations, conflicts_with = "iterations", allow_hyphen_values = true)]
    count: Option<u64>,
    /// Only these: runtimes, mechanisms or kinds [default: all that this machine can build]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    runtime: Vec<String>,
    /// How many tasks, one or more figures [default: 2]
    #[arg(long, value_name = "N,...", value_parser = tasks, value_delimiter = ',', allow_hyphen_values = true)]
    tasks: Vec<u64>,
    /// How many switches in all, for each row and number of tasks [default: what fits into its share of time]
    #[arg(long, value_name = "N", value_parser = iterations, allow_hyphen_values = true)]
    iterations: Option<u64>,
    /// Cost and memory from 2 tasks to 1,000,000, as far as each runtime and the memory go, with a plot; with --quick
    /// at 2, 1,000 and 30,000 tasks, which takes 20 seconds for all runtimes
    #[arg(long, conflicts_with = "tasks")]
    pub(super) growth: bool,
    /// The memory that may be used: bytes, or with K, M, G (1,024) or kB, MB, GB (1,000) [default: half of what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, allow_hyphen_values = true)]
    pub(super) memory: Option<u64>,
    /// A program of your own that speaks the protocol of runtimes/PROTOCOL.md
    #[arg(long, value_name = "FILE")]
    pub(super) program: Vec<PathBuf>,
    /// Where runtimes are built [default: tollgate/runtimes in the XDG cache directory]
    #[arg(long, value_name = "DIR")]
    pub(super) cache: Option<PathBuf>,
    /// A folder with a runtimes.toml, in place of the runtimes that the program carries
    #[arg(long, value_name = "DIR")]
    pub(super) runtimes: Option<PathBuf>,
    /// Length of a batch, in microseconds
    #[arg(long, hide = true, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) batch_us: u32,
    #[command(flatten)]
    pub(super) sampling: Sampling,
}

/// The numbers of tasks of a growth curve.
const GROWTH: [u64; 11] = [2, 10, 50, 200, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

/// The same with `--quick`.
const QUICK_GROWTH: [u64; 3] = [2, 1_000, 30_000];

impl Args {
    /// What was named.
    pub(super) fn names(&self) -> Vec<String> {
        self.name.iter().chain(&self.runtime).cloned().collect()
    }

    /// The numbers of tasks, each once, in ascending order.
    pub(super) fn tasks(&self) -> Vec<u64> {
        match (self.growth, self.sampling.quick) {
            (true, true) => return QUICK_GROWTH.into(),
            (true, false) => return GROWTH.into(),
            (false, _) => {}
        }
        let mut tasks: Vec<u64> = self.number.iter().chain(&self.tasks).copied().collect();
        if tasks.is_empty() {
            tasks.push(2);
        }
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// The switches that were asked for.
    pub(super) fn iterations(&self) -> Option<u64> {
        self.count.or(self.iterations)
    }

    /// Whether a curve is wanted rather than a few exact figures.
    pub(super) fn curve(&self) -> bool {
        self.growth || self.tasks().len() > 4
    }
}

fn tasks(text: &str) -> Result<u64, String> {
    count(text, 2..=MOST_TASKS, "tasks", 50)
}

fn iterations(text: &str) -> Result<u64, String> {
    // More would take days, and the arithmetic of the counts would be near its end.
    count(text, 1..=1_000_000_000_000, "switches", 1_000_000)
}

fn memory(text: &str) -> Result<u64, String> {
    match bytes(text, 1)? {
        0 => Err("without memory nothing runs; try 1G".into()),
        bytes => Ok(bytes),
    }
}
