// The messages between the page and the worker that holds the machine, and the shapes of all answers.
//
// The page sends a `Message`, the worker answers each with one `Reply` of the same `id`, in any order, and sends an `Event` when
// something happens on its own. Within the worker a request is one JSON text to the WebAssembly module, and so is its answer:
// `crates/page/src/session.rs` has one function for each `op`.
//
// Values of 64 bits (addresses, registers, CSRs, instruction words) are texts in hexadecimal with `0x`: a number of JavaScript does
// not hold them. Counts (instructions, cycles, positions) are numbers. Lines and columns begin at 1. Modes are `"U"`, `"S"`, `"M"`.
//
// A *position* counts the instructions that retired and the traps that were taken since the program was loaded: it is where `back`,
// `goTo` and the snapshots of the machine refer to.

export type Hex = string;
export type Mode = "U" | "S" | "M";

// ---------------------------------------------------------------------------------------------------------------- transport

/** What the page posts to the worker. */
export interface Message {
  id: number;
  request: Request;
}

/** What the worker posts back for it. */
export type Reply = { id: number; ok: true; answer: unknown } | { id: number; ok: false; error: Failure };

/** Why a request has no answer. */
export interface Failure {
  /** A sentence for the person: what happened, to what, what to do. */
  message: string;
  /**
   * `request`: the request is wrong (nothing has changed). `source`: the program has errors, in `errors`. `machine`: nothing is loaded, or
   * the machine cannot do this. `panic`: the module failed, has been replaced by a new one, and nothing is loaded any more.
   */
  kind: "request" | "source" | "machine" | "panic";
  /** The errors of a source, for `kind: "source"`. */
  errors?: SourceError[];
}

/** What the worker posts on its own. */
export type Event =
  /** The module is there: requests are answered from now on. (Earlier ones wait.) */
  | { event: "ready"; about: About }
  /** The module could not be loaded, or failed. `again` is whether a new one is there. */
  | { event: "died"; message: string; again: boolean }
  /** While a `run`, `goTo` or `runTo` goes on, about ten times a second. Its own reply comes at the end. */
  | { event: "progress"; position: number; instructions: number; cycles: number | null; console: string; perSecond: number };

// ----------------------------------------------------------------------------------------------------------------- requests

export type Request =
  | { op: "about" }
  | Assemble
  | Load
  /** To the state right after `load`, with the same program and core. Answer: `State`. */
  | { op: "reset" }
  | Run
  /** Ends a run that goes on; its reply has `stop.kind: "paused"`. Answer: `null`. */
  | { op: "pause" }
  /** Executes instructions one by one. Answer: `Ran`. */
  | { op: "step"; count?: number }
  /** To the position so many instructions and traps earlier; with `cycles` to the first position at or after the cycle so many cycles earlier. Answer: `Ran`. */
  | { op: "back"; count?: number; cycles?: number }
  /** Runs until the instruction at an address is about to be executed (a symbol, or hexadecimal), or until the file's line is. Answer: `Ran`. */
  | { op: "runTo"; address?: string; line?: { file: string; line: number }; limit?: number }
  /** To a position, or to the first at or after a cycle; forwards or backwards. Answer: `Ran`. */
  | { op: "goTo"; position?: number; cycle?: number }
  /** Answer: `State`. */
  | { op: "state" }
  | ReadMemory
  /** The translation of an address, level by level. Answer: `PageWalk`. */
  | { op: "walk"; address: string; access?: "fetch" | "load" | "store" }
  /** All mapped ranges below the root of the current page tables. Answer: `Mapping[]`, at most `limit` (1000). */
  | { op: "mappings"; limit?: number }
  /** Decoded instructions from an address on (default: the pc, with some before it). Answer: `Listed[]`. */
  | { op: "disassemble"; address?: string; count?: number }
  /** The latest instructions in the pipeline, up to where the machine is. Answer: `Pipeline`. */
  | { op: "pipeline"; count?: number }
  /** Contents and counts of caches and translation buffers. Answer: `Caches`. */
  | { op: "caches" }
  /** The traps so far, the latest last, at most 1000. Answer: `TrapEvent[]`. */
  | { op: "traps" }
  /** One trap taken apart. The machine stays where it is. Answer: `TrapWalk`. */
  | { op: "trapWalk"; index: number }
  /** Types text on the console. Answer: `State`. */
  | { op: "type"; text: string }
  | { op: "sheet"; sheet: SheetRequest }
  | MakeRecord
  /** Answer: `CoreEntry[]`. */
  | { op: "cores" }
  /** Checks an edited core. Answer: `CoreCheck`. */
  | { op: "checkCore"; toml: string }
  /** Answer: `KernelEntry[]`: bundled kernels whose traps can be billed and watched. */
  | { op: "kernels" }
  /** Answer: `GalleryEntry[]`. */
  | { op: "gallery" }
  /** Answer: `ExerciseEntry[]`. */
  | { op: "exercises" }
  /** The text and starter of one exercise for a student. Answer: `Exercise`. */
  | { op: "exercise"; exercise: string; student: string }
  /** Runs the checks of one exercise. Answer: `ExerciseResult`. */
  | { op: "check"; exercise: string; student: string; files: SourceFile[] }
  /** Names for highlighting and completion. Answer: `Words`. */
  | { op: "words"; isa?: string }
  /** Answer: `string`, a source to start an own trap entry from. */
  | { op: "template" };

/** The type of the answer to each `op`. */
export interface Answers {
  about: About;
  assemble: Assembled;
  load: State;
  reset: State;
  run: Ran;
  pause: null;
  step: Ran;
  back: Ran;
  runTo: Ran;
  goTo: Ran;
  state: State;
  memory: Memory;
  walk: PageWalk;
  mappings: Mapping[];
  disassemble: Listed[];
  pipeline: Pipeline;
  caches: Caches;
  traps: TrapEvent[];
  trapWalk: TrapWalk;
  type: State;
  sheet: Sheet;
  record: SavedRecord;
  cores: CoreEntry[];
  checkCore: CoreCheck;
  kernels: KernelEntry[];
  gallery: GalleryEntry[];
  exercises: ExerciseEntry[];
  exercise: Exercise;
  check: ExerciseResult;
  words: Words;
  template: string;
}

export interface About {
  /** The package's version. */
  version: string;
  cores: string[];
  kernels: string[];
}

// ----------------------------------------------------------------------------------------------------------------- programs

export interface SourceFile {
  /** As `main.s`; one that ends in `.S` is preprocessed. */
  name: string;
  text: string;
}

/** Assembles without loading. Answer: `Assembled`, with errors too (it is not a failure). */
export interface Assemble {
  op: "assemble";
  /** The first file is the program; further ones are what it includes. */
  files: SourceFile[];
  /** Default `rv64gc`. */
  isa?: string;
  /** Where code begins; default `0x80000000`. */
  base?: Hex;
  /** As an own trap entry (see `Program`), instead of as a program. */
  entry?: boolean;
}

export interface SourceError {
  file: string;
  line: number;
  column: number;
  /** As `unknown instruction `adi`: did you mean `addi`?`. */
  message: string;
  /** The name that may have been meant, for a quick fix. */
  nearest: string | null;
  /** The characters that it replaces, as a column and a length on that line; equal to the word at `column` if there is one. */
  length: number;
  /** The macros that the line was expanded from, the innermost first. */
  expansion: { macro: string; file: string; line: number }[];
}

export interface Symbol {
  name: string;
  address: Hex;
}

export interface Listed {
  address: Hex;
  /** The bits, 4 or 8 hexadecimal digits; empty where there is no instruction. */
  word: Hex;
  /** As `addi a0, a0, 1`. */
  text: string;
  /** `trap_vector+4`, or empty. */
  place: string;
  /** Where it comes from, if a source is known. */
  file: string | null;
  line: number | null;
  /** Whether it is at the pc; false in a listing. */
  current: boolean;
}

export interface Assembled {
  errors: SourceError[];
  entry: Hex | null;
  symbols: Symbol[];
  sections: { name: string; address: Hex; size: number; code: boolean; write: boolean }[];
  /** All instructions, in the order of addresses; at most 20,000. */
  listing: Listed[];
}

/** Loads a program. Answer: `State`; a source with errors is a failure of kind `source`. */
export interface Load {
  op: "load";
  program: Program;
  /** Default `rv64gc`; kernels have their own. */
  isa?: string;
  machine?: "spike" | "virt";
  /** Default 16 MiB; at most 1 GiB. */
  ramBytes?: number;
  /** The core whose cycles are counted; null or absent: none, at full speed. */
  core?: CoreChoice | null;
}

export type CoreChoice = { name: string } | { toml: string };

export type Program =
  /** Assembly. */
  | { kind: "source"; files: SourceFile[] }
  /** An ELF file, in base64. */
  | { kind: "elf"; name: string; base64: string }
  /** A bundled kernel (`kernels`) with a program that crosses it `iterations` times (default 10) after a first time. */
  | { kind: "kernel"; kernel: string; crossing?: string; iterations?: number }
  /** An own trap entry (`template`) in place of a bundled kernel's, with the same program around it. */
  | { kind: "entry"; files: SourceFile[]; crossing?: string; iterations?: number }
  /** A kernel to boot on `virt`, as xv6, with its drive; both in base64. */
  | { kind: "boot"; name: string; kernel: string; drive?: string; bootargs?: string };

// ------------------------------------------------------------------------------------------------------------------ running

/** Runs, with events `progress`, until something stops it. Answer: `Ran`. */
export interface Run {
  op: "run";
  breakpoints?: Breakpoint[];
  /** Stops after so many instructions; default 10,000,000,000. */
  limit?: number;
}

export type Breakpoint =
  /** Before the instruction at a symbol or hexadecimal address. */
  | { kind: "address"; address: string }
  /** Before the instructions of a line. */
  | { kind: "line"; file: string; line: number }
  /** Before an instruction that names this CSR, as `mepc`. */
  | { kind: "csr"; csr: string }
  /** Behind a trap of this cause (`TrapEvent.cause`), or of any. */
  | { kind: "trap"; cause?: string };

export interface Ran {
  stop: Stop;
  state: State;
}

export type Stop =
  /** As far as was asked for. */
  | { kind: "done" }
  | { kind: "breakpoint"; breakpoint: number; text: string }
  | { kind: "exit"; code: number; text: string }
  /** `limit` is used up. */
  | { kind: "limit"; text: string }
  | { kind: "paused" }
  /** The program waits for something to be typed. */
  | { kind: "input"; text: string }
  /** It cannot continue: an endless loop that changes nothing, an interrupt that cannot come, traps without a handler. */
  | { kind: "stuck"; text: string }
  /** `back` at the start. */
  | { kind: "start" };

export interface State {
  /** Changes with each `load`: what is shown of another one is stale. */
  loaded: number;
  position: number;
  pc: Hex;
  /** `main+8`, or empty. */
  place: string;
  /** The source line of the pc. */
  file: string | null;
  line: number | null;
  /** The instruction at the pc, in assembly. */
  instruction: string;
  mode: Mode;
  instructions: number;
  /** Null without a core. */
  cycles: number | null;
  /** Cycles per instruction so far. */
  cpi: number | null;
  traps: number;
  /** Whether the program has ended, and how. */
  ended: Stop | null;
  rv32: boolean;
  core: string | null;
  x: Register[];
  f: FloatRegister[];
  csrs: Csr[];
  /** Everything that was printed so far (at most its last 1 MiB). */
  console: string;
  /** Cycles so far by cause, in the order of the ledger, without those that are 0. */
  causes: { cause: string; about: string; cycles: number }[];
  /** Cycles so far by mode. */
  modes: { mode: Mode; cycles: number }[];
}

export interface Register {
  /** `x10`. */
  number: string;
  /** `a0`. */
  name: string;
  value: Hex;
  /** Whether it differs from the state that was answered before. */
  changed: boolean;
  /** A symbol that it points into, as `stack_top-16`. */
  place: string;
}

export interface FloatRegister {
  name: string;
  /** Its bits. */
  value: Hex;
  /** As a number: single precision where it is NaN-boxed. */
  number: string;
  changed: boolean;
}

export interface Csr {
  name: string;
  /** `0x300`. */
  number: Hex;
  value: Hex;
  changed: boolean;
  /** One line on what it is for, with its section in the privileged specification. */
  about: string;
  /** Mode that may access it at least. */
  mode: Mode;
  fields: CsrField[];
}

export interface CsrField {
  /** As `MPP`. */
  name: string;
  /** Its highest and lowest bit. */
  bits: [number, number];
  value: Hex;
  /** What the value means, as `S-mode` or `load page fault`; empty for a plain number. */
  meaning: string;
  about: string;
  changed: boolean;
}

// ------------------------------------------------------------------------------------------------------------------- memory

/** Answer: `Memory`. */
export interface ReadMemory {
  op: "memory";
  /** A symbol, a register's name (`sp`), or hexadecimal. */
  address: string;
  /** At most 65,536. */
  length: number;
  /** Default `virtual`: as a load in the current mode. */
  space?: "virtual" | "physical";
}

export interface Memory {
  address: Hex;
  /** Two hexadecimal digits for each byte, `..` where there is no memory. */
  bytes: string[];
  /** Symbols in the range. */
  symbols: Symbol[];
}

export interface PageWalk {
  address: Hex;
  /** `Sv39`, `Sv48`, `Sv32`, or `Bare`: then there are no levels. */
  scheme: string;
  satp: Hex;
  root: Hex;
  access: "fetch" | "load" | "store";
  mode: Mode;
  levels: WalkLevel[];
  /** The bits of the address below the page number. */
  offset: Hex;
  physical: Hex | null;
  /** Why there is no translation, as a sentence; null if there is one. */
  fault: string | null;
}

export interface WalkLevel {
  /** As the specification counts: 2 is the root of Sv39. */
  level: number;
  table: Hex;
  /** The part of the address that selects the entry, and its bits. */
  index: number;
  bits: [number, number];
  entryAddress: Hex;
  entry: Hex;
  /** `table`, `page` or `invalid`. */
  kind: "table" | "page" | "invalid";
  /** Letters of the flags that are set: `V R W X U G A D`. */
  flags: string;
  /** What it points to. */
  target: Hex;
  /** A sentence: which step of the algorithm this is, and what it decides. */
  text: string;
}

export interface Mapping {
  from: Hex;
  to: Hex;
  physical: Hex;
  bytes: number;
  flags: string;
}

// ----------------------------------------------------------------------------------------------------------------- pipeline

export interface Pipeline {
  core: string;
  /** The stages of this core, as `IF ID EX MEM WB`. */
  stages: string[];
  /** In the order of fetching, squashed ones too. */
  rows: PipelineRow[];
  /** The cycle behind the last row. */
  cycle: number;
}

/** A row of `tollgate riscv pipeline`. */
export interface PipelineRow {
  address: Hex;
  mode: Mode;
  text: string;
  place: string;
  /** First and last cycle in each stage. */
  stages: { name: string; first: number; last: number }[];
  /** Cycles in which it did not move, each named after its cause (`load-use`), with a sentence. */
  waits: { name: string; first: number; last: number; about: string }[];
  /** How it was thrown away: `trap`, `interrupt`, `return`, `branch`, `csr or fence`. */
  squash: { at: number; by: string } | null;
  traps: boolean;
  stores: boolean;
  file: string | null;
  line: number | null;
}

export interface Caches {
  core: string;
  caches: CacheState[];
  tlbs: TlbState[];
  mispredicts: number;
}

export interface CacheState {
  /** `L1I`, `L1D`, `L2`. */
  name: string;
  sets: number;
  ways: number;
  lineBytes: number;
  policy: string;
  reads: number;
  writes: number;
  hits: number;
  misses: number;
  evictions: number;
  writebacks: number;
  /** `hits` of all accesses, 0 to 1; null before the first. */
  hitRate: number | null;
  lines: CacheLine[];
}

export interface CacheLine {
  set: number;
  /** The physical address of its first byte. */
  address: Hex;
  dirty: boolean;
  /** What is there, as `main` or `stack`; empty if nothing is known. */
  place: string;
  /** Whether it is new since the state that was answered before. */
  fresh: boolean;
}

export interface TlbState {
  /** `ITLB`, `DTLB`. */
  name: string;
  entries: number;
  misses: number;
  /** The most recent first. */
  pages: { page: Hex; bytes: number; space: Hex; fresh: boolean }[];
}

// -------------------------------------------------------------------------------------------------------------------- traps

export interface TrapEvent {
  index: number;
  /** As `environment call from U-mode`, `load page fault`, `machine timer interrupt`. */
  cause: string;
  interrupt: boolean;
  code: number;
  from: Mode;
  to: Mode;
  epc: Hex;
  tval: Hex;
  handler: Hex;
  /** Instructions that retired before it. */
  instructions: number;
  place: string;
}

export interface TrapWalk {
  trap: TrapEvent;
  /** The instruction that trapped; empty for an interrupt. */
  instruction: string;
  file: string | null;
  line: number | null;
  /** What the hardware does, in order: seven steps. */
  hardware: HardwareStep[];
  /** Cycles of the trap itself, up to the handler's first instruction: null without a core. */
  hardwareCycles: number | null;
  /** The handler, phase by phase in the order of execution; one phase if it has no marks. */
  handler: HandlerPhase[];
  /** What the return does, in order; empty if it was not seen within a million instructions. */
  return: HardwareStep[];
  /** Where execution continues. */
  to: Hex | null;
  toPlace: string;
  toFile: string | null;
  toLine: number | null;
  /** Of all of it: null without a core. */
  cycles: number | null;
  instructions: number;
  /** Traps within the handler. */
  nested: number;
  /** Registers that are not as before when it has returned. */
  changed: { name: string; before: Hex; after: Hex }[];
}

export interface HardwareStep {
  /** From 1. */
  number: number;
  /** As `write the cause`. */
  title: string;
  /** A sentence of what happens here, with these values. */
  text: string;
  /** The section of the privileged specification. */
  section: string;
  changes: { name: string; before: Hex; after: Hex; meaning: string }[];
}

export interface HandlerPhase {
  /** `register save`; `handler` without marks. */
  phase: string;
  from: Hex;
  place: string;
  instructions: number;
  cycles: number | null;
  /** Its cycles by cause, without those that are 0. */
  causes: { cause: string; about: string; cycles: number }[];
  loads: number;
  stores: number;
  /** Its instructions, at most the first 64. */
  listing: Listed[];
}

// ------------------------------------------------------------------------------------------------------------ sheets, records

export type SheetRequest =
  /** Where the cycles of the loaded program went: by function and cause (`tollgate riscv run --core`), or its instructions without a core. */
  | { view: "ledger"; limit?: number }
  /**
   * The bill of a trap by phase (`tollgate riscv trap`): kernels or own entries and cores, one beside the other. No cores: in
   * instructions.
   */
  | { view: "trap"; subjects: TrapSubject[]; crossing?: string; iterations?: number }
  /** All kernels against each other (`tollgate riscv trap --kernel all`), in instructions or on one core. */
  | { view: "kernels"; core?: CoreChoice; crossing?: string }
  /** Instruction caches with and without the C extension (`tollgate riscv icache`). */
  | { view: "icache"; caches?: string[]; count?: "fetch" | "cycle"; optimization?: "1" | "2"; alignments?: boolean }
  /** The stage diagram of the loaded program around a hazard (`tollgate riscv pipeline`). */
  | { view: "pipeline"; around: "trap" | "interrupt" | "branch" | string; nth?: number; count?: number };

export interface TrapSubject {
  kernel?: string;
  /** An own trap entry instead. */
  files?: SourceFile[];
  core?: CoreChoice | null;
}

/** Answer to `sheet`: what the terminal prints, three times. */
export interface Sheet {
  /** A fragment without scripts and styles of its own: tables, paragraphs, drawings. Texts in it are escaped. */
  html: string;
  text: string;
  markdown: string;
  /** A number to name this sheet by in `record`. */
  sheet: number;
  /** The command that prints the same. */
  command: string;
}

/** The record of a sheet as a file that `tollgate show` opens. Answer: `SavedRecord`. */
export interface MakeRecord {
  op: "record";
  /** `Sheet.sheet`; default: the latest. */
  sheet?: number;
  /** The worker fills these in. */
  started?: string;
  id?: string;
}

export interface SavedRecord {
  /** As `tollgate-trap-01KB...json`. */
  name: string;
  text: string;
}

export interface CoreEntry {
  name: string;
  about: string;
  toml: string;
}

export interface CoreCheck {
  /** Null if the text describes a core. */
  error: string | null;
  /** The line of the error, if it is known. */
  line: number | null;
  name: string | null;
  about: string | null;
}

export interface KernelEntry {
  name: string;
  about: string;
  isa: string;
  /** A fixed crossing, as `yield`; null: any call. */
  crossing: string | null;
  /** The source of its entry; empty if it is the source of another one's. */
  source: SourceFile | null;
}

export interface GalleryEntry {
  id: string;
  title: string;
  about: string;
  /** `trap`, `icache`, `pipeline`, ...: the lab that it belongs to. */
  lab: string;
  load: Load;
  /** The sheet to show first, if it is about one. */
  sheet: SheetRequest | null;
}

// ---------------------------------------------------------------------------------------------------------------- exercises

export interface ExerciseEntry {
  id: string;
  title: string;
  about: string;
  minutes: number | null;
}

export interface Exercise extends ExerciseEntry {
  student: string;
  /** Markdown. */
  text: string;
  files: SourceFile[];
  /** From the first small hint to the last. */
  hints: string[];
  core: string | null;
  /** The program around it, which enters it. */
  harness: string;
  /** What loads the starter. */
  load: Load | null;
}

export interface ExerciseResult {
  id: string;
  student: string;
  passed: boolean;
  score: number;
  of: number;
  checks: { name: string; passed: boolean; score: number; of: number; text: string; hint: string | null }[];
  errors: SourceError[];
}

export interface Words {
  instructions: { name: string; format: string; about: string; extension: string }[];
  pseudo: { name: string; about: string }[];
  registers: { name: string; number: string; about: string }[];
  csrs: { name: string; number: Hex; about: string }[];
  directives: { name: string; about: string }[];
}
