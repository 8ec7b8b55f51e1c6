//! `runtimes.toml`: which runtimes there are, and how each is built and run.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tollgate_record::text::{self, suggestion};

/// The kind of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A task has a stack of its own and may stop anywhere in it.
    #[default]
    Stackful,
    /// A task is a state machine or a frame that stops at marked places.
    Stackless,
    /// A task is a thread of the system.
    Thread,
    /// There are no tasks: one language calls another.
    Border,
}

impl Kind {
    /// Its name in the record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stackful => "stackful",
            Self::Stackless => "stackless",
            Self::Thread => "thread",
            Self::Border => "border",
        }
    }
}

/// The family of the borders.
pub const BORDERS: &str = "ffi";

/// Something that must be present before a runtime can be built or run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// A program that must be on `PATH`.
    pub program: Option<String>,
    /// A file that must exist.
    pub file: Option<PathBuf>,
    /// A command that must end with status 0.
    pub command: Option<Vec<String>>,
    /// The Debian package that contains it; empty if there is none.
    #[serde(default)]
    pub package: String,
    /// The command that installs it, if no package does.
    #[serde(default)]
    pub install: String,
}

/// One way in which a runtime's tasks switch.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mechanism {
    /// `yield`, `channel`.
    pub id: String,
    /// A description of one switch in a few words.
    pub what: String,
    /// Resident bytes that one more task adds, rounded up.
    #[serde(default)]
    pub task_bytes: u64,
    /// The kind of its tasks, if it differs from the runtime's.
    pub kind: Option<Kind>,
    /// The most tasks that it can have.
    #[serde(default = "most_tasks")]
    pub max_tasks: u64,
    /// The fewest.
    #[serde(default = "fewest_tasks")]
    pub min_tasks: u64,
    /// Share by which the tasks' own count may differ from the switches.
    #[serde(default)]
    pub tolerance: f64,
    /// Whether it is measured if no runtime is named.
    #[serde(default = "yes")]
    pub default: bool,
    /// A part of it that another row does not have.
    pub part: Option<NamedPart>,
}

/// A part that is the difference of two rows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedPart {
    /// Its name, one of the record's phases.
    pub name: String,
    /// The row without it: `cpython/down`.
    pub without: String,
}

/// The largest number of tasks in any request.
pub const MOST_TASKS: u64 = 1_000_000;

fn most_tasks() -> u64 {
    MOST_TASKS
}

fn fewest_tasks() -> u64 {
    2
}

fn yes() -> bool {
    true
}

/// One runtime.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// `boost-fiber`: the name on the command line.
    pub id: String,
    /// `Boost.Fiber`: the name in the output.
    pub name: String,
    /// The language it is written in.
    pub language: String,
    /// Its folder below `runtimes/`; runtimes of one folder share its build.
    pub folder: String,
    /// The kind of its tasks.
    pub kind: Kind,
    /// Its requirements.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Commands that print the versions of its toolchain.
    #[serde(default)]
    pub version: Vec<Vec<String>>,
    /// Commands that build it, one after the other.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// The command that runs it; parameters follow.
    pub run: Vec<String>,
    /// Additional environment variables for build and run.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether one process measures several mechanisms, in turns.
    #[serde(default)]
    pub together: bool,
    /// The least warm-up in milliseconds, where a compiler replaces its own code several times.
    #[serde(default)]
    pub warm_min_ms: u64,
    /// Resident bytes with two tasks, rounded up.
    pub base_bytes: u64,
    /// How its tasks switch.
    pub mechanisms: Vec<Mechanism>,
}

impl Runtime {
    /// Whether its rows are calls from one language into another.
    pub fn is_border(&self) -> bool {
        self.kind == Kind::Border
    }

    /// The name of a row in the record: `switch/boost-fiber/yield`, `ffi/cgo/down`.
    pub fn row(&self, mechanism: &Mechanism) -> String {
        let family = if self.is_border() { BORDERS } else { "switch" };
        format!("{family}/{}/{}", self.id, mechanism.id)
    }

    /// The user's own program, which is not in the table: already built, with one mechanism.
    pub fn own(program: &Path) -> Self {
        let name = program.file_name().map_or("program".into(), |name| name.to_string_lossy().into_owned());
        let mechanism = Mechanism {
            id: "yield".into(),
            what: "your own program".into(),
            task_bytes: 4_096,
            max_tasks: MOST_TASKS,
            min_tasks: 2,
            default: true,
            ..Mechanism::default()
        };
        Self {
            id: name.clone(),
            name,
            language: "unknown".into(),
            folder: "program".into(),
            run: vec![program.to_string_lossy().into_owned()],
            base_bytes: 1 << 20,
            mechanisms: vec![mechanism],
            ..Self::default()
        }
    }
}

/// An error in a table, or in a name that was looked up in it.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It could not be read.
    #[error("runtimes.toml cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    /// It is not valid.
    #[error("runtimes.toml is invalid: {0}")]
    Wrong(String),
    /// A name that is not in the table, the most similar one, if one is similar enough, and all.
    #[error("there is no runtime '{}'{}; the runtimes are: {}", .0, suggestion(.1.as_deref()), .2)]
    Unknown(String, Option<String>, String),
}

/// All runtimes, in the order of the table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// One entry for each.
    #[serde(default, rename = "runtime")]
    pub runtimes: Vec<Runtime>,
}

impl Table {
    /// Reads the text of `runtimes.toml` and checks what its types do not express.
    ///
    /// # Errors
    /// [`TableError::Wrong`] with the place.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut table: Self = toml::from_str(text).map_err(|error| TableError::Wrong(error.to_string()))?;
        // A border has no tasks.
        for mechanism in
            table.runtimes.iter_mut().filter(|it| it.is_border()).flat_map(|it| &mut it.mechanisms)
        {
            (mechanism.min_tasks, mechanism.max_tasks) = (1, 1);
        }
        for (at, runtime) in table.runtimes.iter().enumerate() {
            let wrong = |what: &str| Err(TableError::Wrong(format!("{}: {what}", runtime.id)));
            if !is_name(&runtime.id) || !runtime.mechanisms.iter().all(|mechanism| is_name(&mechanism.id)) {
                return wrong("an id must consist of lower-case letters, digits and '-'");
            }
            if !is_name(&runtime.folder) {
                return wrong("folder must be one name below runtimes/");
            }
            if table.runtimes[..at].iter().any(|other| other.id == runtime.id) {
                return wrong("the id appears twice");
            }
            if runtime.run.is_empty() || runtime.mechanisms.is_empty() {
                return wrong("run and mechanisms must not be empty");
            }
            if runtime.version.iter().chain(&runtime.build).any(Vec::is_empty) {
                return wrong("a command must not be empty");
            }
            let one = |need: &Need| {
                let command = need.command.as_ref().is_some_and(|it| !it.is_empty());
                [need.program.is_some(), need.file.is_some(), command].map(usize::from).iter().sum::<usize>()
                    == 1
            };
            if !runtime.needs.iter().all(one) {
                return wrong("a need must have one of program, file and command");
            }
            if runtime.needs.iter().any(|need| need.package.is_empty() == need.install.is_empty()) {
                return wrong("a need must have one of package and install");
            }
            for mechanism in &runtime.mechanisms {
                let tolerated = (0.0..0.5).contains(&mechanism.tolerance);
                if runtime.is_border() != (mechanism.task_bytes == 0) {
                    return wrong("a mechanism needs task_bytes, unless its runtime is a border");
                }
                let fewest = if runtime.is_border() { 1 } else { 2 };
                if !tolerated || mechanism.min_tasks < fewest || mechanism.max_tasks < mechanism.min_tasks {
                    return wrong(
                        "tolerance must be below 0.5, min_tasks at least 2, max_tasks at least min_tasks",
                    );
                }
            }
        }
        Ok(table)
    }

    /// The indices (runtime, mechanism) of the named mechanisms, in the order of the table, each once. A name is a runtime
    /// (`tokio`), one of its mechanisms (`tokio/channel`) or a kind (`stackful`). Without a name: all that are
    /// measured by default.
    ///
    /// # Errors
    /// [`TableError::Unknown`] for the first unknown name.
    pub fn select(&self, names: &[String]) -> Result<Vec<(usize, usize)>, TableError> {
        let all: Vec<(usize, usize)> = (0..self.runtimes.len())
            .flat_map(|at| (0..self.runtimes[at].mechanisms.len()).map(move |mechanism| (at, mechanism)))
            .collect();
        let means = |name: &str, (runtime, mechanism): (usize, usize)| {
            let runtime = &self.runtimes[runtime];
            let mechanism = &runtime.mechanisms[mechanism];
            // `java` means `java-virtual` and `java-thread`.
            let is_of =
                runtime.id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
            is_of
                || mechanism.kind.unwrap_or(runtime.kind).name() == name
                || name.split_once('/').is_some_and(|(id, way)| id == runtime.id && way == mechanism.id)
        };
        for name in names {
            if !all.iter().any(|&row| means(name, row)) {
                return Err(self.unknown(name));
            }
        }
        let wanted = |&(runtime, mechanism): &(usize, usize)| match names {
            [] => self.runtimes[runtime].mechanisms[mechanism].default,
            names => names.iter().any(|name| means(name, (runtime, mechanism))),
        };
        Ok(all.into_iter().filter(wanted).collect())
    }

    fn unknown(&self, name: &str) -> TableError {
        let ids: Vec<&str> = self.runtimes.iter().map(|runtime| runtime.id.as_str()).collect();
        let ways = self.runtimes.iter().flat_map(|runtime| {
            runtime.mechanisms.iter().map(move |mechanism| format!("{}/{}", runtime.id, mechanism.id))
        });
        let names: Vec<String> = ids.iter().map(|id| (*id).to_owned()).chain(ways).collect();
        let nearest = text::nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
        TableError::Unknown(name.to_owned(), nearest, ids.join(", "))
    }
}

fn is_name(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sources;

    fn table() -> Table {
        Table::parse(&Sources::Embedded.table().unwrap()).unwrap()
    }

    #[test]
    fn the_embedded_table_is_valid() {
        let table = table();
        assert!(table.runtimes.iter().any(|runtime| runtime.id == "own"));
        for runtime in &table.runtimes {
            assert!(!Sources::Embedded.files(&runtime.folder).unwrap().is_empty(), "{}", runtime.folder);
        }
    }

    #[test]
    fn names_mean_runtimes_mechanisms_and_kinds() {
        let table = table();
        let ids = |names: &[&str]| -> Vec<String> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let rows = table.select(&names).unwrap();
            rows.iter()
                .map(|&(at, way)| {
                    format!("{}/{}", table.runtimes[at].id, table.runtimes[at].mechanisms[way].id)
                })
                .collect()
        };
        assert_eq!(ids(&["tokio"]), ["tokio/yield", "tokio/channel"]);
        assert_eq!(ids(&["tokio/channel", "own/ret"]), ["own/ret", "tokio/channel"]);
        assert_eq!(ids(&["java"])[..1], ["java-virtual/yield"]);
        assert!(ids(&["java"]).contains(&"java-thread/park".to_owned()));
        assert!(ids(&["thread"]).contains(&"rust-thread/park".to_owned()));
        assert!(ids(&[]).len() > 5);
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        for (typed, nearest) in [("tokyo", "tokio"), ("own/jump", "own/jmp"), ("corosense", "corosensei")] {
            let error = table().select(&[typed.into()]).unwrap_err();
            assert!(matches!(&error, TableError::Unknown(_, Some(near), _) if near == nearest), "{error}");
        }
    }

    #[test]
    fn an_invalid_table_names_its_error() {
        let entry = r#"[[runtime]]
id = "a"
name = "A"
language = "C"
folder = "a"
kind = "thread"
run = ["./a"]
base_bytes = 1
mechanisms = [{ id = "yield", what = "yields", task_bytes = 1 }]
"#;
        assert!(Table::parse(entry).is_ok());
        for (from, to, said) in [
            ("id = \"a\"\n", "id = \"A b\"\n", "lower-case letters"),
            ("folder = \"a\"", "folder = \"../a\"", "must be one name below"),
            ("kind = \"thread\"", "kind = \"rope\"", "rope"),
            ("run = [\"./a\"]", "run = []", "must not be empty"),
            ("run = [\"./a\"]", "run = [\"./a\"]\nneeds = [{ package = \"a\" }]", "must have one of program"),
            (
                "run = [\"./a\"]",
                "run = [\"./a\"]\nneeds = [{ program = \"a\" }]",
                "one of package and install",
            ),
            ("run = [\"./a\"]", "run = [\"./a\"]\nrnu = 1", "rnu"),
            ("task_bytes = 1", "task_bytes = 1, tolerance = 0.9", "below 0.5"),
            ("task_bytes = 1", "task_bytes = 1, max_tasks = 1", "max_tasks"),
            (", task_bytes = 1", "", "needs task_bytes"),
            ("kind = \"thread\"", "kind = \"border\"", "unless its runtime is a border"),
        ] {
            let text = entry.replacen(from, to, 1);
            assert_ne!(text, entry, "{from}");
            let error = Table::parse(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(Table::parse(&entry.repeat(2)).unwrap_err().to_string().contains("appears twice"));
    }
}
