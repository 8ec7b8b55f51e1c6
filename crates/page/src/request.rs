//! The requests, as `web/src/protocol.ts` has them.

use serde::Deserialize;

/// A request. Further keys are ignored.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Request {
    About,
    Assemble {
        files: Vec<SourceFile>,
        isa: Option<String>,
        base: Option<String>,
        #[serde(default)]
        entry: bool,
    },
    Load(Load),
    Reset,
    Run(Run),
    /// The worker runs in slices; here nothing goes on between two calls.
    Pause,
    Step {
        count: Option<u64>,
    },
    Back {
        count: Option<u64>,
        cycles: Option<u64>,
    },
    RunTo {
        address: Option<String>,
        line: Option<Line>,
        limit: Option<u64>,
    },
    GoTo {
        position: Option<u64>,
        cycle: Option<u64>,
    },
    /// Begins `run`, `runTo` or `goTo`, which further calls of `advance` continue.
    Start {
        run: Box<Request>,
    },
    /// Does so many steps of what was started. Answer: `{stop, position, instructions, cycles, console}`.
    Advance {
        steps: u64,
    },
    State,
    Memory {
        address: String,
        length: u64,
        #[serde(default)]
        space: Space,
    },
    Walk {
        address: String,
        #[serde(default)]
        access: Access,
    },
    Mappings {
        limit: Option<usize>,
    },
    Disassemble {
        address: Option<String>,
        count: Option<usize>,
    },
    Pipeline {
        count: Option<u64>,
    },
    Caches,
    Traps,
    TrapWalk {
        index: u64,
    },
    Type {
        text: String,
    },
    Sheet {
        sheet: Sheet,
    },
    Record {
        sheet: Option<usize>,
        #[serde(default)]
        started: String,
        #[serde(default)]
        id: String,
    },
    Cores,
    CheckCore {
        toml: String,
    },
    Kernels,
    Gallery,
    Exercises,
    Exercise {
        exercise: String,
        student: String,
    },
    Check {
        exercise: String,
        student: String,
        files: Vec<SourceFile>,
    },
    Words {
        isa: Option<String>,
    },
    Template,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SourceFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Line {
    pub(crate) file: String,
    pub(crate) line: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Load {
    pub(crate) program: Program,
    pub(crate) isa: Option<String>,
    pub(crate) machine: Option<String>,
    pub(crate) ram_bytes: Option<u64>,
    pub(crate) core: Option<CoreChoice>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum CoreChoice {
    Name { name: String },
    Toml { toml: String },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum Program {
    Source { files: Vec<SourceFile> },
    Elf { name: String, base64: String },
    Kernel { kernel: String, crossing: Option<String>, iterations: Option<u64> },
    Entry { files: Vec<SourceFile>, crossing: Option<String>, iterations: Option<u64> },
    Boot { name: String, kernel: String, drive: Option<String>, bootargs: Option<String> },
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Run {
    #[serde(default)]
    pub(crate) breakpoints: Vec<Breakpoint>,
    pub(crate) limit: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum Breakpoint {
    Address { address: String },
    Line(Line),
    Csr { csr: String },
    Trap { cause: Option<String> },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Space {
    #[default]
    Virtual,
    Physical,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Access {
    Fetch,
    #[default]
    Load,
    Store,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "view", rename_all = "camelCase")]
pub(crate) enum Sheet {
    Ledger { limit: Option<u64> },
    Trap { subjects: Vec<Subject>, crossing: Option<String>, iterations: Option<u64> },
    Kernels { core: Option<CoreChoice>, crossing: Option<String> },
    Icache { caches: Option<Vec<String>>, count: Option<String>, optimization: Option<String> },
    Pipeline { around: String, nth: Option<u64>, count: Option<usize> },
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Subject {
    pub(crate) kernel: Option<String>,
    pub(crate) files: Option<Vec<SourceFile>>,
    pub(crate) core: Option<CoreChoice>,
}
