// Pictures of the page of the lab: node shots.mjs FOLDER OUT, where FOLDER is what `cargo xtask page` writes.
import { join } from 'node:path';
import { PHONE, launch } from '../../../report/tests/browser/launch.mjs';
import { serve } from './serve.mjs';

/** Small enough for pictures of at most 150 kB. */
const DESKTOP = { width: 1120, height: 640 };

const press = (page, name) => page.getByRole('button', { name, exact: true }).first().click();
const view = (page, name) => page.locator('.tabs').getByRole('button', { name, exact: true }).click();
const follow = async (page, steps) => {
  await page.locator('.bar').getByRole('button', { name: 'Follow the trap' }).click();
  await page.locator('#walk').waitFor();
  for (let step = 0; step < steps; step++) await press(page, 'Next');
};

/** Each picture: the screen, light or dark, and what is done before. */
const SHOTS = [
  { name: 'lab', viewport: DESKTOP, act: (page) => follow(page, 9) },
  { name: 'lab-dark', viewport: DESKTOP, colorScheme: 'dark', act: (page) => follow(page, 3) },
  { name: 'lab-phone', viewport: PHONE, act: (page) => follow(page, 9) },
  {
    name: 'lab-watch',
    viewport: DESKTOP,
    act: async (page) => {
      await press(page, 'Hide this');
      for (let step = 0; step < 24; step++) {
        await page.keyboard.press('F10');
        await page.waitForTimeout(50);
      }
    },
  },
  {
    name: 'lab-account',
    viewport: DESKTOP,
    act: async (page) => {
      await page.keyboard.press('F8');
      await page.getByText('has ended').waitFor();
      await view(page, 'Account');
      await press(page, 'Make the ledger');
      await page.locator('.sheet').waitFor();
    },
  },
  { name: 'lab-exercises', viewport: DESKTOP, act: (page) => view(page, 'Exercises') },
  {
    name: 'lab-share',
    viewport: DESKTOP,
    act: async (page) => {
      await view(page, 'Share');
      await page.waitForFunction(() => document.querySelector('#link')?.value.includes('#1'));
    },
  },
];

const [folder, out] = process.argv.slice(2);
const browser = await launch();
const { server, url } = await serve(folder);
for (const { name, act, ...settings } of SHOTS) {
  const context = await browser.newContext({ colorScheme: 'light', ...settings });
  const page = await context.newPage();
  await page.goto(url);
  await page.getByText('Next:').waitFor();
  await page.waitForTimeout(500);
  await act(page);
  await page.waitForTimeout(500);
  const path = join(out, `${name}.png`);
  // The address of the server differs each time.
  await page.evaluate(() => {
    for (const text of document.querySelectorAll('textarea')) text.value = text.value.replace(/127\.0\.0\.1:\d+/g, 'example.org');
  });
  await page.screenshot({ path });
  console.log(path);
  await context.close();
}
await browser.close();
server.close();
