// Checks the built page in a real browser as a person uses it: node lab.mjs FOLDER [CHECK,...]
// FOLDER is what `cargo xtask page` writes. A line for each check, with what is wrong below it; exit status 1 when something is.
// TOLLGATE_XV6 may name a folder with xv6's `kernel` and `fs.img`: then it is booted, too.
import { readFileSync, writeFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { deflateSync, inflateSync } from 'node:zlib';
import { DESKTOP, PHONE, axe, launch } from '../../../report/tests/browser/launch.mjs';
import { serve } from './serve.mjs';

const [folder, only] = process.argv.slice(2);

/** Says what is wrong; a check may have several faults and shows the first few. */
class Faults {
  all = [];
  is(good, what) {
    if (!good) this.all.push(what);
  }
}

/** Opens the page; a request to elsewhere, a complaint of the browser or an error of a script is a fault. */
async function open(browser, faults, url, { script, expects, ...settings } = {}) {
  const context = await browser.newContext({ viewport: DESKTOP, colorScheme: 'light', ...settings });
  if (script !== undefined) await context.addInitScript(script);
  const page = await context.newPage();
  const origin = new URL(url).origin;
  context.on('request', (request) => {
    const asked = request.url();
    faults.is(asked.startsWith(origin) || /^(?:data|blob|file):/.test(asked), `asks for ${asked.slice(0, 80)}`);
  });
  page.on('console', (message) => {
    const text = message.text();
    faults.is(!['error', 'warning'].includes(message.type()) || expects?.test(text), `console: ${text.slice(0, 200)}`);
  });
  page.on('pageerror', (error) => faults.is(expects?.test(error.message) ?? false, `script: ${error.message}`));
  await page.goto(url);
  await ready(page);
  return page;
}

/** Waits until the machine is idle with a program. */
const ready = (page) => page.waitForFunction(() => /Next:|ended|Stopped/.test(document.querySelector('.status')?.textContent ?? ''));
const status = (page) => page.locator('.status').innerText();
const button = (page, name) => page.getByRole('button', { name, exact: true });
const view = async (page, name) => {
  await page.locator('.tabs').getByRole('button', { name, exact: true }).click();
  await page.getByRole('heading', { name, exact: true, level: 2 }).waitFor({ state: 'attached' });
};
const bar = (page, name) => page.locator('.bar').getByRole('button', { name });
/** How many instructions the status names. */
const counted = async (page) => Number(/([\d,]+) instructions?/.exec(await status(page))?.[1]?.replaceAll(',', ''));
/** Presses a key, and waits until the machine is idle behind it. */
async function press(page, key) {
  const before = await status(page);
  await page.keyboard.press(key);
  await page.waitForFunction((before) => document.querySelector('.status')?.innerText !== before, before, { timeout: 5_000 }).catch(() => {});
  await ready(page);
}

/** Writes a program in place of the one in the editor. */
async function write(page, text) {
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text);
}

const open_cards = async (page) => {
  for (const card of await page.locator('details.card').all()) {
    if (!(await card.evaluate((element) => element.open))) await card.locator('summary').click();
  }
};

/** Drops files on the page. */
async function drop(page, paths) {
  const files = paths.map((path) => ({ name: basename(path), base64: readFileSync(path).toString('base64') }));
  const transfer = await page.evaluateHandle((files) => {
    const all = new DataTransfer();
    for (const { name, base64 } of files) all.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
    return all;
  }, files);
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
}

const CHECKS = {
  /** From the first sight to an explained trap, with nothing but two buttons. */
  async trap(browser, faults, url) {
    const page = await open(browser, faults, url);
    await bar(page, 'Follow the trap').click();
    await page.locator('#walk').waitFor();
    const next = button(page, 'Next');
    const titles = [];
    const lines = [];
    for (let step = 0; step < 60; step++) {
      const title = await page.locator('.walk .now h4').innerText();
      const text = await page.locator('.walk .now').innerText();
      titles.push(title);
      lines.push(await page.locator('.cm-next').innerText());
      faults.is(text.length > title.length + 30, `'${title}' explains nothing`);
      if (await next.isDisabled()) break;
      await next.click();
      await page.getByText(`Step ${step + 2} of`).waitFor();
    }
    const groups = (await page.locator('.walk .group').allInnerTexts()).map((text) => text.split('\n')[0]);
    faults.is(groups.join() === 'The hardware,The handler: your software,The return', `groups: ${groups}`);
    const hardware = titles.findIndex((title) => /jump to the handler/i.test(title));
    faults.is(hardware === 7, `the hardware has ${hardware} steps instead of 7`);
    const at = (title) => lines[titles.findIndex((each) => each.toLowerCase().includes(title))];
    faults.is(/^\s*ecall/.test(lines[0] ?? ''), `the editor marks ${lines[0]} at the trap`);
    faults.is(/addi +sp/.test(at('register save') ?? ''), `the editor marks ${at('register save')} at the save`);
    faults.is(/^\s*add +s1/.test(lines.at(-1) ?? ''), `the editor marks ${lines.at(-1)} behind the trap`);
    faults.is(titles.at(-1) === 'Afterwards', `the walk ends with ${titles.at(-1)}`);
    for (const phase of ['save', 'dispatch', 'restore', 'return']) {
      faults.is(titles.some((title) => title.toLowerCase().includes(phase)), `no phase '${phase}' in ${titles}`);
    }
  },

  /** Steps forwards and back come to the same place, and the pipeline grows. */
  async steps(browser, faults, url) {
    const page = await open(browser, faults, url);
    faults.is((await counted(page)) === 0, 'it does not begin at 0');
    const seen = [await status(page)];
    for (let step = 1; step <= 12; step++) {
      await press(page, 'F10');
      seen.push(await status(page));
      faults.is((await counted(page)) === step, `after step ${step}: ${seen.at(-1)}`);
    }
    const rows = await page.locator('.pipeline tbody tr').count();
    faults.is(rows >= 12, `the pipeline has ${rows} rows after 12 steps`);
    faults.is((await page.locator('#card-registers .changed').count()) > 0, 'no register is marked as changed');
    for (let step = 11; step >= 0; step--) {
      await press(page, 'F9');
      faults.is((await status(page)).includes(seen[step].split('Next:')[1].trim()), `back at ${step}: ${await status(page)}, not ${seen[step]}`);
    }
    await press(page, 'F9');
    faults.is(/start of the program/.test(await status(page)), `back at the start: ${await status(page)}`);
  },

  /** A breakpoint by the keyboard stops a run at its line; Run continues. */
  async breakpoints(browser, faults, url) {
    const page = await open(browser, faults, url);
    await write(page, '_start: li a0, 1\n li a1, 2\n add a2, a0, a1\n li a7, 93\n li a0, 0\n ecall\n');
    await page.waitForTimeout(800);
    await ready(page);
    await page.keyboard.press('Control+Home');
    for (let line = 1; line < 3; line++) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('F7');
    await page.locator('.breakpoint:visible').first().waitFor();
    await press(page, 'Control+Enter');
    await page.waitForFunction(() => /breakpoint/i.test(document.querySelector('.status').textContent));
    faults.is(/add a2, ?a0, ?a1/.test(await status(page)), `stopped at: ${await status(page)}`);
    await press(page, 'F8');
    await page.waitForFunction(() => /ended with status 0/.test(document.querySelector('.status').textContent));
    await page.locator('#card-breakpoints summary').click();
    await page.locator('#card-breakpoints select').selectOption('csr');
    await page.getByLabel('Which one').fill('mepc');
    await page.locator('#card-breakpoints').getByRole('button', { name: 'Add' }).click();
    faults.is(/CSR mepc/.test(await page.locator('#card-breakpoints').innerText()), 'the CSR is not listed');
  },

  /** An error is shown in place and in words, and goes when it is corrected. */
  async errors(browser, faults, url) {
    const page = await open(browser, faults, url);
    await write(page, '_start:\n adi a0, a0, 1\n ecall\n');
    await page.locator('.problems').waitFor();
    faults.is(/Line 2: .*addi/.test(await page.locator('.problems').innerText()), await page.locator('.problems').innerText());
    faults.is((await page.locator('.cm-lintRange-error').innerText()) === 'adi', 'the word is not marked');
    faults.is(await bar(page, 'Run').isDisabled(), 'a program with errors can be run');
    await page.locator('.problems button').click();
    await page.keyboard.press('Control+ArrowRight');
    await write(page, '_start:\n addi a0, a0, 1\n ecall\n');
    await page.locator('.problems').waitFor({ state: 'detached' });
    await ready(page);
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' csr');
    await page.keyboard.press('Control+Space');
    await page.locator('.cm-tooltip-autocomplete').waitFor();
    faults.is(/csrrw/.test(await page.locator('.cm-tooltip-autocomplete').innerText()), 'csrrw is not offered');
  },

  /** Every bundled core, and an own one, times the program. */
  async cores(browser, faults, url) {
    const page = await open(browser, faults, url);
    const chooser = page.getByRole('combobox', { name: 'Core', exact: true });
    await page.waitForFunction(() => document.querySelectorAll('.program select')[1].options.length > 4);
    const names = (await chooser.locator('option').evaluateAll((all) => all.map((each) => each.value))).filter(Boolean);
    for (const name of names) {
      await chooser.selectOption(name);
      await page.waitForFunction((name) => document.querySelector('#card-pipeline .soft')?.textContent === name, name);
      await ready(page);
      for (let step = 0; step < 3; step++) await press(page, 'F10');
      faults.is(/[\d,]+ cycles?/.test(await status(page)), `${name}: ${await status(page)}`);
    }
    await chooser.selectOption('rocket');
    await page.locator('.program').getByRole('button', { name: 'Edit' }).click();
    const text = page.getByLabel('Description of the core, TOML');
    const toml = await text.inputValue();
    faults.is(toml.length > 100, 'the core has no text');
    await text.fill(`${toml}\nnonsense = 3\n`);
    await page.locator('#core-check.bad').waitFor();
    await text.fill(toml);
    await page.locator('#core-check.soft').waitFor();
    await button(page, 'Use this core').click();
    await page.locator('#core-editor').waitFor({ state: 'hidden' });
    await ready(page);
    faults.is((await chooser.inputValue()) === 'toml:', 'its own core is not chosen');
  },

  /** Everything in the gallery loads and runs, and every card shows it. */
  async gallery(browser, faults, url) {
    const page = await open(browser, faults, url);
    const chooser = page.getByRole('combobox', { name: 'Start from' });
    await page.waitForFunction(() => document.querySelectorAll('.program select')[0].options.length > 2);
    await open_cards(page);
    const entries = (await chooser.locator('option').evaluateAll((all) => all.map((each) => [each.value, each.textContent]))).filter(([id]) => id);
    faults.is(entries.length >= 6, `only ${entries.length} entries`);
    for (const [id, title] of entries) {
      await chooser.selectOption(id);
      await page.waitForTimeout(150);
      await ready(page).catch(() => faults.is(false, `${title} does not load`));
      for (let step = 0; step < 3; step++) await press(page, 'F10');
      faults.is((await counted(page)) > 0, `${title}: ${await status(page)}`);
      faults.is((await page.locator('.views .bad[role=alert]').count()) === 0, `${title}: an error is shown`);
    }
  },

  /** Sheets, a second core beside the first, and the record. */
  async account(browser, faults, url) {
    const page = await open(browser, faults, url);
    await press(page, 'F10');
    await view(page, 'Account');
    await page.getByRole('combobox', { name: 'Beside' }).selectOption('cva6');
    await button(page, 'Make the ledger').click();
    await page.locator('.result').nth(1).waitFor();
    await page.waitForFunction(() => document.querySelectorAll('.result .sheet').length === 2, undefined, { timeout: 60_000 });
    faults.is(/\d/.test(await page.locator('.result .sheet').nth(1).innerText()), 'the ledger has no figures');
    faults.is((await counted(page)) === 1, `the machine is elsewhere after the ledger: ${await status(page)}`);
    const [file] = await Promise.all([page.waitForEvent('download'), page.locator('.result').first().getByRole('button', { name: 'Download the record' }).click()]);
    const record = readFileSync(await file.path(), 'utf8');
    faults.is(/^\{"?.*tollgate/s.test(record.trim()), `the record begins with ${record.slice(0, 60)}`);
    const others = ['All kernels against each other', 'The C extension and the instruction cache', 'The pipeline around a trap of this program'];
    for (const [name, title] of [['Make the bill', 'The bill of a trap'], ...others.map((name) => [name, name])]) {
      await button(page, name).click();
      const result = page.locator('.result').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
      await result.locator('.sheet, .bad').waitFor({ timeout: 120_000 }).catch(() => faults.is(false, `${name}: no sheet`));
      const bad = await page.locator('.result .bad').allInnerTexts();
      faults.is(bad.length === 0, `${name}: ${bad}`);
    }
  },

  /** Each exercise opens, its starter loads, and its checks say what is missing. */
  async exercises(browser, faults, url) {
    const page = await open(browser, faults, url);
    await page.waitForTimeout(500);
    await view(page, 'Exercises');
    await page.getByLabel('Your name or number').fill('Ada');
    await page.keyboard.press('Tab');
    const all = await page.locator('.exercises button').count();
    faults.is(all >= 6, `only ${all} exercises`);
    for (let at = 0; at < all; at++) {
      const title = await page.locator('.exercises strong').nth(at).innerText();
      await page.locator('.exercises button').nth(at).click();
      await page.locator('.exercise .prose').first().waitFor();
      await button(page, 'Put the starter into the editor').click();
      await ready(page).catch(() => faults.is(false, `${title}: the starter does not load`));
      await button(page, 'Check').click();
      await page.locator('.checks li').first().waitFor({ timeout: 60_000 });
      faults.is(/points/.test(await page.locator('.exercise').innerText()), `${title}: no points`);
      faults.is((await page.locator('.checks li:not(.pass)').count()) > 0, `${title}: the starter passes`);
      await button(page, 'Show hint 1 of').first().click().catch(() => {});
      await page.getByRole('button', { name: 'All exercises' }).click();
    }
  },

  /** A link opens the same program at the same place, with its breakpoints. */
  async share(browser, faults, url) {
    const page = await open(browser, faults, url);
    await write(page, '_start: li a0, 7\n li a1, 8\n add a2, a0, a1\nend: j end\n');
    await page.waitForTimeout(800);
    await ready(page);
    await press(page, 'F10');
    await press(page, 'F10');
    await view(page, 'Share');
    await page.waitForFunction(() => document.querySelector('#link')?.value.includes('#1'));
    const link = await page.locator('#link').inputValue();
    const frame = await page.locator('#frame').inputValue();
    faults.is(frame.includes(link) && frame.startsWith('<iframe'), frame.slice(0, 60));
    const other = await open(browser, faults, link);
    faults.is(/li a1, 8/.test(await other.locator('.cm-content').innerText()), 'the link has another program');
    await other.waitForFunction(() => /2 instructions/.test(document.querySelector('.status').textContent)).catch(() => faults.is(false, 'the link is at another place'));
    // A place that cannot be reached: the run to it can be paused.
    const shared = JSON.parse(inflateSync(Buffer.from(link.split('#1')[1], 'base64url')).toString());
    const far = await other.context().newPage();
    await far.goto(`${url}#1${deflateSync(JSON.stringify({ ...shared, at: 1e12 })).toString('base64url')}`);
    await bar(far, 'Pause').click({ timeout: 10_000 });
    await far.waitForFunction(() => /Paused/.test(document.querySelector('.status').textContent));
    await far.close();
    // What is typed replaces the link, so that a reload does not lose it.
    await write(other, '_start: li a0, 9\nend: j end\n');
    await other.waitForTimeout(800);
    await other.reload();
    await ready(other);
    faults.is(/li a0, 9/.test(await other.locator('.cm-content').innerText()), 'a reload lost what was typed');
  },

  /** Damaged and enormous links: the page says so and works. */
  async links(browser, faults, url) {
    const long = `1${'A'.repeat(1_100_000)}`;
    const large = `1${deflateSync(Buffer.alloc(8 << 20, 'a')).toString('base64url')}`;
    for (const [fragment, words] of [['1abcdef', /damaged/], ['9abc', /another version/], [long, /too long/], [large, /more than 4 MB/]]) {
      const page = await open(browser, faults, `${url}#${fragment}`);
      faults.is(words.test(await page.locator('.notice').first().innerText()), `no notice for ${fragment.slice(0, 10)}`);
      await press(page, 'F10');
      faults.is((await counted(page)) === 1, 'the page does not step');
      await page.context().close();
    }
  },

  /** An endless loop can be stopped, and ten megabytes of source do not stop the page. */
  async load(browser, faults, url) {
    const page = await open(browser, faults, url);
    await write(page, '_start: addi a0, a0, 1\n j _start\n');
    await page.waitForTimeout(800);
    await ready(page);
    await bar(page, 'Run').click();
    await page.waitForFunction(() => /Running: [\d,]{5,}/.test(document.querySelector('.status').textContent));
    await view(page, 'Share');
    await bar(page, 'Pause').click();
    await page.waitForFunction(() => /Paused/.test(document.querySelector('.status').textContent), undefined, { timeout: 5_000 });
    await view(page, 'Watch');
    const line = ' addi a0, a0, 1 # a long line of a very long source\n';
    const file = join(mkdtempSync(join(tmpdir(), 'lab-')), 'long.s');
    writeFileSync(file, `_start:\n${line.repeat(Math.ceil((10 << 20) / line.length))}`);
    await page.locator('#open-files').setInputFiles(file);
    await page.waitForTimeout(1_000);
    await view(page, 'Share');
    await page.waitForFunction(() => /too large|characters/.test(document.querySelector('.views').innerText), undefined, { timeout: 60_000 });
    await page.waitForFunction(() => !/Assembling/.test(document.querySelector('.status').textContent), undefined, { timeout: 120_000 });
    faults.is((await page.locator('.notice').allInnerTexts()).some((text) => /too large/.test(text)), 'nothing says that the text is not kept');
  },

  /** xv6 comes to its prompt and answers. */
  async xv6(browser, faults, url) {
    const from = process.env.TOLLGATE_XV6;
    if (from === undefined) return 'TOLLGATE_XV6 names no folder with kernel and fs.img';
    const page = await open(browser, faults, url);
    await drop(page, ['kernel', 'fs.img'].map((name) => join(from, name)));
    await page.getByText('kernel is loaded').waitFor();
    const began = performance.now();
    await bar(page, 'Run').click();
    const ends = (last) => page.waitForFunction((last) => new RegExp(last).test(document.querySelector('.console')?.textContent ?? ''), last, { timeout: 60_000 });
    await ends('\\$ $');
    console.log(`xv6 is at its prompt after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    await page.getByLabel('Type to the program').fill('echo a b');
    await page.keyboard.press('Enter');
    await ends('\na b\n\\$ $');
    const text = await page.locator('.console').innerText();
    faults.is(text.split('init: starting sh').length === 2, `the console repeats itself: ${text}`);
    return undefined;
  },

  /** A dropped source is the program. */
  async drops(browser, faults, url) {
    const page = await open(browser, faults, url);
    const file = join(mkdtempSync(join(tmpdir(), 'lab-')), 'mine.s');
    writeFileSync(file, '_start: li a0, 31\nend: j end\n');
    await drop(page, [file]);
    await page.waitForFunction(() => document.querySelector('.cm-content').textContent.includes('li a0, 31'));
    await ready(page);
    await press(page, 'F10');
    faults.is((await counted(page)) === 1, 'it does not step');
  },

  /** A file that is not a program: a sentence, and the program stays. */
  async files(browser, faults, url) {
    const page = await open(browser, faults, url);
    const text = await page.locator('.cm-content').innerText();
    const folder = mkdtempSync(join(tmpdir(), 'lab-'));
    writeFileSync(join(folder, 'photo.jpg'), 'not a program');
    writeFileSync(join(folder, 'bad.elf'), Buffer.concat([Buffer.from('\x7fELF'), Buffer.alloc(60, 0xff)]));
    await page.locator('#open-files').setInputFiles(join(folder, 'photo.jpg'));
    await page.locator('.notice.error').waitFor();
    faults.is((await page.locator('.cm-content').innerText()) === text, 'the program is gone');
    await page.locator('#open-files').setInputFiles(join(folder, 'bad.elf'));
    await page.locator('.program [role=alert]').waitFor();
    faults.is((await page.locator('.program [role=alert]').innerText()).length > 20, 'a bad ELF file has no sentence');
    const chooser = page.getByRole('combobox', { name: 'Start from' });
    await page.waitForFunction(() => document.querySelectorAll('.program select')[0].options.length > 2);
    await chooser.selectOption({ index: 1 });
    await ready(page);
  },

  /** Sources that ask for too much, and an ELF file that claims to: a sentence each, and the next program runs. */
  async greedy(browser, faults, url) {
    const page = await open(browser, faults, url);
    const refused = async (what) => {
      await page.waitForFunction(() => /errors|cannot|too|more|at most|not /.test(document.querySelector('.status').textContent), undefined, { timeout: 20_000 }).catch(() => {});
      const said = await page.locator('.problems, .program [role=alert]').allInnerTexts();
      faults.is(said.join().length > 15, `${what}: ${await status(page)}`);
    };
    for (const line of ['.rept 1000000000\n nop\n .endr', '.zero 0x7fffffffffff', '.macro m\n m\n .endm\n m', '.balign 1 << 40', '.equ a, b\n .equ b, a\n li a0, a', `li a0, ${'('.repeat(100_000)}1`]) {
      await write(page, `_start:\n ${line}\n`);
      await page.waitForTimeout(600);
      await refused(line.slice(0, 20));
    }
    const elf = Buffer.alloc(120);
    // An ELF file of RISC-V, 64 bits, with one segment of 2^60 bytes.
    Buffer.from('7f454c4602010100', 'hex').copy(elf);
    elf.writeUInt16LE(2, 16), elf.writeUInt16LE(243, 18), elf.writeUInt32LE(1, 20);
    elf.writeBigUInt64LE(0x80000000n, 24), elf.writeBigUInt64LE(64n, 32);
    elf.writeUInt16LE(64, 52), elf.writeUInt16LE(56, 54), elf.writeUInt16LE(1, 56);
    elf.writeUInt32LE(1, 64), elf.writeUInt32LE(5, 68);
    elf.writeBigUInt64LE(0x80000000n, 80), elf.writeBigUInt64LE(0x80000000n, 88), elf.writeBigUInt64LE(1n << 60n, 104);
    const file = join(mkdtempSync(join(tmpdir(), 'lab-')), 'large.elf');
    writeFileSync(file, elf);
    await page.locator('#open-files').setInputFiles(file);
    await page.waitForTimeout(600);
    await refused('an ELF file of 2^60 bytes');
    const chooser = page.getByRole('combobox', { name: 'Start from' });
    await chooser.selectOption({ index: 2 });
    await ready(page);
    await press(page, 'F10');
    faults.is((await counted(page)) === 1, 'the next program does not step');
  },

  /** A run goes on in a tab in the background, and the page shows where it is when it comes back. */
  async background(browser, faults, url) {
    const page = await open(browser, faults, url);
    await write(page, '_start: addi a0, a0, 1\n j _start\n');
    await page.waitForTimeout(800);
    await ready(page);
    await bar(page, 'Run').click();
    await page.waitForFunction(() => /Running: [\d,]{5,}/.test(document.querySelector('.status').textContent));
    const show = (hidden) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { configurable: true, value: hidden });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await show(true);
    const before = await counted(page);
    await page.waitForTimeout(1_500);
    await show(false);
    await page.waitForFunction((before) => Number(/([\d,]+) instr/.exec(document.querySelector('.status').textContent)?.[1].replaceAll(',', '')) > before, before);
    await bar(page, 'Pause').click();
    await page.waitForFunction(() => /Paused/.test(document.querySelector('.status').textContent));
  },

  /** A worker that dies: the text stays, and the machine starts again on request. */
  async death(browser, faults, url) {
    const script = () => {
      const Real = Worker;
      globalThis.Worker = class extends Real {
        constructor(...all) {
          super(...all);
          globalThis.lastWorker = this;
        }
      };
    };
    const page = await open(browser, faults, url, { script });
    await write(page, '_start: li a0, 77\nend: j end\n');
    await page.waitForTimeout(800);
    await ready(page);
    await page.evaluate(() => {
      globalThis.lastWorker.terminate();
      globalThis.lastWorker.dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }));
    });
    await page.locator('.notice.error').waitFor();
    faults.is(/out of memory/.test(await page.locator('.notice').innerText()), await page.locator('.notice').innerText());
    faults.is(/li a0, 77/.test(await page.locator('.cm-content').innerText()), 'the text is gone');
    await button(page, 'Start it again').click();
    await ready(page);
    await press(page, 'F10');
    faults.is((await counted(page)) === 1, 'the new machine does not step');
  },

  /** Without storage, as in some frames, everything else works and the page says what is missing. */
  async storage(browser, faults, url) {
    const script = () => {
      Object.defineProperty(globalThis, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } });
    };
    const page = await open(browser, faults, url, { script });
    await write(page, '_start: li a0, 5\nend: j end\n');
    await page.locator('.notice').first().waitFor();
    faults.is(/does not let the page keep/.test(await page.locator('.notice').first().innerText()), 'no notice');
    await ready(page);
    await press(page, 'F10');
    faults.is((await counted(page)) === 1, 'it does not step');
  },

  /** What was typed is there after a reload. */
  async reload(browser, faults, url) {
    const page = await open(browser, faults, url);
    await write(page, '_start: li a0, 123\nend: j end\n');
    await page.reload();
    await ready(page);
    faults.is(/li a0, 123/.test(await page.locator('.cm-content').innerText()), 'the text is gone');
  },

  /** No finding of axe-core and nothing wider than the screen, on every view in both themes and widths. */
  async axe(browser, faults, url) {
    for (const [width, viewport] of [['desktop', DESKTOP], ['phone', PHONE]]) {
      for (const colorScheme of ['light', 'dark']) {
        const page = await open(browser, faults, url, { viewport, colorScheme, reducedMotion: 'reduce' });
        const look = async (name) => {
          await page.waitForTimeout(200);
          await page.evaluate(axe());
          const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
          for (const { id, nodes } of violations) {
            faults.is(false, `${name}, ${width}, ${colorScheme}: ${id}: ${nodes[0].html.slice(0, 120)} ${nodes[0].any[0]?.message ?? ''}`);
          }
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          faults.is(wide <= 0, `${name}, ${width}: ${wide} pixels too wide`);
        };
        await look('begin');
        if (width === 'phone') {
          await page.locator('.tabs').getByRole('button', { name: 'Write' }).click();
          await look('write');
          await view(page, 'Watch');
        }
        await bar(page, 'Follow the trap').click();
        await page.locator('#walk').waitFor();
        for (let step = 0; step < 9; step++) await button(page, 'Next').click();
        await look('walk');
        await button(page, 'End the walk').click();
        await open_cards(page);
        await look('watch');
        await view(page, 'Account');
        await button(page, 'Make the ledger').click();
        await page.locator('.sheet').first().waitFor({ timeout: 60_000 });
        await look('account');
        await view(page, 'Exercises');
        await look('exercises');
        await page.locator('.exercises button').first().click();
        await page.locator('.exercise .prose').first().waitFor();
        await button(page, 'Check').click();
        await page.locator('.checks li').first().waitFor({ timeout: 60_000 });
        await look('exercise');
        await view(page, 'Share');
        await page.waitForFunction(() => document.querySelector('#link')?.value.includes('#1'));
        await look('share');
        await page.getByRole('button', { name: 'Keys and help' }).click();
        await look('help');
        await page.context().close();
      }
    }
  },

  /** The page as one file, opened from a disk. */
  async file(browser, faults) {
    const page = await open(browser, faults, pathToFileURL(join(folder, 'tollgate-lab.html')).href);
    await bar(page, 'Follow the trap').click();
    await page.locator('#walk').waitFor();
    await view(page, 'Exercises');
    await view(page, 'Account');
  },
};

const browser = await launch();
const { server, url } = await serve(folder);
let failed = false;
for (const [name, check] of Object.entries(CHECKS)) {
  if (only !== undefined && !only.split(',').includes(name)) continue;
  const faults = new Faults();
  let skipped;
  try {
    skipped = await check(browser, faults, url);
  } catch (error) {
    faults.is(false, error.message.split('\n').slice(0, 3).join(' ').slice(0, 300));
  }
  for (const context of browser.contexts()) await context.close();
  failed ||= faults.all.length > 0;
  console.log(faults.all.length > 0 ? `FAULT ${name}` : skipped === undefined ? `good  ${name}` : `skip  ${name}: ${skipped}`);
  for (const fault of faults.all.slice(0, 12)) console.log(`  ${fault}`);
}
await browser.close();
server.close();
process.exit(failed ? 1 : 0);
