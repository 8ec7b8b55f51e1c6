//! The options of `tollgate ring`.

use crate::args::Sampling;
use clap::ValueEnum;
use tollgate_boundary::ring::{Link, Pages, Room, Walk, sizes_around};
use tollgate_record::host::Cache;
use tollgate_record::parse::bytes;

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
    #[arg(long, value_enum, default_value_t = Medium::Pipe)]
    pub(crate) medium: Medium,
    /// What the tasks are
    #[arg(long, value_enum, default_value_t = Tasks::Process)]
    pub(crate) tasks: Tasks,
    /// Where the tasks run
    #[arg(long, value_enum, default_value_t = Placing::OneCpu)]
    pub(crate) placement: Placing,
    /// How a task walks over its array
    #[arg(long, value_enum, default_value_t = WalkChoice::Sum)]
    pub(crate) walk: WalkChoice,
    /// The pages of the arrays
    #[arg(long, value_enum, default_value_t = PagesChoice::Base)]
    pub(crate) pages: PagesChoice,
    /// Seconds of silence after which a ring counts as stuck [default: 10, and more for large rings]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..), allow_hyphen_values = true)]
    pub(crate) watchdog: Option<u16>,
    #[command(flatten)]
    pub(crate) sampling: Sampling,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Medium {
    /// A byte through a pipe
    Pipe,
    /// A word in shared memory and the futex calls
    Futex,
    /// A count through an eventfd
    Eventfd,
    /// A byte through a Unix stream socket pair
    Socketpair,
}

impl From<Medium> for Link {
    fn from(medium: Medium) -> Self {
        match medium {
            Medium::Pipe => Self::Pipe,
            Medium::Futex => Self::Futex,
            Medium::Eventfd => Self::Eventfd,
            Medium::Socketpair => Self::Socketpair,
        }
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Tasks {
    /// Processes, each with an address space of its own
    Process,
    /// Threads of one process
    Thread,
}

impl Tasks {
    pub(crate) fn threads(self) -> bool {
        self == Self::Thread
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Placing {
    /// All on the measured CPU
    OneCpu,
    /// In turn on the hardware threads of one core
    Siblings,
    /// In turn on all CPUs that may be used
    Spread,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum WalkChoice {
    /// Adds up its words in order, as lmbench does
    Sum,
    /// Follows a chain through its lines in random order
    Random,
    /// Writes its words in order
    Write,
}

impl From<WalkChoice> for Walk {
    fn from(choice: WalkChoice) -> Self {
        match choice {
            WalkChoice::Sum => Self::Sum,
            WalkChoice::Random => Self::Random,
            WalkChoice::Write => Self::Write,
        }
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum PagesChoice {
    /// Pages of the base size, touched in order
    #[value(name = "4k")]
    Base,
    /// Transparent huge pages
    Huge,
    /// Pages of the base size, touched in scattered order
    Random,
}

impl From<PagesChoice> for Pages {
    fn from(choice: PagesChoice) -> Self {
        match choice {
            PagesChoice::Base => Self::Base,
            PagesChoice::Huge => Self::Huge,
            PagesChoice::Random => Self::Random,
        }
    }
}

/// Which sizes were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Those that bracket each cache of the host.
    Auto,
    /// These, in bytes.
    These(Vec<u64>),
}

impl Sizes {
    fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        let sizes: Result<Vec<u64>, String> = text.split(',').map(|size| bytes(size, 1)).collect();
        Ok(Self::These(sizes?))
    }

    /// The sizes for a ring of so many tasks.
    pub(crate) fn of(&self, procs: u32, caches: &[Cache], room: Option<Room>) -> Vec<u64> {
        match self {
            Self::These(sizes) => sizes.clone(),
            Self::Auto => sizes_around(procs, caches, room),
        }
    }
}

/// The largest ring.
const MOST_PROCS: u32 = 1_000_000;

/// Parses a number of tasks: at least two, because one does not switch.
pub(crate) fn procs(text: &str) -> Result<u32, String> {
    let why = match text.trim().parse::<i64>() {
        Err(_) => "a number of tasks is a whole number from 2, for example 8".into(),
        Ok(procs) if procs < 2 => {
            format!("a ring needs at least 2 tasks, because {procs} cannot switch: try 2")
        }
        Ok(procs) => match u32::try_from(procs).ok().filter(|&procs| procs <= MOST_PROCS) {
            Some(procs) => return Ok(procs),
            None => format!("a ring has at most {MOST_PROCS} tasks, for example 10000"),
        },
    };
    Err(why)
}

#[cfg(test)]
mod tests {
    use super::{Sizes, procs};

    #[test]
    fn sizes_are_read() {
        assert_eq!(
            Sizes::parse("0,16K,1m,2G,100,16KB"),
            Ok(Sizes::These(vec![0, 16 << 10, 1 << 20, 2 << 30, 100, 16_000]))
        );
        assert_eq!(Sizes::parse("auto"), Ok(Sizes::Auto));
        for wrong in ["", "K", "abc", "-1", "+1", "1.5K", "1,,2", "99999999999G", "\u{e9}"] {
            assert!(Sizes::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_or_more() {
        assert_eq!(procs("2"), Ok(2));
        assert_eq!(procs("10000"), Ok(10_000));
        for wrong in ["0", "1", "-1", "x", "", "2.5", "1000001", "99999999999999999999"] {
            let why = procs(wrong).expect_err(wrong);
            assert!(why.contains("2") || why.contains("10000"), "{wrong}: {why}");
        }
    }
}
