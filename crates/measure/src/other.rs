//! Another program's worker: which probes it has, and requests in its numbers.

use crate::bench::{Bench, Lost, PROTOCOL, Reply, Request};
use crate::probe::Meta;
use crate::samples::ProbeState;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tollgate_record::{Per, Tool};

/// The output of `tollgate protocol`: the facts that another program needs before it sends requests to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub struct Protocol {
    protocol: u32,
    version: String,
    commit: String,
    /// Whether the kernel may draw its addresses.
    #[serde(default)]
    randomized: bool,
    probes: Vec<KnownProbe>,
}

/// A probe as far as the sampler must know it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct KnownProbe {
    id: String,
    per: Per,
    crossings_per_pass: u32,
    proof: Vec<String>,
}

impl Protocol {
    /// The protocol of this program.
    pub fn of(tool: Tool, metas: &[&Meta]) -> Self {
        let probe = |meta: &&Meta| KnownProbe {
            id: meta.id.into(),
            per: meta.per,
            crossings_per_pass: meta.crossings_per_pass,
            proof: meta.proof.iter().map(|claim| claim.key.into()).collect(),
        };
        let probes = metas.iter().map(probe).collect();
        let randomized = personality(ASK_ONLY) & libc::ADDR_NO_RANDOMIZE == 0;
        Self { protocol: PROTOCOL, version: tool.version, commit: tool.commit, randomized, probes }
    }

    /// The place of each of these probes in the program's own list.
    fn places(&self, metas: &[&Meta]) -> Vec<Option<usize>> {
        let ours = Self::of(Tool { version: String::new(), commit: String::new() }, metas).probes;
        ours.iter().map(|ours| self.probes.iter().position(|theirs| theirs == ours)).collect()
    }
}

/// Changes nothing (`personality(2)`).
const ASK_ONLY: libc::c_ulong = 0xffff_ffff;

/// Asks the kernel for an execution domain, which a program keeps through `execve(2)`; the one before.
fn personality(wanted: libc::c_ulong) -> libc::c_int {
    // SAFETY: no memory is involved.
    unsafe { libc::personality(wanted) }
}

/// Starts the program of a command without address randomization, if the system lets it.
pub fn fix_addresses(command: &mut Command) {
    let fix = || {
        let before = personality(ASK_ONLY);
        // A filter may refuse it. The program's answer to the handshake says whether it had an effect.
        personality((before | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong);
        Ok(())
    };
    // SAFETY: two system calls without memory, which may be made between fork and exec.
    unsafe { command.pre_exec(fix) };
}

/// Why the program cannot take turns with this one.
#[derive(Debug, thiserror::Error)]
pub enum OtherError {
    /// It could not be started.
    #[error("`{0}` cannot be started: {1}")]
    Start(String, io::Error),
    /// It did not answer as a tollgate does, but with this first line of its standard error.
    #[error("`{}` is not a tollgate that can take turns{}; build one that supports 'tollgate run --against'", .0,
        .1.as_ref().map(|line| format!(" (its message: {line})")).unwrap_or_default())]
    NoProtocol(String, Option<String>),
    /// Its worker has another protocol.
    #[error(
        "`{0}` speaks version {1} of the worker's protocol and this tollgate speaks {PROTOCOL}; build both \
         from versions with the same protocol, or measure one after the other and use tollgate compare"
    )]
    Version(String, u32),
}

/// The other program.
pub struct OtherProgram {
    /// The program and what is before it on its command line.
    words: Vec<String>,
    /// Its name and version.
    pub tool: Tool,
    /// The place of each of our probes in its list.
    pub places: Vec<Option<usize>>,
    /// Whether it is the same file as this program, and can be started at the same addresses.
    pub same_addresses: bool,
}

/// The words of a command in one argument, as a shell reads them: quotes and backslashes keep blanks together.
///
/// # Errors
/// The fault of the command, as the rest of a sentence: no word, or a quote that does not end.
pub fn words(command: &str) -> Result<Vec<String>, String> {
    match shlex::split(command) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => Err("needs a command, for example 'nice -n 5'".into()),
        None => Err(format!("{command}: a quote or a backslash has no end")),
    }
}

impl OtherProgram {
    /// Asks the program of a path, or this one, behind the words of a command that starts it.
    ///
    /// # Errors
    /// A program that does not exist or cannot take turns, with the option that named it.
    pub fn named(program: Option<&Path>, before: Option<&str>, metas: &[&Meta]) -> Result<Self, String> {
        let words = before.map(|before| words(before).map_err(|why| format!("--against-with {why}")));
        let mut words = words.transpose()?.unwrap_or_default();
        let path = match program {
            Some(path) if path.is_file() => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
            Some(path) => return Err(format!("--against: there is no program at {}", path.display())),
            None => std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe")),
        };
        words.push(path.to_string_lossy().into_owned());
        let option = if program.is_some() { "--against" } else { "--against-with" };
        let is_this = is_one_file(path.metadata(), Path::new("/proc/self/exe").metadata());
        Self::ask(words, is_this, metas).map_err(|error| format!("{option}: {error}"))
    }

    /// Starts the program and asks it which probes it has; if it is this one, once more without address randomization.
    ///
    /// # Errors
    /// A program that cannot take turns.
    pub fn ask(words: Vec<String>, is_this: bool, metas: &[&Meta]) -> Result<Self, OtherError> {
        let first = hello(&words, false)?;
        if first.protocol != PROTOCOL {
            return Err(OtherError::Version(words.join(" "), first.protocol));
        }
        // A command before the program may itself choose how addresses are drawn.
        let same_addresses = is_this && first.randomized && !hello(&words, true)?.randomized;
        let places = first.places(metas);
        Ok(Self {
            words,
            tool: Tool { version: first.version, commit: first.commit },
            places,
            same_addresses,
        })
    }

    /// The command that starts its worker with the arguments of ours.
    pub fn worker(&self, ours: &Command) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(ours.get_args());
        command
    }
}

/// The answer of the program to `protocol`.
fn hello(words: &[String], fixed: bool) -> Result<Protocol, OtherError> {
    let name = || words.join(" ");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg("protocol").stdin(Stdio::null());
    if fixed {
        fix_addresses(&mut command);
    }
    let output = command.output().map_err(|error| OtherError::Start(name(), error))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let message = String::from_utf8_lossy(&output.stderr).lines().next().map(str::to_owned);
        OtherError::NoProtocol(name(), message)
    })
}

/// Whether both are known and the same file.
fn is_one_file(a: io::Result<Metadata>, b: io::Result<Metadata>) -> bool {
    a.ok().zip(b.ok()).is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// Skips the probes that have no place.
pub fn skip_missing(states: &mut [ProbeState], places: &[Option<usize>]) {
    for (state, place) in states.iter_mut().zip(places) {
        if place.is_none() && *state == ProbeState::Active {
            *state = ProbeState::Skipped {
                reason: "the other program has no such probe, or measures it in another way".into(),
                enable: "build the other program from a version that has it".into(),
            };
        }
    }
}

/// A bench whose probes have other numbers.
pub struct Renumbered<'o, B> {
    /// The bench.
    pub bench: B,
    /// The number there of each probe here.
    pub places: &'o [Option<usize>],
}

impl<B: Bench> Bench for Renumbered<'_, B> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        let mut request = request.clone();
        if let Request::Open { probe }
        | Request::Close { probe }
        | Request::Visit { probe, .. }
        | Request::Singles { probe, .. }
        | Request::Dissect { probe, .. } = &mut request
        {
            match self.places.get(*probe).copied().flatten() {
                Some(place) => *probe = place,
                None => return Ok(Reply::Failed { reason: "the other program has no such probe".into() }),
            }
        }
        self.bench.ask(&request)
    }

    fn restart(&mut self) -> Result<(), Lost> {
        self.bench.restart()
    }

    fn pause(&mut self) {
        self.bench.pause();
    }

    fn elapsed_ns(&self) -> u64 {
        self.bench.elapsed_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Placement;

    const FUTEX: Meta = meta("thread/futex", 1);

    const fn meta(id: &'static str, crossings_per_pass: u32) -> Meta {
        Meta {
            id,
            what: "",
            per: Per::Switch,
            crossings_per_pass,
            least_passes: 1,
            placement: Placement::One,
            proof: &[],
        }
    }

    fn tool() -> Tool {
        Tool { version: "0.1.0".into(), commit: "unknown".into() }
    }

    #[test]
    fn a_command_is_read_as_by_a_shell() {
        assert_eq!(words(r#"sh -c 'a b' "c d" e\ f"#).unwrap(), ["sh", "-c", "a b", "c d", "e f"]);
        assert!(words("  ").unwrap_err().contains("needs a command"));
        assert!(words("sh -c 'a").unwrap_err().contains("no end"));
    }

    #[test]
    fn a_probe_has_the_place_of_the_same_probe_in_the_other_list() {
        let theirs = Protocol::of(tool(), &[&meta("null", 1), &meta("call/direct", 2), &FUTEX]);
        let theirs: Protocol = serde_json::from_str(&serde_json::to_string(&theirs).unwrap()).unwrap();
        // Another number of crossings in a pass is another probe.
        let ours = [&FUTEX, &meta("call/direct", 1), &meta("new/one", 1)];
        let places = theirs.places(&ours);
        assert_eq!(places, [Some(2), None, None]);
        let mut states = [ProbeState::Active, ProbeState::Active, ProbeState::Failed("before".into())];
        skip_missing(&mut states, &places);
        assert_eq!(states[0], ProbeState::Active);
        assert!(
            matches!(&states[1], ProbeState::Skipped { enable, .. } if enable.contains("build the other"))
        );
        assert_eq!(states[2], ProbeState::Failed("before".into()));
    }

    #[test]
    fn fixed_addresses_are_those_of_every_other_start() {
        let start = || {
            let mut command = Command::new("/bin/cat");
            command.arg("/proc/self/maps");
            fix_addresses(&mut command);
            let maps = String::from_utf8(command.output().unwrap().stdout).unwrap();
            let begins = |line: &str| line.split('-').next().map(str::to_owned);
            maps.lines().filter(|line| !line.ends_with("[stack]")).filter_map(begins).collect::<Vec<_>>()
        };
        let mut as_it_is = Command::new("/bin/cat");
        fix_addresses(&mut as_it_is);
        let answer = as_it_is.arg("/proc/self/personality").output().unwrap().stdout;
        if !answer.starts_with(b"0004") {
            tollgate_testkit::skip!("a program cannot be started here without address randomization");
        }
        assert_eq!(start(), start());
    }

    #[test]
    fn only_the_same_file_is_this_program() {
        let file = |path: &str| Path::new(path).metadata();
        assert!(is_one_file(file("/proc/self/exe"), std::env::current_exe().unwrap().metadata()));
        assert!(!is_one_file(file("/proc/self/exe"), file("/bin/cat")));
        assert!(!is_one_file(file("/nowhere"), file("/nowhere")));
    }

    #[test]
    fn what_is_not_a_tollgate_is_refused_in_a_sentence() {
        let ask = |words: &[&str]| {
            OtherProgram::ask(words.iter().map(|word| (*word).into()).collect(), false, &[])
                .err()
                .unwrap()
                .to_string()
        };
        assert!(ask(&["/nowhere/tollgate"]).starts_with("`/nowhere/tollgate` cannot be started: "));
        let error = ask(&["/bin/sh", "-c", "echo wrong >&2"]);
        assert!(
            error.contains("is not a tollgate that can take turns (its message: wrong); build"),
            "{error}"
        );
        let error = ask(&["/bin/sh", "-c", r#"echo '{"protocol":0,"version":"","commit":"","probes":[]}'"#]);
        assert!(error.contains("speaks version 0 of the worker's protocol"), "{error}");
    }
}
