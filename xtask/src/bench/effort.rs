//! How much a benchmark measures.

/// The options that all benchmarks share.
#[derive(clap::Args)]
pub(super) struct Effort {
    /// Number of runs for a figure of repeatability
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub(super) runs: u32,
    /// Use quick runs instead of default ones for repeatability
    #[arg(long)]
    pub(super) quick: bool,
}
