//! When a program was where: its stages, its crossings and their steps over time, as the JSON of Chrome's trace events.

use std::collections::HashMap;
use std::fmt::Write;

use super::crossing::{Crossing, Key, Stage, Step, part};

/// Slices that are kept: some 100 bytes each in the document.
const MOST: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Stage(Stage),
    Crossing(Crossing),
    Step(Stage, Crossing, Step),
}

/// A stretch of time of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    task: u32,
    what: What,
    from: u64,
    to: u64,
}

/// Collects slices. Their time is instructions, or cycles on a core.
#[derive(Default)]
pub(crate) struct Timeline {
    slices: Vec<Slice>,
    pub(super) now: u64,
    /// The step that runs, and since when.
    step: Option<Slice>,
    /// The stage of each task, and since when.
    stages: HashMap<u32, (Stage, u64)>,
    /// The crossings of each task that have not returned, and since when.
    open: HashMap<u32, Vec<(Crossing, u64)>>,
    /// Slices beyond the limit.
    dropped: u64,
}

impl Timeline {
    fn push(&mut self, slice: Slice) {
        if slice.from == slice.to {
            return;
        }
        if self.slices.len() < MOST {
            self.slices.push(slice);
        } else {
            self.dropped += 1;
        }
    }

    /// What follows belongs to this key of a task.
    pub(super) fn step(&mut self, task: u32, key: &Key) {
        let what = What::Step(key.stage, key.crossing, key.step);
        if self.step.is_some_and(|step| (step.task, step.what) == (task, what)) {
            return;
        }
        let now = self.now;
        if let Some(step) = self.step.replace(Slice { task, what, from: now, to: now }) {
            self.push(Slice { to: now, ..step });
        }
        // A task that is new may be in a crossing already.
        let first = self.open.get(&task).and_then(|open| open.first()).map_or(now, |(_, from)| *from);
        match self.stages.insert(task, (key.stage, now)) {
            Some((stage, from)) if stage == key.stage => _ = self.stages.insert(task, (stage, from)),
            Some((stage, from)) => self.push(Slice { task, what: What::Stage(stage), from, to: now }),
            None => _ = self.stages.insert(task, (key.stage, first)),
        }
    }

    /// A task leaves its program, or its kernel's code.
    pub(super) fn begin(&mut self, task: u32, crossing: Crossing) {
        self.open.entry(task).or_default().push((crossing, self.now));
    }

    /// A task returns from its latest crossing, or from all.
    pub(super) fn end(&mut self, task: u32, all: bool) {
        while let Some((crossing, from)) = self.open.get_mut(&task).and_then(Vec::pop) {
            self.push(Slice { task, what: What::Crossing(crossing), from, to: self.now });
            if !all {
                break;
            }
        }
    }

    /// Ends everything that has not ended.
    fn finish(&mut self) {
        let now = self.now;
        if let Some(step) = self.step.take() {
            self.push(Slice { to: now, ..step });
        }
        let mut tasks: Vec<u32> = self.open.keys().copied().collect();
        tasks.sort_unstable();
        tasks.into_iter().for_each(|task| self.end(task, true));
        let mut stages: Vec<_> = self.stages.drain().collect();
        stages.sort_unstable();
        for (task, (stage, from)) in stages {
            self.push(Slice { task, what: What::Stage(stage), from, to: now });
        }
    }

    /// The document: a process for the program's tasks and one for the others, a thread for each task.
    pub(super) fn json(&mut self, unit: &str, is_program: impl Fn(u32) -> bool) -> (String, u64) {
        self.finish();
        let level = |slice: &Slice| match slice.what {
            What::Stage(_) => 0,
            What::Crossing(_) => 1,
            What::Step(..) => 2,
        };
        // What contains another slice comes before it.
        self.slices.sort_by_key(|slice| (slice.from, std::cmp::Reverse(slice.to), level(slice)));
        let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        for (process, name) in [(1, "the program"), (2, "other tasks")] {
            let end = if process == 1 { ",\n" } else { "" };
            // Writing to a String cannot fail.
            _ = write!(
                text,
                "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{process},\"tid\":0,\"args\":{{\"name\":\"{name}; 1 ns is \
                 1 of {unit}\"}}}}{end}"
            );
        }
        let micros = |time: u64| format!("{}.{:03}", time / 1000, time % 1000);
        for slice in &self.slices {
            let process = if is_program(slice.task) { 1 } else { 2 };
            let (name, kind, of) = match slice.what {
                What::Stage(stage) => (stage_name(stage).into(), "stage", None),
                What::Crossing(crossing) => (crossing.name(), crossing.kind(), None),
                What::Step(stage, crossing, step) => (
                    step_name(step).into(),
                    "step",
                    Some(part(stage, crossing, step).map_or("interrupts", |part| part.name)),
                ),
            };
            let of = of.map_or_else(String::new, |of| format!("\"part\":\"{of}\","));
            let length = slice.to - slice.from;
            _ = write!(
                text,
                ",\n{{\"ph\":\"X\",\"pid\":{process},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"{name}\",\"cat\":\"{kind}\",\
                 \"args\":{{{of}\"{unit}\":{length}}}}}",
                slice.task,
                micros(slice.from),
                micros(length),
            );
        }
        text.push_str("\n]}\n");
        (text, self.dropped)
    }
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Starting => "start (execve)",
        Stage::Loading => "loader",
        Stage::Running => "program",
        Stage::Ending => "end (exit)",
    }
}

fn step_name(step: Step) -> &'static str {
    match step {
        Step::Own => "own code",
        Step::Entry => "entry and saving",
        Step::Dispatch => "dispatch",
        Step::Work | Step::Inherit => "work",
        Step::Switch => "switch",
        Step::Exit => "restoring and return",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A call with an interrupt in it, and another task meanwhile.
    #[test]
    fn slices_nest_and_the_steps_fill_the_time() {
        let mut timeline = Timeline::default();
        let call = Crossing::Call(64);
        let run = |timeline: &mut Timeline, task, crossing, step, n: u64| {
            let key = Key { task, stage: Stage::Running, crossing, step, function: 0 };
            timeline.step(task, &key);
            timeline.now += n;
        };
        run(&mut timeline, 1, Crossing::None, Step::Own, 10);
        timeline.begin(1, call);
        run(&mut timeline, 1, call, Step::Entry, 20);
        timeline.begin(1, Crossing::Interrupt(5));
        run(&mut timeline, 1, Crossing::Interrupt(5), Step::Work, 30);
        run(&mut timeline, 2, Crossing::None, Step::Own, 5);
        run(&mut timeline, 1, Crossing::Interrupt(5), Step::Exit, 3);
        timeline.end(1, false);
        run(&mut timeline, 1, call, Step::Exit, 40);
        timeline.end(1, true);
        run(&mut timeline, 1, Crossing::None, Step::Own, 1);
        let (text, dropped) = timeline.json("instructions", |task| task == 1);
        assert_eq!(dropped, 0);
        let document: Value = serde_json::from_str(&text).unwrap();
        let events = document["traceEvents"].as_array().unwrap();
        let of = |kind: &str| -> Vec<(String, u64, f64)> {
            let is = |event: &&Value| event["cat"] == kind && event["pid"] == 1;
            let found = events.iter().filter(is);
            found
                .map(|it| {
                    let length = it["args"]["instructions"].as_u64().unwrap();
                    (it["name"].as_str().unwrap().into(), length, it["ts"].as_f64().unwrap())
                })
                .collect()
        };
        assert_eq!(of("stage"), [("program".into(), 109, 0.0)]);
        assert_eq!(of("system call"), [("write".into(), 98, 0.01)]);
        assert_eq!(of("interrupt"), [("timer interrupt".into(), 38, 0.03)]);
        let steps = events.iter().filter(|event| event["cat"] == "step");
        let length = |event: &Value| (event["dur"].as_f64().unwrap() * 1e3).round() as u64;
        assert_eq!(steps.clone().map(length).sum::<u64>(), 109);
        let ticks = steps.filter(|event| event["args"]["part"] == "interrupts");
        assert_eq!(ticks.map(length).collect::<Vec<_>>(), [30, 3]);
    }
}
