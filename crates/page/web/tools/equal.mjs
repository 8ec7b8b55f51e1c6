// Whether the module answers as the native program: node equal.mjs MODULE.wasm CASES [browser]
// CASES has two lines for each request: the request, and the native answer. A request `{"fresh":true}` begins a new session. With
// `browser` the module runs in Chromium, which TOLLGATE_CHROMIUM and TOLLGATE_NPM name.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { open } from './module.mjs';

const [wasm, file, where] = process.argv.slice(2);
const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
const cases = [];
for (let i = 0; i < lines.length; i += 2) cases.push([lines[i], lines[i + 1]]);

/** Answers all requests; the browser has this function as its text. */
async function run(open, bytes, requests) {
  let call = await open(bytes);
  const answers = [];
  for (const request of requests) {
    if (request.startsWith('{"fresh"')) {
      call = await open(bytes);
      answers.push('');
    } else {
      answers.push(call(request));
    }
  }
  return answers;
}

const began = performance.now();
const requests = cases.map(([request]) => request);
let answers;
if (where === 'browser') {
  const { chromium } = createRequire(`${process.env.TOLLGATE_NPM}/node_modules/`)('playwright-core');
  const browser = await chromium.launch({ executablePath: process.env.TOLLGATE_CHROMIUM, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  await page.goto('about:blank');
  await page.evaluate(`globalThis.open2 = ${open.toString()}; globalThis.run = ${run.toString()};`);
  await page.evaluate((text) => {
    globalThis.module = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  }, readFileSync(wasm).toString('base64'));
  answers = [];
  // In parts, from one fresh session to another.
  let part = [];
  const flush = async () => {
    if (part.length > 0) answers.push(...(await page.evaluate((part) => globalThis.run(globalThis.open2, globalThis.module, part), part)));
    part = [];
  };
  for (const request of requests) {
    if (request.startsWith('{"fresh"') && part.length > 200) await flush();
    part.push(request);
  }
  await flush();
  await browser.close();
} else {
  answers = await run(open, readFileSync(wasm), requests);
}
let different = 0;
cases.forEach(([request, expected], i) => {
  if (request.startsWith('{"fresh"') || answers[i] === expected) return;
  if (different++ < 3) {
    const at = [...expected].findIndex((letter, at) => letter !== answers[i][at]);
    console.error(`${request.slice(0, 200)}\n  native: ${expected.slice(Math.max(0, at - 80), at + 80)}\n  module: ${answers[i].slice(Math.max(0, at - 80), at + 80)}`);
  }
});
const seconds = ((performance.now() - began) / 1000).toFixed(1);
console.log(`${cases.length - different} of ${cases.length} answers are equal to the byte (${where ?? 'node'}, ${seconds} s)`);
process.exit(different > 0 ? 1 : 0);
