// Switches of Node itself. Async functions and workers take turns without a loop of ours.

import { MessageChannel, Worker, isMainThread, workerData } from "node:worker_threads";
import { course, leave, readSettings, resident } from "./protocol.mjs";

/** Generators, resumed in turn by one loop, which is the dispatcher. */
function generator(settings) {
  const before = resident();
  const resumes = new Float64Array(settings.tasks);
  let visits = 0;
  function* numbers(task) {
    for (;;) yield ++resumes[task];
  }
  const generators = Array.from(resumes, (_, task) => numbers(task));
  const measured = course(settings, { before, resumes: () => sum(resumes), visits: () => visits });
  for (const rounds of measured) {
    for (let round = 0; round < rounds; round++) {
      for (let task = 0; task < generators.length; task++) generators[task].next();
      visits += generators.length;
    }
  }
}

/** Async functions that each await null: the queue of microtasks continues with the next one. */
async function awaiting(settings) {
  const before = resident();
  const resumes = new Float64Array(settings.tasks);
  async function body(task) {
    for (;;) {
      resumes[task]++;
      await null;
    }
  }
  for (let task = 1; task < settings.tasks; task++) body(task);
  for (const rounds of course(settings, { before, resumes: () => sum(resumes) })) {
    for (let round = 0; round < rounds; round++) {
      await null;
      resumes[0]++;
    }
  }
}

/** Workers, each with its own heap and event loop, that pass a message to the next one. */
async function messages(settings) {
  await withWorkers(settings, (ports, resumes) => {
    const received = () => new Promise((resolve) => ports.mine.once("message", resolve));
    return async (rounds) => {
      for (let round = 0; round < rounds; round++) {
        ports.next.postMessage(0);
        await received();
        resumes[0]++;
      }
    };
  });
}

/** Workers that wait for their turn with Atomics.wait. */
async function atomics(settings) {
  await withWorkers(settings, (_, resumes, turns) => async (rounds) => {
    for (let round = 0; round < rounds; round++) {
      give(turns, 1);
      take(turns, 0);
      resumes[0]++;
    }
  });
}

/** Starts workers on all seats but seat 0, passes the handover functions to `make`, and measures what it returns. */
async function withWorkers(settings, make) {
  const before = resident();
  const resumes = new Float64Array(new SharedArrayBuffer(8 * settings.tasks));
  const turns = new Int32Array(new SharedArrayBuffer(4 * settings.tasks));
  const channels = Array.from(resumes, () => new MessageChannel());
  for (let task = 1; task < settings.tasks; task++) {
    const mine = channels[task].port2;
    const next = channels[(task + 1) % settings.tasks].port1;
    const data = { mechanism: settings.mechanism, task, resumes, turns, mine, next };
    const worker = new Worker(new URL(import.meta.url), { workerData: data, transferList: [mine, next] });
    worker.on("error", (error) => leave(`fail worker ${task}: ${error.message}`));
    await new Promise((resolve) => worker.once("online", resolve));
  }
  const ports = { mine: channels[0].port2, next: channels[1].port1 };
  const pass = make(ports, resumes, turns);
  const measured = course(settings, { before, resumes: () => sum(resumes), threads: true });
  for (const rounds of measured) await pass(rounds);
}

/** The endless loop of a worker. */
function work({ mechanism, task, resumes, turns, mine, next }) {
  if (mechanism === "atomics") {
    for (;;) {
      take(turns, task);
      resumes[task]++;
      give(turns, (task + 1) % turns.length);
    }
  }
  mine.on("message", (message) => {
    resumes[task]++;
    next.postMessage(message);
  });
}

function give(turns, task) {
  Atomics.store(turns, task, 1);
  Atomics.notify(turns, task, 1);
}

function take(turns, task) {
  while (Atomics.exchange(turns, task, 0) === 0) Atomics.wait(turns, task, 0);
}

function sum(counts) {
  return counts.reduce((total, count) => total + count, 0);
}

const MECHANISMS = { generator, await: awaiting, messages, atomics };

if (isMainThread) {
  const settings = readSettings(process.argv.slice(2));
  const measure = MECHANISMS[settings.mechanism];
  if (!measure) leave(`fail unknown mechanism: ${settings.mechanism}`);
  await measure(settings);
  process.exit(0); // the other tasks never end
} else {
  work(workerData);
}
