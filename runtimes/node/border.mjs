// Calls from JavaScript to native code or WebAssembly, and back.

import { createRequire } from "node:module";
import { course, leave, readEach, resident } from "./protocol.mjs";
import { assemble } from "./wasm.mjs";

// Made when the program runs.
const TEXT = "x".repeat(100);

let called = 0;
let copies = 0;

function callee() {
  called++;
}

function calleeEight(a, b, c, d, e, f, g, h) {
  const sum = a + b + c + d + e + f + g + h;
  if (sum === 36) called++;
  return sum;
}

function calleeText(text) {
  if (text.length === 100) called++;
}

/** An addon in C. */
function addon() {
  const native = createRequire(import.meta.url)("./addon.node");
  return {
    counts: () => native.counts(),
    mechanisms: {
      down: (calls) => {
        for (let call = 0; call < calls; call++) native.down();
      },
      "down-8": (calls) => {
        for (let call = 0; call < calls; call++) native.downEight(1, 2, 3, 4, 5, 6, 7, 8);
      },
      "down-text": (calls) => {
        for (let call = 0; call < calls; call++) native.downText(TEXT);
      },
      up: (calls) => native.up(calls, callee),
      "up-8": (calls) => native.upEight(calls, calleeEight),
      "up-text": (calls) => native.upText(calls, calleeText),
      back: (calls) => {
        for (let call = 0; call < calls; call++) native.back(callee);
      },
    },
  };
}

/** A module of WebAssembly, which V8 compiles. Its memory holds texts as UTF-8. */
function wasm() {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  let memory;
  const text = (at, length) => {
    copies++;
    calleeText(decoder.decode(memory.subarray(at, at + length)));
  };
  const imports = { js: { callee, calleeEight, calleeText: text } };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(assemble()), imports).exports;
  memory = new Uint8Array(instance.memory.buffer);
  encoder.encodeInto(TEXT, memory.subarray(0, 100));
  const room = memory.subarray(1024, 1124);
  return {
    counts: () => [instance.entered.value, copies],
    mechanisms: {
      down: (calls) => {
        for (let call = 0; call < calls; call++) instance.down();
      },
      "down-8": (calls) => {
        for (let call = 0; call < calls; call++) instance.downEight(1, 2, 3, 4, 5, 6, 7, 8);
      },
      "down-text": (calls) => {
        for (let call = 0; call < calls; call++) {
          copies++;
          instance.downText(1024, encoder.encodeInto(TEXT, room).written);
        }
      },
      up: (calls) => instance.up(calls),
      "up-8": (calls) => instance.upEight(calls),
      "up-text": (calls) => instance.upText(calls),
      back: (calls) => {
        for (let call = 0; call < calls; call++) instance.back();
      },
    },
  };
}

const each = readEach(process.argv.slice(2));
const { counts, mechanisms } = each[0].runtime === "node-wasm" ? wasm() : addon();

/** The course of one measurement, and what makes its calls. */
function measure(settings) {
  const call = mechanisms[settings.mechanism];
  if (!call) leave(`fail unknown mechanism: ${settings.mechanism}`);
  const inNative = () => counts()[0];
  // A callback enters both.
  const [resumes, other] =
    settings.mechanism === "back" ? [inNative, () => called] : [() => inNative() + called];
  const measured = course(settings, { before: resident(), resumes, other, copies: () => counts()[1], turns: true });
  return { measured, call };
}

/** Makes the calls of a measurement until it is the turn of others. */
function takeTurn({ measured, call }) {
  for (;;) {
    const { value: calls } = measured.next();
    if (!calls) return;
    call(calls);
  }
}

// Each warms up in its first turn. Then they make their calls in turns, batch by batch, and each prints.
const measurements = each.map(measure);
for (let turn = 0; turn <= Math.max(...each.map(({ batches }) => batches)); turn++) {
  for (const [at, measurement] of measurements.entries()) {
    if (turn <= each[at].batches) takeTurn(measurement);
  }
}
measurements.forEach(takeTurn);
