// How long a page takes from its request until it is interactive: node load.mjs PAGE
// Prints milliseconds, the median of several loads, on a desktop and on a phone at a quarter of the speed.
import { pathToFileURL } from 'node:url';
import { DESKTOP, PHONE, launch } from './launch.mjs';

const LOADS = 7;
const url = pathToFileURL(process.argv[2]).href;
const browser = await launch();
for (const [name, viewport, slower] of [['desktop', DESKTOP, 1], ['phone', PHONE, 4]]) {
  const times = [];
  for (let i = 0; i < LOADS; i++) {
    const context = await browser.newContext({ viewport });
    await context.setOffline(true);
    // Interactive: the script has run, a frame is drawn, and the main thread is free again.
    await context.addInitScript(() => {
      addEventListener('DOMContentLoaded', () => requestAnimationFrame(() => setTimeout(() => (window.interactive = performance.now()))));
    });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: slower });
    await page.goto(url);
    await page.waitForFunction(() => window.interactive);
    times.push(await page.evaluate(() => window.interactive));
    await context.close();
  }
  times.sort((a, b) => a - b);
  console.log(`${name} ${times[LOADS >> 1].toFixed(1)}`);
}
await browser.close();
