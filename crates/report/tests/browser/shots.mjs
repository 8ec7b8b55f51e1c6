// Pictures of a report's page: node shots.mjs PAGE FOLDER
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DESKTOP, PHONE, launch } from './launch.mjs';

/** Each picture: the screen, light or dark, and the section whose first figure is shown; without one the page's top. */
const SHOTS = [
  { name: 'report', viewport: DESKTOP, colorScheme: 'light' },
  { name: 'report-dark', viewport: DESKTOP, colorScheme: 'dark' },
  { name: 'report-phone', viewport: PHONE, colorScheme: 'light' },
  { name: 'report-phone-dark', viewport: PHONE, colorScheme: 'dark' },
  { name: 'report-pipeline', viewport: DESKTOP, colorScheme: 'light', section: 'pipeline' },
  { name: 'report-icache', viewport: DESKTOP, colorScheme: 'light', section: 'icache', figure: -1 },
];

const [page_path, folder] = process.argv.slice(2);
const browser = await launch();
for (const { name, section, figure, ...settings } of SHOTS) {
  const context = await browser.newContext(settings);
  await context.setOffline(true);
  const page = await context.newPage();
  await page.goto(pathToFileURL(page_path).href);
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
