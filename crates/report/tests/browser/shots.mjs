// Pictures of reports: node shots.mjs LADDER-PAGE FULL-PAGE FOLDER
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DESKTOP, PHONE, launch } from './launch.mjs';

/** Each picture: the screen, light or dark; the top of the first page, or of a section's figure on the second. */
const SHOTS = [
  { name: 'report', viewport: { width: 1280, height: 1000 }, colorScheme: 'light' },
  { name: 'report-dark', viewport: { width: 1280, height: 1000 }, colorScheme: 'dark' },
  { name: 'report-phone', viewport: PHONE, colorScheme: 'light' },
  { name: 'report-phone-dark', viewport: PHONE, colorScheme: 'dark' },
  { name: 'report-pipeline', viewport: DESKTOP, colorScheme: 'light', section: 'pipeline' },
  { name: 'report-icache', viewport: DESKTOP, colorScheme: 'light', section: 'icache', figure: -1 },
];

const [ladder, full, folder] = process.argv.slice(2);
const browser = await launch();
for (const { name, section, figure, ...settings } of SHOTS) {
  const context = await browser.newContext(settings);
  await context.setOffline(true);
  const page = await context.newPage();
  await page.goto(pathToFileURL(section ? full : ladder).href);
  const path = join(folder, `${name}.png`);
  if (section) {
    const all = page.locator(`#${section} figure`);
    await (figure === -1 ? all.last() : all.first()).screenshot({ path });
  } else {
    await page.screenshot({ path });
  }
  console.log(path);
  await context.close();
}
await browser.close();
