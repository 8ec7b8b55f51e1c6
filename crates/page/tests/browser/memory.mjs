// Memory of the page while it is used: node memory.mjs FOLDER SECONDS, where FOLDER is what `cargo xtask page` writes.
// Steps forwards and back, runs, follows traps, changes cores and programs. Prints the memory of the tab (page and worker are one
// process) every half minute before and after a garbage collection, and the most of both; exit status 1 when what is in use is over
// 200 MB. The rest is garbage that the browser collects when it sees fit.
import { readFileSync } from 'node:fs';
import { DESKTOP, launch } from '../../../report/tests/browser/launch.mjs';
import { serve } from './serve.mjs';

const MOST_MB = 200;
const [folder, seconds] = process.argv.slice(2);
const browser = await launch();
const { server, url } = await serve(folder);
const page = await (await browser.newContext({ viewport: DESKTOP })).newPage();
await page.goto(url);

const idle = () => page.waitForFunction(() => /Next:|ended|Stopped|start of/.test(document.querySelector('.status').textContent), undefined, { timeout: 120_000 });
const bar = (name) => page.locator('.bar').getByRole('button', { name }).first().click();
const chooser = (name) => page.getByRole('combobox', { name, exact: true });
await idle();
await page.waitForFunction(() => document.querySelectorAll('.program select')[0].options.length > 2);
for (const card of await page.locator('details.card').all()) {
  if (!(await card.evaluate((element) => element.open))) await card.locator('summary').click();
}
const values = async (name) => (await chooser(name).locator('option').evaluateAll((all) => all.map(({ value }) => value))).filter(Boolean);
const [programs, cores] = [await values('Start from'), await values('Core')];

/** The tab's memory footprint in MB, as Chromium's task manager counts it: anonymous pages, also swapped out ones. */
const cdp = await browser.newBrowserCDPSession();
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

const end = performance.now() + 1000 * Number(seconds);
console.log(`at the start ${(await memory()).toFixed(0)} MB`);
let [most, used, steps, round, reported] = [0, 0, 0, 0, -Infinity];
while (performance.now() < end) {
  for (const key of [...Array(20).fill('F10'), ...Array(8).fill('F9'), ...Array(12).fill('F10')]) {
    await page.keyboard.press(key);
    await idle();
    steps++;
  }
  // A program without another trap, or without an end, is paused.
  for (const name of ['Follow the trap', 'Run']) {
    await bar(name);
    await page.waitForTimeout(500);
    const pause = page.locator('.bar').getByRole('button', { name: 'Pause' });
    if (await pause.isVisible()) await pause.click({ timeout: 1000 }).catch(() => {});
    await idle();
  }
  await page.keyboard.press('F9');
  await idle();
  round++;
  await bar('Restart');
  await chooser('Core').selectOption(cores[round % cores.length]);
  await page.waitForTimeout(200);
  await idle();
  if (round % 3 === 0) {
    await chooser('Start from').selectOption(programs[(round / 3) % programs.length]);
    await page.waitForTimeout(500);
    await idle();
  }
  const now = await memory();
  most = Math.max(most, now);
  if (performance.now() - reported >= 30_000) {
    reported = performance.now();
    await collect();
    const after = await memory();
    used = Math.max(used, after);
    console.log(`${steps} steps, ${now.toFixed(0)} MB, in use ${after.toFixed(0)} MB`);
  }
}
console.log(`${steps} steps in ${seconds} s, at most ${most.toFixed(0)} MB, in use at most ${used.toFixed(0)} MB`);
await browser.close();
server.close();
process.exit(used > MOST_MB ? 1 : 0);
