// The worker: holds the WebAssembly module, answers requests, and runs programs in slices so that they can be paused.
import { Module, ModulePanic, ulid } from './module.ts';
import type { Event, Failure, Message, Reply, Request, Stop } from './protocol.ts';

declare global {
  /** Set before this text in a page that is one file: the module in base64. */
  var tollgateModule: string | undefined;
}

/** Milliseconds of a slice, and between two reports of progress. */
const SLICE_MS = 20;
const PROGRESS_MS = 100;
/** Steps of the first slice, and the most of one. */
const FIRST_STEPS = 20_000;
const MOST_STEPS = 50_000_000;

/** What goes on while a program runs: it waits for its turn between two slices. */
const BESIDE: ReadonlySet<Request['op']> = new Set([
  'about', 'assemble', 'state', 'memory', 'walk', 'mappings', 'disassemble', 'caches', 'traps', 'type', 'cores', 'checkCore',
  'kernels', 'gallery', 'exercises', 'exercise', 'words', 'template', 'record',
]);

interface Advanced {
  stop: Stop | null;
  position: number;
  instructions: number;
  cycles: number | null;
  console: string;
}

interface Running {
  id: number;
  paused: boolean;
  steps: number;
  reported: number;
  instructions: number;
  console: string;
}

const post = (message: Reply | Event): void => self.postMessage(message);

let compiled: WebAssembly.Module | undefined;
let module: Module | undefined;
let running: Running | undefined;
const waiting: Message[] = [];

/** The module's bytes: inlined, or the file beside this one. */
async function bytes(): Promise<WebAssembly.Module> {
  if (globalThis.tollgateModule !== undefined) {
    const response = await fetch(`data:application/wasm;base64,${globalThis.tollgateModule}`).catch(() => undefined);
    if (response !== undefined) return WebAssembly.compile(await response.arrayBuffer());
    // A policy of the page may forbid that.
    return WebAssembly.compile(Uint8Array.from(atob(globalThis.tollgateModule), (letter) => letter.charCodeAt(0)));
  }
  const response = await fetch(new URL('tollgate.wasm', self.location.href));
  if (!response.ok) throw new Error(`tollgate.wasm: ${response.status} ${response.statusText}`);
  // A server that does not know the type still has the bytes.
  return WebAssembly.compile(await response.arrayBuffer());
}

async function open(): Promise<void> {
  try {
    compiled = await bytes();
    module = await Module.open(compiled);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    post({ event: 'died', message: `the machine could not be loaded: ${message}`, again: false });
    return;
  }
  const about = module.answer({ op: 'about' });
  if (about.ok) post({ event: 'ready', about: about.answer as never });
  drain();
}

/** The module has failed: a new one takes its place. */
async function replace(message: string): Promise<void> {
  module = undefined;
  running = undefined;
  try {
    if (compiled === undefined) throw new Error('it was never there');
    module = await Module.open(compiled);
    post({ event: 'died', message, again: true });
    drain();
  } catch (error) {
    post({ event: 'died', message: `${message} (and no other one can be opened: ${String(error)})`, again: false });
  }
}

/** Calls the module. A panic of it is an answer, and it is replaced. */
function call(request: object): { ok: true; answer: unknown } | { ok: false; error: Failure } {
  try {
    if (module === undefined) throw new ModulePanic('the machine is not there');
    return module.answer(request);
  } catch (error) {
    const message = `the machine failed: ${error instanceof Error ? error.message : String(error)}`;
    void replace(message);
    return { ok: false, error: { kind: 'panic', message } };
  }
}

const channel = new MessageChannel();
// Timers are slowed down in a tab in the background; messages are not.
channel.port1.onmessage = () => slice();
const later = (): void => channel.port2.postMessage(null);

/** Ends the run with its reply. */
function end(stop: Stop): void {
  if (running === undefined) return;
  const { id } = running;
  running = undefined;
  const state = call({ op: 'state' });
  post(state.ok ? { id, ok: true, answer: { stop, state: state.answer } } : { id, ...state });
  drain();
}

function slice(): void {
  if (running === undefined) return;
  if (running.paused) return end({ kind: 'paused' });
  const began = performance.now();
  const result = call({ op: 'advance', steps: running.steps });
  if (!result.ok) {
    const { id } = running ?? { id: 0 };
    running = undefined;
    post({ id, ...result });
    return drain();
  }
  const { stop, position, instructions, cycles, console } = result.answer as Advanced;
  const now = performance.now();
  const took = Math.max(now - began, 0.05);
  running.steps = Math.round(Math.min(MOST_STEPS, Math.max(1000, running.steps * Math.min(4, SLICE_MS / took))));
  running.console += console;
  if (stop !== null) return end(stop);
  if (now - running.reported >= PROGRESS_MS) {
    const perSecond = ((instructions - running.instructions) * 1000) / (now - running.reported);
    post({ event: 'progress', position, instructions, cycles, console: running.console, perSecond });
    running.console = '';
    running.reported = now;
    running.instructions = instructions;
  }
  later();
}

function begin({ id, request }: Message): void {
  const before = call({ op: 'state' });
  const started = before.ok ? call({ op: 'start', run: request }) : before;
  if (!started.ok) return post({ id, ...started });
  const instructions = before.ok ? (before.answer as { instructions: number }).instructions : 0;
  running = { id, paused: false, steps: FIRST_STEPS, reported: performance.now(), instructions, console: '' };
  later();
}

function handle(message: Message): void {
  const { id, request } = message;
  switch (request.op) {
    case 'run':
    case 'runTo':
    case 'goTo':
      return begin(message);
    case 'record': {
      const started = `${new Date().toISOString().slice(0, 19)}Z`;
      return post({ id, ...call({ started, id: ulid(), ...request }) });
    }
    default: {
      const answer = call(request);
      // A state contains all that was printed; progress goes on from there.
      if (running !== undefined && (request.op === 'type' || request.op === 'state')) running.console = '';
      return post({ id, ...answer });
    }
  }
}

/** Answers what waits, as far as a run lets it. */
function drain(): void {
  while (module !== undefined && waiting.length > 0) {
    const next = waiting[0] as Message;
    if (running !== undefined && !BESIDE.has(next.request.op)) {
      // It needs the machine: the run ends first.
      running.paused = true;
      return;
    }
    waiting.shift();
    handle(next);
  }
}

self.onmessage = ({ data }: MessageEvent<Message>) => {
  if (data.request.op === 'pause') {
    if (running !== undefined) running.paused = true;
    return post({ id: data.id, ok: true, answer: null });
  }
  waiting.push(data);
  drain();
};

void open();
