// Speeds of the page in Chromium: node bench.mjs SITE PROGRAM.elf. Prints a name and a number a line; times are medians in ms.
import { createReadStream, existsSync, readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';

const [site, program] = process.argv.slice(2);
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };
const server = createServer((request, response) => {
  const path = join(site, new URL(request.url, 'http://x').pathname.replace(/\/$/, '/index.html'));
  if (!path.startsWith(site) || !existsSync(path)) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' });
  createReadStream(path).pipe(response);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${server.address().port}/`;

const { chromium } = createRequire(`${process.env.TOLLGATE_NPM}/node_modules/`)('playwright-core');
const browser = await chromium.launch({ executablePath: process.env.TOLLGATE_CHROMIUM, args: ['--no-sandbox'] });
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

// The page: from the request until its editor takes text.
const opened = [];
for (let i = 0; i < 5; i++) {
  const page = await browser.newPage();
  const began = performance.now();
  await page.goto(address);
  await page.waitForSelector('.cm-content[contenteditable="true"]');
  opened.push(performance.now() - began);
  await page.close();
}
console.log(`interactive ${median(opened).toFixed(0)}`);

// The worker alone.
const page = await browser.newPage();
await page.goto(address);
await page.evaluate(() => {
  const worker = new Worker('worker.js', { type: 'module' });
  const waiting = new Map();
  let next = 1;
  worker.onmessage = ({ data }) => data.id && (waiting.get(data.id)(data), waiting.delete(data.id));
  globalThis.request = (request) =>
    new Promise((resolve, reject) => {
      const id = next++;
      waiting.set(id, (reply) => (reply.ok ? resolve(reply.answer) : reject(new Error(reply.error.message))));
      worker.postMessage({ id, request });
    });
});
const base64 = readFileSync(program).toString('base64');
const speed = (core, limit) =>
  page.evaluate(
    async ({ core, limit, base64 }) => {
      const load = { op: 'load', program: { kind: 'elf', name: 'mix.elf', base64 }, core: core && { name: core } };
      const speeds = [];
      for (let i = 0; i < 3; i++) {
        await globalThis.request(load);
        const began = performance.now();
        const { state } = await globalThis.request({ op: 'run', limit });
        speeds.push(state.instructions / 1000 / (performance.now() - began));
      }
      return speeds.sort((a, b) => a - b)[1];
    },
    { core, limit, base64 },
  );
console.log(`functional ${(await speed(null, 600_000_000)).toFixed(0)}`);
console.log(`rocket ${(await speed('rocket', 60_000_000)).toFixed(1)}`);
const [step, back] = await page.evaluate(async () => {
  const times = [[], []];
  for (let i = 0; i < 20; i++) {
    let began = performance.now();
    await globalThis.request({ op: 'step' });
    await globalThis.request({ op: 'pipeline', count: 32 });
    await globalThis.request({ op: 'caches' });
    times[0].push(performance.now() - began);
    began = performance.now();
    await globalThis.request({ op: 'back', cycles: 100_000 });
    times[1].push(performance.now() - began);
  }
  return times.map((values) => values.sort((a, b) => a - b)[10]);
});
console.log(`step ${step.toFixed(1)}\nback ${back.toFixed(1)}`);
await browser.close();
server.close();

const files = readdirSync(site).filter((name) => name !== 'tollgate-lab.html');
const size = (name) => brotliCompressSync(readFileSync(join(site, name))).length;
const sum = (names) => (names.reduce((sum, name) => sum + size(name), 0) / 1e6).toFixed(3);
console.log(`first ${sum(files.filter((name) => name !== 'tollgate.wasm'))}\nall ${sum(files)}`);
