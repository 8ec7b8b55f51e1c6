// Parameters, the course of a measurement, and output.

import { readFileSync, writeSync } from "node:fs";

export const now = process.hrtime.bigint;

/** The parameters. */
export function readSettings(argv) {
  const values = Object.fromEntries(argv.map((argument) => argument.split("=", 2)));
  const number = (key, otherwise) => {
    const value = Number(values[key] ?? otherwise);
    if (!Number.isSafeInteger(value) || value < 0) leave(`fail ${key} is not a number: ${values[key]}`);
    return value;
  };
  const settings = {
    runtime: values.runtime,
    mechanism: values.mechanism,
    tasks: number("tasks", 2),
    batches: number("batches", 1),
    batch: number("batch", 2),
    warmMin: BigInt(number("warm_min_ms", 0)) * 1_000_000n,
    warmMax: BigInt(number("warm_max_ms", 0)) * 1_000_000n,
    singles: number("singles", 0),
  };
  if (settings.tasks < 1 || settings.batch === 0 || settings.batch % settings.tasks !== 0) {
    leave("fail batch must be a multiple of tasks");
  }
  return settings;
}

/** The parameters of each measurement: a value with commas is a list with one for each. */
export function readEach(argv) {
  const pairs = argv.map((argument) => argument.split("=", 2)).filter((pair) => pair.length === 2);
  const lists = pairs.map(([key, value]) => [key, value.split(",")]);
  const most = Math.max(1, ...lists.map(([, values]) => values.length));
  return Array.from({ length: most }, (_, at) => readSettings(lists.map(([key, values]) => `${key}=${values[at] ?? values[0]}`)));
}

/** Ends the program with one line instead of figures. */
export function leave(line) {
  print(`tollgate-runtime 1\n${line}\nend\n`);
  process.exit(0);
}

/** Writes all of a text: standard output may be a full pipe. */
function print(text) {
  for (let bytes = Buffer.from(text); bytes.length > 0; ) {
    try {
      bytes = bytes.subarray(writeSync(1, bytes));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

/** Resident bytes of this process. */
export const resident = () => process.memoryUsage.rss();

/** Context switches by the kernel, voluntary or not, of all threads. */
function kernelSwitches() {
  const usage = process.resourceUsage();
  return usage.voluntaryContextSwitches + usage.involuntaryContextSwitches;
}

/**
 * Yields the number of rounds to run next, and times them until it is resumed. Prints everything at the end.
 *
 * `before` is the resident size before the tasks were created, `resumes()` the sum of the tasks' counts, `visits()` the
 * number of visits of the dispatcher, `copies()` that of texts that were copied on their way, `other()` a second count of
 * the same resumptions. With `threads` the kernel's count is printed. With `turns` it yields 0 before each batch that counts
 * and before it prints: it is the turn of others.
 */
export function* course(settings, { before, resumes, visits, copies, other, threads, turns }) {
  const rounds = settings.batch / settings.tasks;
  yield 1;
  const after = resident();

  function* timed(rounds) {
    const start = now();
    yield rounds;
    return now() - start;
  }

  let warm = 0;
  let calm = 0;
  let previous = 0n;
  let ended = "limit";
  const began = now();
  while (ended === "limit" && now() - began < settings.warmMax) {
    let fastest = -1n;
    for (let i = 0; i < 8 && now() - began < settings.warmMax; i++) {
      const elapsed = yield* timed(rounds);
      warm += settings.batch;
      if (fastest < 0n || elapsed < fastest) fastest = elapsed;
    }
    calm = previous > 0n && fastest * 100n >= previous * 98n ? calm + 1 : 0;
    if (calm >= 2 && now() - began >= settings.warmMin) ended = "steady";
    previous = fastest;
  }
  globalThis.gc?.();

  const samples = [];
  const counters = { resumes, visits, copies, other, kernel: kernelSwitches };
  const read = () => Object.entries(counters).map(([name, counter]) => [name, counter?.() ?? 0]);
  const counts = Object.fromEntries(Object.keys(counters).map((name) => [name, 0]));
  while (samples.length < settings.batches) {
    if (turns) {
      yield 0;
      // The others had the caches.
      yield Math.ceil(rounds / 8);
    }
    const earlier = read();
    do samples.push(yield* timed(rounds));
    while (!turns && samples.length < settings.batches);
    for (const [at, [name, count]] of read().entries()) counts[name] += count - earlier[at][1];
  }
  if (other && counts.other !== counts.resumes) {
    leave(`fail one side counted ${counts.resumes} calls and the other ${counts.other}`);
  }
  if (turns) yield 0;

  // One event is a round: reading the clock at each resumption would cost more than some of the switches.
  const events = Math.ceil(settings.singles / settings.tasks);
  const pairs = [];
  const singles = [];
  for (let i = 0; i < events; i++) {
    const start = now();
    pairs.push(now() - start);
  }
  for (let i = 0; i < events; i++) singles.push(yield* timed(1));

  const lines = [
    "tollgate-runtime 1",
    `version Node ${process.version}, V8 ${process.versions.v8}`,
    "clock 1 process.hrtime.bigint (CLOCK_MONOTONIC)",
    `rss ${before} ${after}`,
    `warm ${warm} ${ended}`,
    ...samples.map((sample) => `sample ${settings.batch} ${sample}`),
    ...pairs.map((pair) => `pair ${pair}`),
    ...singles.map((single) => `single ${settings.tasks} ${single}`),
    `count switches ${settings.batch * settings.batches}`,
    `count resumes ${counts.resumes}`,
    ...(visits ? [`count dispatcher ${counts.visits}`] : []),
    ...(copies ? [`count copies ${counts.copies}`] : []),
    ...(threads ? [`count kernel ${counts.kernel}`] : []),
    "end",
  ];
  print(`${lines.join("\n")}\n`);
}
