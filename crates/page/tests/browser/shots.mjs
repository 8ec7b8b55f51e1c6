// Pictures of the page of the lab: node shots.mjs FOLDER DOCS VIEWS [NAME,...], where FOLDER is what `cargo xtask page` writes.
// DOCS receives the pictures of the documentation, VIEWS every view: light, dark, and on a phone in both.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DESKTOP, PHONE, launch } from '../../../report/tests/browser/launch.mjs';
import { serve } from './serve.mjs';

/** Small enough for pictures of at most 150 kB. */
const SMALL = { width: 960, height: 540 };

const press = (page, name) => page.getByRole('button', { name, exact: true }).first().click();
const view = (page, name) => page.locator('.tabs').getByRole('button', { name, exact: true }).click();
const idle = (page) => page.waitForFunction(() => /Next:|ended|Stopped/.test(document.querySelector('.status').textContent));
const follow = async (page, steps) => {
  await page.locator('.bar').getByRole('button', { name: 'Follow the trap' }).click();
  await page.locator('#walk').waitFor();
  for (let step = 0; step < steps; step++) await press(page, 'Next');
};
const step = async (page, steps) => {
  for (let count = 0; count < steps; count++) {
    await page.keyboard.press('F10');
    await page.waitForTimeout(50);
  }
  await idle(page);
};
const cards = async (page, names) => {
  for (const card of await page.locator('details.card').all()) {
    const id = await card.getAttribute('id');
    if ((await card.evaluate((element) => element.open)) !== names.includes(id.replace('card-', ''))) await card.locator('summary').click();
  }
};
const choose = async (page, title, isPhone) => {
  if (isPhone) await view(page, 'Write');
  const chooser = page.getByRole('combobox', { name: 'Start from' });
  await page.waitForFunction(() => document.querySelectorAll('.program select')[0].options.length > 2);
  await page.waitForTimeout(300);
  const all = await chooser.locator('option').evaluateAll((options) => options.map(({ value, textContent }) => [value, textContent]));
  await chooser.selectOption(all.find(([, name]) => title.test(name))[0]);
  await page.waitForTimeout(500);
  await idle(page);
  if (isPhone) await view(page, 'Watch');
};

/** Each view, and what leads to it. */
const VIEWS = {
  begin: () => {},
  write: async (page, isPhone) => isPhone && (await view(page, 'Write')),
  errors: async (page, isPhone) => {
    if (isPhone) await view(page, 'Write');
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.insertText('start:\n adi a0, a0, 1\n');
    await page.locator('.problems').waitFor();
  },
  core: async (page, isPhone) => {
    if (isPhone) await view(page, 'Write');
    await press(page, 'Edit');
    await page.locator('#core-editor').waitFor();
    await page.waitForTimeout(800);
  },
  'walk-before': (page) => follow(page, 0),
  'walk-hardware': (page) => follow(page, 3),
  'walk-handler': (page) => follow(page, 9),
  'walk-after': async (page) => {
    await follow(page, 0);
    await page.locator('.walk ol button').last().click();
  },
  pipeline: async (page) => {
    await press(page, 'Hide this');
    await step(page, 24);
  },
  registers: async (page) => {
    await press(page, 'Hide this');
    await cards(page, ['registers', 'csrs']);
    await follow(page, 0);
    await press(page, 'End the walk');
    await step(page, 2);
  },
  memory: async (page, isPhone) => {
    await choose(page, /page fault/i, isPhone);
    await press(page, 'Hide this');
    await cards(page, ['memory', 'pages', 'listing']);
    await follow(page, 0);
    await press(page, 'End the walk');
  },
  caches: async (page) => {
    await press(page, 'Hide this');
    await cards(page, ['caches', 'causes', 'traps', 'breakpoints', 'console']);
    await follow(page, 0);
    await press(page, 'End the walk');
  },
  account: async (page) => {
    await page.keyboard.press('F8');
    await page.getByText('has ended').first().waitFor();
    await view(page, 'Account');
    await page.getByRole('combobox', { name: 'Beside' }).selectOption('cva6');
    await press(page, 'Make the ledger');
    await page.locator('.sheet').nth(1).waitFor();
  },
  bill: async (page) => {
    await view(page, 'Account');
    await press(page, 'Make the bill');
    await page.locator('.sheet').first().waitFor();
    await page.locator('.sheet').first().scrollIntoViewIfNeeded();
  },
  exercises: (page) => view(page, 'Exercises'),
  exercise: async (page) => {
    await view(page, 'Exercises');
    await page.locator('.exercises button').first().click();
    await page.locator('.exercise .prose').first().waitFor();
    await press(page, 'Put the starter into the editor');
    await page.waitForTimeout(800);
    await press(page, 'Check');
    await page.locator('.checks li').first().waitFor();
  },
  share: async (page) => {
    await view(page, 'Share');
    await page.waitForFunction(() => document.querySelector('#link')?.value.includes('#1'));
  },
  help: (page) => page.getByRole('button', { name: 'Keys and help' }).click(),
};

const SCREENS = {
  light: { viewport: DESKTOP, colorScheme: 'light' },
  dark: { viewport: DESKTOP, colorScheme: 'dark' },
  phone: { viewport: PHONE, colorScheme: 'light', hasTouch: true },
  'phone-dark': { viewport: PHONE, colorScheme: 'dark', hasTouch: true },
};

/** The pictures of the documentation. */
const DOCS = [
  ['lab', 'walk-handler', { ...SCREENS.light, viewport: SMALL }],
  ['lab-phone', 'walk-handler', SCREENS.phone],
];

const [folder, docs, views, only] = process.argv.slice(2);
mkdirSync(views, { recursive: true });
const every = Object.entries(SCREENS).flatMap(([screen, settings]) => Object.keys(VIEWS).map((name) => [join(views, `${name}-${screen}`), name, settings]));
const all = [...DOCS.map(([file, ...rest]) => [join(docs, file), ...rest]), ...every];
const browser = await launch();
const { server, url } = await serve(folder);
for (const [file, name, settings] of all) {
  if (only !== undefined && !only.split(',').some((word) => file.includes(word))) continue;
  const context = await browser.newContext(settings);
  const page = await context.newPage();
  await page.goto(url);
  await page.getByText('Next:').waitFor();
  await page.waitForTimeout(300);
  await VIEWS[name](page, settings.viewport === PHONE);
  await page.waitForTimeout(300);
  // The address of the server differs each time.
  await page.evaluate(() => {
    for (const text of document.querySelectorAll('textarea')) text.value = text.value.replace(/127\.0\.0\.1:\d+/g, 'example.org');
  });
  await page.screenshot({ path: `${file}.png` });
  console.log(`${file}.png`);
  await context.close();
}
await browser.close();
server.close();
