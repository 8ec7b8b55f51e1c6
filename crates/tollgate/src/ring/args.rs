//! The options of `tollgate ring`.

use crate::args::{Sampling, one_of};
use tollgate_boundary::ring::{Link, Pages, Placing, Sizes, THREADS_OR_PROCESSES, Tasks, Walk, procs};

#[derive(clap::Args)]
#[command(
    mut_arg("quick", |quick| quick.help("A rougher answer, in about a third of a second for each cell")),
    after_help = "Examples:\n  tollgate ring\n  tollgate ring --procs 2 --size 4K,8K,16K,32K,64K,128K,256K,512K,1M\n  \
                  tollgate ring --procs 2,8,32 --sizes auto --medium futex --tasks thread"
)]
pub(crate) struct Args {
    /// Number of tasks of the ring, one or more
    #[arg(long, value_name = "N,...", value_parser = procs, value_delimiter = ',', default_value = "2,8,32", allow_hyphen_values = true)]
    pub(crate) procs: Vec<u32>,
    /// The array that each task walks over: bytes, or with K, M, G (1,024) or kB, MB, GB (1,000); 'auto' takes
    /// sizes around this host's caches, so that each boundary has footprints on both sides
    #[arg(long = "size", visible_alias = "sizes", value_name = "S,...", value_parser = Sizes::parse, default_value = "0,16K,64K", allow_hyphen_values = true)]
    pub(crate) sizes: Sizes,
    /// The medium of the token
    #[arg(long, value_name = "MEDIUM", value_parser = one_of(Link::NAMES), default_value = "pipe")]
    pub(crate) medium: Link,
    /// What the tasks are
    #[arg(long, value_name = "TASKS", value_parser = one_of(THREADS_OR_PROCESSES), default_value = "process")]
    pub(crate) tasks: Tasks,
    /// Where the tasks run
    #[arg(long, value_name = "PLACEMENT", value_parser = one_of(Placing::NAMES), default_value = "one-cpu")]
    pub(crate) placement: Placing,
    /// How a task walks over its array
    #[arg(long, value_name = "WALK", value_parser = one_of(Walk::NAMES), default_value = "sum")]
    pub(crate) walk: Walk,
    /// The pages of the arrays
    #[arg(long, value_name = "PAGES", value_parser = one_of(Pages::NAMES), default_value = "4k")]
    pub(crate) pages: Pages,
    /// Seconds of silence after which a ring counts as stuck [default: 10, and more for large rings]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..), allow_hyphen_values = true)]
    pub(crate) watchdog: Option<u16>,
    #[command(flatten)]
    pub(crate) sampling: Sampling,
}
