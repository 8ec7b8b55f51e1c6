//! Another program's worker: which probes it has, and requests in its numbers.

use crate::bench::{Bench, Lost, PROTOCOL, Reply, Request};
use crate::probe::Meta;
use crate::samples::ProbeState;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tollgate_record::{Per, Tool};

/// What a program prints for `tollgate protocol`: what another one must know before it sends requests to its worker.
#[derive(Debug, Serialize, Deserialize)]
pub struct Protocol {
    protocol: u32,
    version: String,
    commit: String,
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
    /// What this program prints.
    pub fn of(tool: Tool, metas: &[&Meta]) -> Self {
        let probe = |meta: &&Meta| KnownProbe {
            id: meta.id.into(),
            per: meta.per,
            crossings_per_pass: meta.crossings_per_pass,
            proof: meta.proof.iter().map(|claim| claim.key.into()).collect(),
        };
        let probes = metas.iter().map(probe).collect();
        Self { protocol: PROTOCOL, version: tool.version, commit: tool.commit, probes }
    }

    /// The place of each of these probes in the program's own list.
    fn places(&self, metas: &[&Meta]) -> Vec<Option<usize>> {
        let ours = Self::of(Tool { version: String::new(), commit: String::new() }, metas).probes;
        ours.iter().map(|ours| self.probes.iter().position(|theirs| theirs == ours)).collect()
    }
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
    /// What it calls itself.
    pub tool: Tool,
    /// The place of each of our probes in its list.
    pub places: Vec<Option<usize>>,
}

/// The words of a command in one argument, as a shell reads them: quotes and backslashes keep blanks together.
///
/// # Errors
/// What is wrong with it, as the rest of a sentence: no word, or a quote that does not end.
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
        Self::ask(words, metas).map_err(|error| format!("{option}: {error}"))
    }

    /// Starts the program and asks it which probes it has.
    ///
    /// # Errors
    /// A program that cannot take turns.
    pub fn ask(words: Vec<String>, metas: &[&Meta]) -> Result<Self, OtherError> {
        let name = words.join(" ");
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("protocol").stdin(Stdio::null());
        let output = command.output().map_err(|error| OtherError::Start(name.clone(), error))?;
        let protocol: Protocol = serde_json::from_slice(&output.stdout).map_err(|_| {
            let message = String::from_utf8_lossy(&output.stderr).lines().next().map(str::to_owned);
            OtherError::NoProtocol(name.clone(), message)
        })?;
        if protocol.protocol != PROTOCOL {
            return Err(OtherError::Version(name, protocol.protocol));
        }
        let places = protocol.places(metas);
        Ok(Self { words, tool: Tool { version: protocol.version, commit: protocol.commit }, places })
    }

    /// The command that starts its worker with the arguments of ours.
    pub fn worker(&self, ours: &Command) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).args(ours.get_args());
        command
    }
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
        Meta { id, what: "", per: Per::Switch, crossings_per_pass, placement: Placement::One, proof: &[] }
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
    fn what_is_not_a_tollgate_is_refused_in_a_sentence() {
        let ask = |words: &[&str]| {
            OtherProgram::ask(words.iter().map(|word| (*word).into()).collect(), &[])
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
