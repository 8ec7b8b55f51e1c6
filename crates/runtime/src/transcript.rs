//! The output of a runtime program: accepted as a whole, or refused with a reason.

/// The request to the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Living tasks.
    pub tasks: u64,
    /// Timed batches.
    pub batches: u64,
    /// Switches in each.
    pub batch: u64,
    /// The maximum of switches that are timed one at a time.
    pub singles: u64,
    /// Share by which counts may differ.
    pub tolerance: f64,
}

impl Asked {
    /// The maximum of lines in an answer.
    pub fn lines(&self) -> usize {
        (self.batches + 2 * self.singles) as usize + 32
    }
}

/// One timed batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Switches in it.
    pub switches: u64,
    /// Nanoseconds it took.
    pub ns: f64,
}

/// The checked output of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// The runtime and its version, then the compiler's.
    pub version: String,
    /// The clock's resolution in nanoseconds, and its name.
    pub clock: (f64, String),
    /// Resident bytes before the tasks were made, and when each had run once.
    pub rss: Option<(u64, u64)>,
    /// Whether warming up reached a steady state.
    pub steady: bool,
    /// The batches in the order of time.
    pub samples: Vec<Sample>,
    /// Empty pairs of readings, ns.
    pub pairs: Vec<f64>,
    /// Switches timed as one event, ns, including the cost of the pair.
    pub singles: Vec<Sample>,
    /// Switches of all samples.
    pub switches: u64,
    /// Resumptions that the tasks counted.
    pub resumes: u64,
    /// Visits of the dispatcher, which is not a task.
    pub dispatcher: Option<u64>,
    /// Context switches that the kernel counted.
    pub kernel: Option<u64>,
    /// Notes for the reader of the figure.
    pub notes: Vec<String>,
    /// Copies of an argument's bytes that were made on its way.
    pub copies: Option<u64>,
}

/// Why the output is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The program reports that this cannot be measured here.
    #[error("{0}")]
    Skip(String),
    /// The program reports a failure.
    #[error("it reported: {0}")]
    Fail(String),
    /// It printed nothing.
    #[error("it printed nothing; the protocol begins with 'tollgate-runtime 1'")]
    Silent,
    /// The first line is another.
    #[error("its first line is '{0}'; the protocol begins with 'tollgate-runtime 1'")]
    NoHeader(String),
    /// A line that is not part of the protocol.
    #[error("line {0} is not part of the protocol: '{1}'")]
    Garbage(usize, String),
    /// The last line is not 'end'.
    #[error("its output stops after line {0}, without 'end'")]
    NoEnd(usize),
    /// Something follows the end.
    #[error("line {0} follows 'end': '{1}'")]
    AfterEnd(usize, String),
    /// A line that may appear only once appears again.
    #[error("line {0} repeats an earlier line: '{1}'")]
    Repeated(usize, String),
    /// A required line is missing.
    #[error("the line '{0}' is missing")]
    Missing(&'static str),
    /// The number of batches is wrong.
    #[error("expected {0} batches, found {1}")]
    Batches(u64, u64),
    /// A batch has the wrong number of switches.
    #[error("batch {0} has {1} switches instead of {2}")]
    Batch(usize, u64, u64),
    /// The counts contradict each other.
    #[error("{0}: {1} counted where {2} was claimed")]
    Count(&'static str, u64, u64),
}

/// The maximum of stored notes.
const NOTES: usize = 8;
/// The maximum length of a stored text, in characters.
const TEXT: usize = 200;

/// Reads and checks the whole output of a program that was asked for several measurements.
///
/// # Errors
/// The first thing that is wrong.
pub fn read_each(output: &[u8], asked: &[Asked]) -> Result<Vec<Transcript>, Refused> {
    const END: &[u8] = b"\nend\n";
    let mut rest = output;
    let mut each = Vec::new();
    for (left, asked) in (0..asked.len()).rev().zip(asked) {
        // The last one gets whatever follows, so that it is noticed.
        let end = rest.windows(END.len()).position(|bytes| left > 0 && bytes == END);
        let (own, others) = rest.split_at(end.map_or(rest.len(), |at| at + END.len()));
        each.push(read(own, asked)?);
        rest = others;
    }
    Ok(each)
}

/// Reads and checks the whole output.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(output: &[u8], asked: &Asked) -> Result<Transcript, Refused> {
    let text = String::from_utf8_lossy(output);
    let mut lines = (1..).zip(text.lines());
    match lines.next() {
        None => return Err(Refused::Silent),
        Some((_, "tollgate-runtime 1")) => {}
        Some((_, other)) => return Err(Refused::NoHeader(short(other))),
    }
    let mut found = Reader::default();
    let mut last = 1;
    for (number, line) in &mut lines {
        last = number;
        if line == "end" {
            found.ended = true;
            break;
        }
        found.line(number, line)?;
    }
    if !found.ended || !text.ends_with('\n') {
        return Err(Refused::NoEnd(last));
    }
    if let Some((number, line)) = lines.next() {
        return Err(Refused::AfterEnd(number, short(line)));
    }
    found.check(asked)
}

#[derive(Default)]
struct Reader {
    said: Transcript,
    seen: Vec<&'static str>,
    ended: bool,
    answer: Option<Refused>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Refused> {
        let garbage = || Refused::Garbage(number, short(line));
        let (word, rest) = line.split_once(' ').ok_or_else(garbage)?;
        let words: Vec<&str> = rest.split(' ').collect();
        let mut once = |what: &'static str| {
            if self.seen.contains(&what) {
                return Err(Refused::Repeated(number, short(line)));
            }
            self.seen.push(what);
            Ok(())
        };
        let said = &mut self.said;
        match (word, words.as_slice()) {
            ("version", _) => {
                once("version")?;
                said.version = short(rest);
            }
            ("clock", [step, _, ..]) => {
                once("clock")?;
                let name = rest.split_once(' ').map_or("", |(_, name)| name);
                said.clock = (duration(step).ok_or_else(garbage)?, short(name));
            }
            ("rss", [before, after]) => {
                once("rss")?;
                said.rss = Some((whole(before).ok_or_else(garbage)?, whole(after).ok_or_else(garbage)?));
            }
            ("warm", [switches, how @ ("steady" | "limit")]) => {
                once("warm")?;
                whole(switches).ok_or_else(garbage)?;
                said.steady = *how == "steady";
            }
            ("sample" | "single", [switches, ns]) => {
                let sample = Sample {
                    switches: whole(switches).filter(|&it| it > 0).ok_or_else(garbage)?,
                    ns: duration(ns).ok_or_else(garbage)?,
                };
                if word == "sample" && sample.ns <= 0.0 {
                    return Err(garbage());
                }
                if word == "sample" { said.samples.push(sample) } else { said.singles.push(sample) }
            }
            ("pair", [ns]) => said.pairs.push(duration(ns).ok_or_else(garbage)?),
            ("count", [what, number]) => {
                let number = whole(number).ok_or_else(garbage)?;
                match *what {
                    "switches" => {
                        once("count switches N")?;
                        said.switches = number;
                    }
                    "resumes" => {
                        once("count resumes N")?;
                        said.resumes = number;
                    }
                    "dispatcher" => {
                        once("count dispatcher N")?;
                        said.dispatcher = Some(number);
                    }
                    "kernel" => {
                        once("count kernel N")?;
                        said.kernel = Some(number);
                    }
                    "copies" => {
                        once("count copies N")?;
                        said.copies = Some(number);
                    }
                    _ => return Err(garbage()),
                }
            }
            ("note", _) if said.notes.len() < NOTES => said.notes.push(short(rest)),
            ("skip", _) => {
                once("skip")?;
                self.answer = Some(Refused::Skip(short(rest)));
            }
            ("fail", _) => {
                once("fail")?;
                self.answer = Some(Refused::Fail(short(rest)));
            }
            _ => return Err(garbage()),
        }
        Ok(())
    }

    fn check(self, asked: &Asked) -> Result<Transcript, Refused> {
        if let Some(answer) = self.answer {
            return Err(answer);
        }
        let said = self.said;
        for line in ["version", "clock", "warm", "count switches N", "count resumes N"] {
            if !self.seen.contains(&line) {
                return Err(Refused::Missing(line));
            }
        }
        if said.samples.len() as u64 != asked.batches {
            return Err(Refused::Batches(asked.batches, said.samples.len() as u64));
        }
        let near =
            |found: u64, expected: u64| found.abs_diff(expected) as f64 <= asked.tolerance * expected as f64;
        // An unfair scheduler may be a round ahead or behind at the end of a batch.
        let round = if asked.tolerance > 0.0 { asked.tasks } else { 0 };
        for (at, sample) in said.samples.iter().enumerate() {
            let apart = sample.switches.abs_diff(asked.batch);
            if apart > round && !near(sample.switches, asked.batch) {
                return Err(Refused::Batch(at + 1, sample.switches, asked.batch));
            }
        }
        let count = |what, found, expected| Err(Refused::Count(what, found, expected));
        // Each is close to `batch`, so the sum cannot overflow.
        let sum: u64 = said.samples.iter().map(|sample| sample.switches).sum();
        if said.switches != sum {
            return count("switches of all samples", said.switches, sum);
        }
        if !near(said.resumes, sum) {
            return count("resumptions of the tasks", said.resumes, sum);
        }
        if said.singles.len() as u64 > asked.singles || said.pairs.len() as u64 > asked.singles {
            let most = said.singles.len().max(said.pairs.len()) as u64;
            return count("single events", most, asked.singles);
        }
        if !said.singles.is_empty() && said.pairs.is_empty() {
            return Err(Refused::Missing("pair NS"));
        }
        Ok(said)
    }
}

impl Transcript {
    /// Resident bytes that each task added; signed, because a garbage collector may have released memory.
    pub fn bytes_per_task(&self, tasks: u64) -> Option<f64> {
        let (before, after) = self.rss?;
        Some((after as f64 - before as f64) / tasks as f64)
    }
}

/// A whole number without sign.
fn whole(word: &str) -> Option<u64> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

/// Nanoseconds: digits, with an optional fraction. More than a day is not a measured time.
fn duration(word: &str) -> Option<f64> {
    const DAY: f64 = 86_400e9;
    let plain = word.starts_with(|c: char| c.is_ascii_digit())
        && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    word.parse::<f64>().ok().filter(|ns| plain && *ns <= DAY)
}

fn short(line: &str) -> String {
    tollgate_record::text::printable(line).chars().take(TEXT).collect()
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
