// Memory of the page while it is used: node memory.mjs FOLDER SECONDS, where FOLDER is what `cargo xtask page` writes.
// Steps forwards and back, runs, follows traps, changes cores and programs, with every card open. Prints the memory of the tab (page
// and worker are one process) twice a minute, before and after a garbage collection, and the most of both; exit status 1 when what
// is in use is over 200 MB. The rest is garbage, and the browser decides when to collect it.
import { readFileSync } from 'node:fs';
import { DESKTOP, launch } from '../../../report/tests/browser/launch.mjs';
import { serve } from './serve.mjs';

const MOST_MB = 200;
const [folder, seconds] = process.argv.slice(2);
const browser = await launch();
const { server, url } = await serve(folder);
const page = await (await browser.newContext({ viewport: DESKTOP })).newPage();
await page.goto(url);
await page.waitForFunction(() => document.querySelectorAll('.program select')[0]?.options.length > 2);

/** Uses the page from inside: what Playwright does for each click would be a part of the memory. */
await page.evaluate(() => {
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  const isIdle = () => /Next:|ended|Stopped|start of/.test(document.querySelector('.status').textContent);
  const settle = async () => {
    await sleep(30);
    for (let waited = 0; !isIdle(); waited += 20) {
      // A program without an end is paused.
      if (waited > 500) bar('Pause');
      await sleep(20);
    }
  };
  const key = (name) => dispatchEvent(new KeyboardEvent('keydown', { key: name }));
  const bar = (name) => [...document.querySelectorAll('.bar button')].find((button) => button.textContent.includes(name))?.click();
  const choose = (which, at) => {
    const select = document.querySelectorAll('.program select')[which];
    const values = [...select.options].map(({ value }) => value).filter((value) => value !== '' && !value.endsWith(':'));
    select.value = values[at % values.length];
    select.dispatchEvent(new Event('change'));
  };
  for (const card of document.querySelectorAll('details.card:not([open]) > summary')) card.click();
  let round = 0;
  let steps = 0;
  globalThis.use = async (ms) => {
    for (const end = performance.now() + ms; performance.now() < end; round++) {
      for (const name of [...Array(20).fill('F10'), ...Array(8).fill('F9'), ...Array(12).fill('F10')]) {
        key(name);
        await settle();
        steps++;
      }
      for (const name of ['Follow the trap', 'Run', 'Restart']) {
        bar(name);
        await settle();
      }
      choose(1, round);
      await sleep(200);
      await settle();
      if (round % 3 === 0) {
        choose(0, round / 3);
        await sleep(500);
        await settle();
      }
    }
    return steps;
  };
});

/** The tab's memory footprint in MB, as Chromium's task manager counts it: anonymous pages, also swapped out ones. */
const cdp = await browser.newBrowserCDPSession();
async function memory() {
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => {
      const status = readFileSync(`/proc/${id}/status`, 'utf8');
      return ['RssAnon', 'VmSwap'].reduce((sum, name) => sum + Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)[1]), 0);
    });
  return (Math.max(...sizes) * 1024) / 1e6;
}

const tab = await page.context().newCDPSession(page);
/** The workers of the page, which have heaps of their own. */
const workers = new Set();
tab.on('Target.attachedToTarget', ({ sessionId }) => workers.add(sessionId));
tab.on('Target.detachedFromTarget', ({ sessionId }) => workers.delete(sessionId));
await tab.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
async function collect() {
  await tab.send('HeapProfiler.collectGarbage');
  const message = JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' });
  for (const sessionId of workers) await tab.send('Target.sendMessageToTarget', { sessionId, message });
  await page.waitForTimeout(500);
}

console.log(`at the start ${(await memory()).toFixed(0)} MB`);
let [most, used, steps] = [0, 0, 0];
for (const end = performance.now() + 1000 * Number(seconds); performance.now() < end; ) {
  steps = await page.evaluate(() => globalThis.use(30_000));
  const before = await memory();
  await collect();
  const after = await memory();
  [most, used] = [Math.max(most, before), Math.max(used, after)];
  console.log(`${steps} steps, ${before.toFixed(0)} MB, in use ${after.toFixed(0)} MB`);
}
console.log(`${steps} steps in ${seconds} s, at most ${most.toFixed(0)} MB, in use at most ${used.toFixed(0)} MB`);
await browser.close();
server.close();
process.exit(used > MOST_MB ? 1 : 0);
