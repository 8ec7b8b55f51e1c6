// The state of the page and everything that changes it. The views draw it, and call these methods.
import type { Editor, Problem } from './editor.ts';
import { decode, loaded, LinkError, type Loaded, type Shared } from './link.ts';
import { RequestError, type Machine } from './machine.ts';
import type {
  Breakpoint,
  Caches,
  CoreChoice,
  CoreEntry,
  Event,
  ExerciseEntry,
  GalleryEntry,
  KernelEntry,
  Listed,
  Mapping,
  Memory,
  PageWalk,
  Pipeline,
  Ran,
  SourceError,
  SourceFile,
  State,
  Stop,
  TrapEvent,
  TrapWalk,
} from './protocol.ts';
import { NO_NAMES, type Names } from './riscv.ts';
import { keep, recall } from './storage.ts';
import { T } from './texts.ts';

export const VIEWS = ['write', 'watch', 'account', 'exercises', 'share'] as const;
export type View = (typeof VIEWS)[number];

export const CARDS = [
  'pipeline', 'registers', 'csrs', 'listing', 'memory', 'pages', 'caches', 'causes', 'traps', 'breakpoints', 'console',
] as const;
export type Card = (typeof CARDS)[number];

export interface Notice {
  kind: 'info' | 'warning' | 'error';
  text: string;
  action?: { label: string; run(): void };
}

/** What the machine does. */
export type Phase = 'starting' | 'loading' | 'idle' | 'busy' | 'running' | 'dead';

/** What the cards of Watch show, as far as it was asked for. */
export interface Details {
  pipeline?: Pipeline;
  caches?: Caches;
  listing?: Listed[];
  memory?: Memory;
  walk?: PageWalk;
  mappings?: Mapping[];
  traps?: TrapEvent[];
}

/** The walk through a trap, and the step that is shown. */
export interface Walk {
  trap: TrapWalk;
  step: number;
  /** The place in the source that the step explains. */
  at: { file: string | null; line: number | null };
}

/** What a student did with an exercise. */
export interface Attempt {
  text?: string;
  passed?: boolean;
  hints?: number;
}

/** In an exercise, the student's file; the others are the harness around it. */
const SOLUTION = 'solution.s';

/** The file of a program that is edited. */
export const editedOf = (files: SourceFile[]): SourceFile | undefined => files.find(({ name }) => name === SOLUTION) ?? files[0];

/** How long after the last key the program is assembled, in milliseconds. */
const PAUSE = 350;
/** The same for a source of more than `LARGE` characters. */
const LONG_PAUSE = 1500;
const LARGE = 200_000;
/** Characters of a running program's output that are kept, as in `State.console`. */
const LONGEST_CONSOLE = 1 << 20;

const isLoaded = (value: unknown): value is { load: unknown; breaks?: unknown } =>
  typeof value === 'object' && value !== null && 'load' in value;
const isRecord = (value: unknown): value is Record<string, Attempt> => typeof value === 'object' && value !== null;
const isText = (value: unknown): value is string => typeof value === 'string';
const isTrue = (value: unknown): value is true => value === true;
const isCards = (value: unknown): value is Card[] => Array.isArray(value);

export class App {
  view: View = 'watch';
  phase: Phase = 'starting';
  version = '';
  /** What is loaded next; the text of one of its files is in the editor. */
  load: Loaded;
  /** The text that the editor was given, to find out whether it was changed. */
  given = '';
  /** Whether it was changed since. */
  isTyped = false;
  /** Whether a program that was replaced can be brought back. */
  hasEarlier: boolean;
  state: State | undefined;
  stop: Stop | undefined;
  progress: Extract<Event, { event: 'progress' }> | undefined;
  /** What the program printed since the run began, as far as it is known. */
  printed = '';
  errors: SourceError[] = [];
  /** Why the machine has nothing loaded, if not for errors of the source. */
  failure = '';
  /** A remark on the last action. */
  remark = '';
  notices: Notice[] = [];
  breakpoints: Breakpoint[] = [];
  open: Set<Card>;
  details: Details = {};
  walk: Walk | undefined;
  /** A trap that the last step took, to be explained on request. */
  trapTaken: TrapEvent | undefined;
  welcomed: boolean;

  cores: CoreEntry[] = [];
  kernels: KernelEntry[] = [];
  gallery: GalleryEntry[] = [];
  exercises: ExerciseEntry[] = [];
  names: Names = NO_NAMES;

  // What is entered into the cards.
  csrFilter: 'trap' | 'changed' | 'all' = 'trap';
  memoryAddress = 'sp';
  memoryPhysical = false;
  walkAddress = 'sp';
  walkAccess: 'load' | 'store' | 'fetch' = 'load';
  listingAddress = '';

  student: string;
  attempts: Record<string, Attempt>;
  /** The exercise whose files are in the editor. */
  exercise: string | undefined;
  /** A counter that changes with each link or exercise, so that views forget what belonged to the one before. */
  epoch = 0;

  editor: Editor | undefined;
  readonly machine: Machine;
  readonly #draw: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #loads = 0;
  /** The program whose console was opened; a user who closes it is not asked again. */
  #consoleOf = -1;
  #pending: Promise<void> = Promise.resolve();

  constructor(open: (reports: ConstructorParameters<typeof Machine>[1]) => Machine, start: Loaded, draw: () => void) {
    this.load = start;
    this.#draw = draw;
    this.open = new Set(recall('panels', isCards) ?? ['pipeline', 'registers', 'csrs']);
    this.welcomed = recall('welcomed', isTrue) ?? false;
    this.student = recall('student', isText) ?? '';
    this.attempts = recall('exercises', isRecord) ?? {};
    this.hasEarlier = App.recalled('earlier') !== undefined;
    this.machine = open({
      event: (event) => this.#event(event),
      silent: (silent) => this.#silent(silent),
    });
  }

  draw(): void {
    this.#draw();
  }

  // ------------------------------------------------------------------------------------------------------------ the program

  /** The files of the program, one as it is in the editor; none for a program without a source. */
  files(): SourceFile[] {
    const { program } = this.load;
    if (program.kind !== 'source' && program.kind !== 'entry') return [];
    const edited = editedOf(program.files);
    return program.files.map((file) => (file === edited ? { name: file.name, text: this.editor?.text() ?? file.text } : file));
  }

  /** The file that is in the editor. */
  edited(): SourceFile | undefined {
    return editedOf(this.files());
  }

  /** What to load, with the text of the editor. */
  current(): Loaded {
    const { program } = this.load;
    if (program.kind !== 'source' && program.kind !== 'entry') return this.load;
    return { ...this.load, program: { ...program, files: this.files() } };
  }

  get isEditable(): boolean {
    return this.load.program.kind === 'source' || this.load.program.kind === 'entry';
  }

  /** Shows another program. What was typed before is kept, and can be brought back. */
  show(load: Loaded, breaks: number[] = [], quiet = false): Promise<void> {
    if (this.isEditable && this.editor !== undefined && this.editor.text() !== this.given && this.exercise === undefined) {
      keep('earlier', { load: this.current(), breaks: this.editor.breakpoints() });
      this.hasEarlier = true;
      const before = { load: this.current(), breaks: this.editor.breakpoints() };
      if (!quiet) {
        this.notify('info', T.replaced, { label: T.undo, run: () => void this.show(before.load, before.breaks, true) });
      }
    }
    this.exercise = undefined;
    return this.#put(load, breaks);
  }

  /** Puts the files of an exercise into the editor. */
  showExercise(id: string, load: Loaded): Promise<void> {
    const kept = this.attempts[id]?.text;
    const { program } = load;
    const files = 'files' in program ? program.files.map((file) => (file === editedOf(program.files) ? { ...file, text: kept ?? file.text } : file)) : [];
    const shown = 'files' in program ? { ...load, program: { ...program, files } } : load;
    const done = this.show(shown, [], true);
    this.exercise = id;
    return done;
  }

  async #put(load: Loaded, breaks: number[]): Promise<void> {
    this.load = load;
    const text = 'files' in load.program ? (editedOf(load.program.files)?.text ?? '') : '';
    this.given = text;
    this.isTyped = false;
    this.editor?.setText(text, breaks);
    clearTimeout(this.#timer);
    this.keepDraft();
    await this.reload();
  }

  setCore(core: CoreChoice | null): Promise<void> {
    this.load = { ...this.load, core };
    this.keepDraft();
    return this.reload(this.state?.position);
  }

  /** To be called after each change of the text. */
  changed(): void {
    clearTimeout(this.#timer);
    this.isTyped = true;
    const text = this.editor?.text() ?? '';
    if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
    this.#timer = setTimeout(() => {
      this.keepDraft();
      if (this.state !== undefined && this.state.position > 0) this.remark = T.edited;
      void this.reload();
    }, text.length > LARGE ? LONG_PAUSE : PAUSE);
  }

  /** Keeps what was typed for the next visit. */
  keepDraft(): void {
    if (this.exercise !== undefined) {
      this.attempts = { ...this.attempts, [this.exercise]: { ...this.attempts[this.exercise], text: this.edited()?.text ?? '' } };
      this.#kept(keep('exercises', this.attempts));
      return;
    }
    if (!this.isEditable) return;
    this.#kept(keep('draft', { load: this.current(), breaks: this.editor?.breakpoints() ?? [] }));
  }

  keepAttempt(id: string, attempt: Attempt): void {
    this.attempts = { ...this.attempts, [id]: { ...this.attempts[id], ...attempt } };
    this.#kept(keep('exercises', this.attempts));
  }

  #kept(result: ReturnType<typeof keep>): void {
    if (result === 'refused') this.notify('warning', T.storageRefused);
    if (result === 'full') this.notify('warning', T.storageFull);
  }

  /** The program of the last visit, or the one that was replaced. */
  static recalled(key: 'draft' | 'earlier'): { load: Loaded; breaks: number[] } | undefined {
    const kept = recall(key, isLoaded);
    const load = loaded(kept?.load);
    if (load === undefined) return undefined;
    const breaks = Array.isArray(kept?.breaks) ? kept.breaks.filter((line) => Number.isSafeInteger(line)) : [];
    return { load, breaks };
  }

  /** Loads the program as it is in the editor, and goes to `position`. */
  async reload(position = 0): Promise<void> {
    const mine = ++this.#loads;
    if (this.phase === 'starting' || this.phase === 'dead') return;
    if (this.phase === 'running') await this.#quietly(() => this.machine.request({ op: 'pause' }));
    if (mine !== this.#loads) return;
    this.phase = 'loading';
    this.walk = undefined;
    this.trapTaken = undefined;
    this.draw();
    try {
      const state = await this.machine.request({ op: 'load', ...this.current() });
      if (mine !== this.#loads) return;
      this.#loadedWith(state);
      if (position > 0) {
        // It may be far away: a run like any other, which can be paused.
        this.phase = 'running';
        this.draw();
        const ran = await this.machine.request({ op: 'goTo', position });
        if (mine !== this.#loads) return;
        this.phase = 'idle';
        this.#ran(ran);
      }
      await this.refresh();
    } catch (error) {
      if (mine !== this.#loads) return;
      this.errors = error instanceof RequestError ? error.errors : [];
      // What was loaded before stays in sight while the text has errors.
      if (this.errors.length === 0) this.state = undefined;
      this.stop = undefined;
      this.failure = this.errors.length === 0 && error instanceof Error ? error.message : '';
      this.editor?.next(undefined);
      this.editor?.problems(this.problems());
      this.phase = this.#after(error);
    }
    this.draw();
  }

  #loadedWith(state: State): void {
    this.errors = [];
    this.failure = '';
    this.stop = undefined;
    this.progress = undefined;
    this.details = {};
    this.phase = 'idle';
    this.#at(state);
    this.editor?.problems([]);
  }

  problems(): Problem[] {
    const edited = this.edited();
    return this.errors
      .filter((error) => error.file === edited?.name)
      .map(({ line, column, length, message }) => ({ line, column, length: length > 0 ? length : undefined, message, severity: 'error' }));
  }

  // ------------------------------------------------------------------------------------------------------------ the machine

  get canMove(): boolean {
    return this.phase === 'idle' && this.state !== undefined && !this.isStale;
  }

  /** Whether what is shown belongs to an earlier text. */
  get isStale(): boolean {
    return this.state !== undefined && this.errors.length > 0;
  }

  #at(state: State): void {
    this.state = state;
    this.printed = '';
    this.#showNext();
  }

  /** Marks the line that is executed next, or the one that the step of a walk explains. */
  #showNext(): void {
    const { state } = this;
    const at = this.walk?.at ?? (state?.ended === null ? state : undefined);
    this.editor?.next(at?.file === this.edited()?.name && at?.line != null ? at.line : undefined);
  }

  /** Shows a step of a walk, with its line in the editor; `undefined` ends the walk. */
  setWalk(walk: Walk | undefined): void {
    this.walk = walk;
    this.#showNext();
    this.draw();
  }

  #ran(ran: Ran): void {
    this.stop = ran.stop;
    this.#at(ran.state);
  }

  /** Opens the console when a program prints for the first time; one who closes it is not asked again. */
  #showConsole(program: number | undefined): void {
    if (program === undefined || this.#consoleOf === program) return;
    this.#consoleOf = program;
    this.open.add('console');
  }

  /** The phase after a failed request. */
  #after(error: unknown): Phase {
    return error instanceof RequestError && (error.kind === 'died' || error.kind === 'panic') ? this.phase : 'idle';
  }

  /** Moves the machine, and shows where it is. */
  async #move(phase: Phase, move: () => Promise<Ran>): Promise<Ran | undefined> {
    if (!this.canMove) return undefined;
    this.phase = phase;
    this.remark = '';
    this.trapTaken = undefined;
    this.progress = undefined;
    this.printed = '';
    this.draw();
    let ran: Ran | undefined;
    try {
      ran = await move();
      if (ran.stop.kind === 'input') this.open.add('console');
      else if (ran.state.console !== '') this.#showConsole(ran.state.loaded);
      this.#ran(ran);
      if (ran.stop.kind === 'start') this.remark = T.atStart;
      this.phase = 'idle';
      await this.refresh();
    } catch (error) {
      this.phase = this.#after(error);
      if (this.phase === 'idle') this.#complain(error);
    }
    this.draw();
    return ran;
  }

  async run(): Promise<void> {
    if (this.phase === 'running') {
      await this.#quietly(() => this.machine.request({ op: 'pause' }));
      return;
    }
    if (this.state?.ended != null) await this.restart();
    this.walk = undefined;
    this.showWatch();
    if (this.load.program.kind === 'boot') this.open.add('console');
    await this.#move('running', () => this.machine.request({ op: 'run', breakpoints: this.allBreakpoints() }));
  }

  async step(): Promise<void> {
    const traps = this.state?.traps ?? 0;
    this.showWatch();
    const ran = await this.#move('busy', () => this.machine.request({ op: 'step' }));
    if (ran !== undefined && ran.state.traps > traps) await this.#noticeTrap();
  }

  async back(): Promise<void> {
    this.showWatch();
    await this.#move('busy', () => this.machine.request({ op: 'back', count: 1 }));
  }

  async restart(): Promise<void> {
    if (!this.canMove) return;
    this.walk = undefined;
    this.trapTaken = undefined;
    this.remark = '';
    this.stop = undefined;
    try {
      this.#at(await this.machine.request({ op: 'reset' }));
      await this.refresh();
    } catch (error) {
      this.#complain(error);
    }
    this.draw();
  }

  /** Runs until the instruction at a symbol or an address comes next. */
  runTo(address: string): Promise<Ran | undefined> {
    return this.#move('running', () => this.machine.request({ op: 'runTo', address }));
  }

  /** Runs until the line of the cursor comes next. */
  async runToCursor(): Promise<void> {
    const file = this.edited()?.name;
    const line = this.editor?.cursor();
    if (file === undefined || line === undefined) return;
    this.showWatch();
    await this.#move('running', () => this.machine.request({ op: 'runTo', line: { file, line } }));
  }

  type(text: string): Promise<void> {
    return this.#quietly(async () => {
      this.#at(await this.machine.request({ op: 'type', text }));
      if (this.stop?.kind === 'input') await this.run();
    });
  }

  /** Runs to the next trap and explains it. */
  async follow(): Promise<void> {
    if (this.state?.ended != null) await this.restart();
    this.showWatch();
    const traps = this.state?.traps ?? 0;
    const ran = await this.#move('running', () => this.machine.request({ op: 'run', breakpoints: [{ kind: 'trap' }] }));
    if (ran === undefined) return;
    if (ran.state.traps > traps) {
      this.stop = undefined;
      await this.explain();
    } else if (ran.stop.kind === 'exit') {
      this.remark = T.noMoreTraps;
    }
    this.draw();
  }

  /** Explains a trap: the one of that index, else the latest. */
  explain(index?: number): Promise<void> {
    return this.#quietly(async () => {
      const traps = await this.machine.request({ op: 'traps' });
      const which = index ?? traps.at(-1)?.index;
      if (which === undefined) return;
      const trap = await this.machine.request({ op: 'trapWalk', index: which });
      if (/page fault/.test(trap.trap.cause)) await this.#translate(trap.trap.tval);
      this.trapTaken = undefined;
      this.showWatch();
      this.setWalk({ trap, step: 0, at: trap });
      document.getElementById('walk')?.focus();
      document.getElementById('walk')?.scrollIntoView({ block: 'nearest' });
    });
  }

  /** Shows the walk of an address in the page table. */
  async #translate(address: string): Promise<void> {
    this.walkAddress = address;
    this.open.add('pages');
    await this.refresh();
  }

  #noticeTrap(): Promise<void> {
    return this.#quietly(async () => {
      this.trapTaken = (await this.machine.request({ op: 'traps' })).at(-1);
      this.draw();
    });
  }

  allBreakpoints(): Breakpoint[] {
    const file = this.edited()?.name;
    const lines = file === undefined ? [] : (this.editor?.breakpoints() ?? []);
    return [...lines.map((line): Breakpoint => ({ kind: 'line', file: file ?? '', line })), ...this.breakpoints];
  }

  /** Fetches what the open cards show. */
  async refresh(): Promise<void> {
    if (this.state === undefined || this.view === 'account') return;
    const { machine } = this;
    const details: Details = {};
    const jobs: Promise<unknown>[] = [];
    const fetch = (card: Card, job: () => Promise<unknown>) => {
      if (this.open.has(card)) jobs.push(this.#quietly(job));
    };
    const hasCore = this.state.core !== null;
    if (hasCore) fetch('pipeline', async () => (details.pipeline = await machine.request({ op: 'pipeline', count: 28 })));
    if (hasCore) fetch('caches', async () => (details.caches = await machine.request({ op: 'caches' })));
    const listing = async () => {
      const address = this.listingAddress.trim();
      details.listing = await machine.request({ op: 'disassemble', count: 40, ...(address === '' ? {} : { address }) });
    };
    if (this.isEditable) fetch('listing', listing);
    else jobs.push(this.#quietly(listing));
    fetch('memory', async () => {
      const address = this.memoryAddress.trim() || 'sp';
      details.memory = await machine.request({ op: 'memory', address, length: 128, space: this.memoryPhysical ? 'physical' : 'virtual' });
    });
    fetch('pages', async () => {
      details.walk = await machine.request({ op: 'walk', address: this.walkAddress.trim() || 'sp', access: this.walkAccess });
      details.mappings = details.walk.scheme === 'Bare' ? [] : await machine.request({ op: 'mappings', limit: 64 });
    });
    fetch('traps', async () => (details.traps = await machine.request({ op: 'traps' })));
    await Promise.all(jobs);
    this.details = details;
  }

  /** Fetches the cards again after their settings changed. */
  async again(): Promise<void> {
    this.remark = '';
    await this.refresh();
    this.draw();
  }

  toggleCard(card: Card, open: boolean): void {
    if (this.open.has(card) === open) return;
    if (open) this.open.add(card);
    else this.open.delete(card);
    keep('panels', [...this.open]);
    if (open) void this.again();
  }

  // ---------------------------------------------------------------------------------------------------------------- the page

  go(view: View): void {
    const before = this.view;
    this.view = view;
    this.draw();
    if (before === 'account' && view !== 'account') void this.again();
  }

  /** Shows the machine, unless something beside the editor already does. */
  showWatch(): void {
    if (this.view === 'write') this.view = 'watch';
  }

  notify(kind: Notice['kind'], text: string, action?: Notice['action']): void {
    this.notices = [...this.notices.filter((notice) => notice.text !== text), { kind, text, ...(action === undefined ? {} : { action }) }].slice(-3);
    this.draw();
  }

  dismiss(notice: Notice): void {
    this.notices = this.notices.filter((other) => other !== notice);
    this.draw();
  }

  #complain(error: unknown): void {
    if (error instanceof RequestError && (error.kind === 'died' || error.kind === 'panic')) return;
    this.remark = error instanceof Error ? error.message : String(error);
  }

  /** Does something that may fail, and says why if it does. */
  async #quietly(job: () => Promise<unknown>): Promise<void> {
    try {
      await job();
    } catch (error) {
      this.#complain(error);
      this.draw();
    }
  }

  /** Opens the program of a link. */
  async openLink(fragment: string): Promise<void> {
    let shared: Shared | undefined;
    try {
      shared = await decode(fragment);
    } catch (error) {
      if (error instanceof LinkError) this.notify('error', T.linkFaults[error.fault]);
      else throw error;
      return;
    }
    if (shared === undefined) return;
    this.epoch++;
    const view = VIEWS.find((name) => name === shared.view);
    if (view !== undefined) this.view = view;
    if (shared.exercise !== undefined) this.student = shared.exercise.student;
    const before = App.recalled('draft');
    if (before !== undefined) keep('earlier', before);
    this.hasEarlier ||= before !== undefined;
    this.exercise = shared.exercise?.id;
    this.load = shared.load;
    this.given = 'files' in shared.load.program ? (editedOf(shared.load.program.files)?.text ?? '') : '';
    this.isTyped = false;
    this.editor?.setText(this.given, shared.breaks ?? []);
    await this.reload(shared.at ?? 0);
  }

  // ---------------------------------------------------------------------------------------------------- the life of a worker

  #event(event: Event): void {
    if (event.event === 'progress') {
      this.progress = event;
      if (event.console !== '' && this.printed === '') this.#showConsole(this.state?.loaded);
      this.printed = (this.printed + event.console).slice(-LONGEST_CONSOLE);
      this.draw();
    } else if (event.event === 'ready') {
      this.version = event.about.version;
      this.phase = 'idle';
      this.#pending = this.#pending.then(() => this.#begin());
    } else if (event.again) {
      this.notify('error', T.diedReplaced(event.message), { label: T.restartMachine, run: () => this.restartMachine() });
      this.phase = 'idle';
      this.state = undefined;
      this.failure = event.message;
    } else {
      this.phase = 'dead';
      this.state = undefined;
      this.failure = T.died(event.message);
      this.notify('error', T.died(event.message), { label: T.restartMachine, run: () => this.restartMachine() });
    }
    this.draw();
  }

  /** What the page asks for once the module is there: first the program, then the lists. */
  async #begin(): Promise<void> {
    const ask = <Answer>(request: Promise<Answer>, take: (answer: Answer) => void) =>
      request.then(take, (error: unknown) => this.#complain(error));
    const { machine } = this;
    const link = location.hash;
    if (link.length > 1) await this.openLink(link);
    else if (new URLSearchParams(location.search).has('exercise')) this.go('exercises');
    if (this.state === undefined && this.phase === 'idle') await this.reload();
    await ask(machine.request({ op: 'cores' }), (cores) => (this.cores = cores));
    this.draw();
    await ask(machine.request({ op: 'words' }), (words) => {
      const map = (list: { name: string; about: string }[]) => new Map(list.map(({ name, about }) => [name, about]));
      this.names = {
        mnemonics: map([...words.instructions, ...words.pseudo]),
        registers: map(words.registers.flatMap(({ name, number, about }) => [{ name, about }, { name: number, about }])),
        csrs: map(words.csrs),
        directives: map(words.directives),
      };
      this.editor?.recolor();
    });
    await ask(machine.request({ op: 'gallery' }), (gallery) => (this.gallery = gallery));
    await ask(machine.request({ op: 'kernels' }), (kernels) => (this.kernels = kernels));
    await ask(machine.request({ op: 'exercises' }), (exercises) => (this.exercises = exercises));
    this.draw();
  }

  restartMachine(): void {
    this.notices = this.notices.filter((notice) => notice.kind === 'info');
    this.phase = 'starting';
    this.state = undefined;
    this.details = {};
    this.walk = undefined;
    this.progress = undefined;
    this.draw();
    this.machine.restart(T.restarted);
  }

  #silent(silent: boolean): void {
    if (silent) this.notify('warning', T.silent, { label: T.restartMachine, run: () => this.restartMachine() });
    else this.notices = this.notices.filter((notice) => notice.text !== T.silent);
    this.draw();
  }
}
