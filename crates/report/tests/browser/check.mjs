// Checks pages of the report in a real browser: node check.mjs PAGE NAME,... [PAGE NAME,... ...]
// For each page and each of its checks ('all' for every one) a line, with what is wrong below it; exit status 1 when
// something is.
import { pathToFileURL } from 'node:url';
import { DESKTOP, PATIENCE_MS, PHONE, axe, launch } from './launch.mjs';

const jobs = process.argv.slice(2);
/** Where the page is that is being checked. */
let url = '';

/** Says what is wrong; a check may have several faults and shows the first few. */
class Faults {
  all = [];
  is(good, what) {
    if (!good) this.all.push(what);
  }
}

/** Opens the page with the network off; everything that it asks for or complains of is a fault. */
async function open(browser, faults, settings = {}) {
  const context = await browser.newContext({ viewport: DESKTOP, colorScheme: 'light', ...settings });
  context.setDefaultTimeout(PATIENCE_MS);
  await context.setOffline(true);
  const page = await context.newPage();
  context.on('request', (request) => {
    if (request.url() !== url) faults.is(/^(data|blob):/.test(request.url()), `asks for ${request.url().slice(0, 80)}`);
  });
  page.on('console', (message) => {
    faults.is(!['error', 'warning'].includes(message.type()), `console: ${message.text().slice(0, 200)}`);
  });
  page.on('pageerror', (error) => faults.is(false, `script: ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.is(false, 'a dialog opened');
    dialog.dismiss();
  });
  await page.goto(url);
  return page;
}

/** What the page has, seen from inside: each figure, its pictures' boxes and its marks. */
const figures = () =>
  [...document.querySelectorAll('figure.chart')].map((figure) => {
    const box = (element) => {
      const { width, height } = element.getBoundingClientRect();
      return { width, height };
    };
    const seen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const picture = figure.querySelector('.picture');
    const marks = [...figure.querySelectorAll('.picture .m')];
    const ground = getComputedStyle(document.body).backgroundColor;
    const fault = (mark) => {
      const { width, height } = box(mark);
      if (!seen(mark)) return 'is not visible';
      // A part of a bill may be thinner than a pixel; its words and its row in the table are there all the same.
      if (width <= 0 || height <= 0) return `has a box of ${width} x ${height}`;
      const drawn = [...mark.querySelectorAll('use, rect, path, circle, line')];
      const has_ink = drawn.some((part) => {
        const style = getComputedStyle(part);
        return [style.fill, style.stroke].some((ink) => ink !== 'none' && ink !== ground && ink !== 'rgba(0, 0, 0, 0)');
      });
      return has_ink ? '' : 'has the color of the ground';
    };
    const words = (mark) => mark.getAttribute('aria-label') || mark.querySelector('title')?.textContent || '';
    return {
      name: figure.closest('section')?.id + ': ' + (figure.querySelector('h3')?.textContent ?? 'no title'),
      pictures: [...picture.querySelectorAll('svg')].filter((svg) => svg.querySelector('.m')).map(box),
      marks: marks.length,
      faults: marks.map(fault).filter(Boolean),
      wordless: marks.filter((mark) => !words(mark).trim()).length,
      rows: figure.querySelectorAll('details table tbody tr').length,
      notes: figure.querySelectorAll('.notes li').length,
    };
  });

async function drawn(faults, page) {
  const all = await page.evaluate(figures);
  faults.is(all.length > 0, 'there is no figure');
  for (const { name, pictures, marks, faults: wrong, wordless, rows, notes } of all) {
    faults.is(marks > 0 || notes > 0, `${name}: no mark, and no note that says why`);
    faults.is(pictures.every((box) => box.width > 40 && box.height > 8), `${name}: a picture without size`);
    faults.is(wrong.length === 0, `${name}: ${wrong.length} of ${marks} marks; the first ${wrong[0]}`);
    faults.is(wordless === 0, `${name}: ${wordless} marks say nothing`);
    faults.is(rows > 0, `${name}: no table behind it`);
  }
}

/**
 * The marks of rows on one axis, held against the numbers beside them. Where a number belongs is worked out only from the
 * names of the axis' ticks and their places on the screen.
 */
const places = () => {
  const unit = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
  const faults = [];
  let seen = 0;
  for (const table of document.querySelectorAll('#ladder table.decades')) {
    const ticks = [...table.querySelectorAll('thead .tick')].filter((tick) => tick.getClientRects().length).map((tick) => {
      const { left, right } = tick.getBoundingClientRect();
      const [number, name] = tick.textContent.split(' ');
      const anchor = tick.getAttribute('text-anchor');
      const at = anchor === 'start' ? left : anchor === 'end' ? right : (left + right) / 2;
      return { at, log: Math.log10(parseFloat(number.replace(/,/g, '')) * unit[name]) };
    });
    if (ticks.length < 2) continue;
    const [first, last] = [ticks[0], ticks[ticks.length - 1]];
    const decade = (last.at - first.at) / (last.log - first.log);
    const place = (number) => first.at + (Math.log10(number) - first.log) * decade;
    for (const { at, log } of ticks) {
      if (Math.abs(place(10 ** log) - at) > 1.5) faults.push(`a tick is ${(at - place(10 ** log)).toFixed(1)} pixels off the axis`);
    }
    const ns = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim()).indexOf('ns');
    for (const row of table.querySelectorAll('tr[data-name]')) {
      const marks = [...row.querySelectorAll('.track .m use')].map((use) => {
        const { left, right } = use.getBoundingClientRect();
        return (left + right) / 2;
      });
      // Of many runs it is the range of their figures.
      const { textContent: text = '', dataset = {} } = row.cells[ns] ?? {};
      const parts = text.includes(' – ') ? text.split(' – ') : [dataset.v ?? text];
      const numbers = parts.map((part) => {
        const shown = part.replace(/,/g, '').trim();
        const letter = { k: 1e3, M: 1e6, G: 1e9 }[shown.slice(-1)] ?? 1;
        const digits = letter === 1 ? shown : shown.slice(0, -1);
        // Half of the last digit is all that the table leaves open.
        return { number: Number(digits) * letter, open: (0.5 * letter) / 10 ** (digits.split('.')[1]?.length ?? 0) };
      });
      for (const [i, { number, open }] of numbers.entries()) {
        if (!(number > open)) {
          if (marks.length > 0) faults.push(`${row.dataset.name} has a mark and the figure '${text}'`);
          continue;
        }
        const at = numbers.length > 1 ? (i ? Math.max(...marks) : Math.min(...marks)) : marks[0];
        if (marks.length === 0) { faults.push(`${row.dataset.name} has no mark for its ${number} ns`); continue; }
        seen += 1;
        const far = Math.max(place(number - open) - at, at - place(number + open));
        if (far > 1) faults.push(`the mark of ${row.dataset.name} is ${far.toFixed(1)} pixels off ${number} ns`);
      }
    }
  }
  if (seen === 0) faults.push('there is no mark on a named axis');
  return faults;
};

/** Marks of one track that lie over each other, and areas of one that cannot be told apart. */
const hidden = () => {
  const faults = [];
  for (const track of document.querySelectorAll('.decades .track')) {
    const boxes = [...track.querySelectorAll('.m use')].map((use) => use.getBoundingClientRect());
    boxes.forEach((a, i) => {
      const b = boxes[i + 1];
      if (b && a.bottom > b.top + 0.5 && Math.abs(a.left - b.left) < a.width) {
        faults.push(`two marks of ${track.closest('[data-name]').dataset.name} lie over each other`);
      }
    });
  }
  return faults;
};

/** The tooltip as a person sees it. */
const tip = (page) =>
  page.evaluate(() => {
    const tip = document.getElementById('tip');
    if (!tip) return { text: '', shown: false };
    const { x, width } = tip.getBoundingClientRect();
    return { box: { x, width }, text: tip.textContent, shown: tip.checkVisibility({ visibilityProperty: true }) };
  });

const checks = {
  /** Opens without the network and without a complaint, and every chart is drawn. */
  async opens(browser, faults) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await open(browser, faults, { colorScheme });
      await drawn(faults, page);
      await page.context().close();
    }
  },

  /** Each mark of the ladder is where its number in the table belongs, on a screen and on a phone. */
  async places(browser, faults) {
    for (const viewport of [DESKTOP, PHONE]) {
      const page = await open(browser, faults, { viewport });
      for (const fault of await page.evaluate(places)) faults.is(false, `${viewport.width} wide: ${fault}`);
      await page.context().close();
    }
  },

  /** However many runs are overlaid, no mark of a row hides another. */
  async apart(browser, faults) {
    for (const viewport of [DESKTOP, PHONE]) {
      const page = await open(browser, faults, { viewport });
      for (const fault of await page.evaluate(hidden)) faults.is(false, `${viewport.width} wide: ${fault}`);
      await page.context().close();
    }
  },

  /** Strings of the record stay strings: one script, and no element that could ask for something. */
  async inert(browser, faults) {
    const page = await open(browser, faults);
    const found = await page.evaluate(() => ({
      scripts: document.scripts.length,
      strange: [...document.querySelectorAll('img, iframe, object, embed, link:not([rel=icon]), base, form, video, audio, meta[http-equiv=refresh], foreignObject, image, animate, set')].map((e) => e.outerHTML.slice(0, 80)),
      handlers: [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name))).length,
      links: [...document.querySelectorAll('[href]')].map((e) => e.getAttribute('href')).filter((href) => !/^(#|https:|data:,$)/.test(href)),
      pwned: 'pwned' in window,
    }));
    faults.is(found.scripts <= 1, `${found.scripts} scripts`);
    faults.is(found.strange.length === 0, `strange elements: ${found.strange.join(' ')}`);
    faults.is(found.handlers === 0, `${found.handlers} attributes that are scripts`);
    faults.is(found.links.length === 0, `links to ${found.links.join(' ')}`);
    faults.is(!found.pwned, 'a string of the record ran as a script');
    await page.context().close();
  },

  /** Each picture shows the words of a mark to the pointer. */
  async hover(browser, faults) {
    const page = await open(browser, faults);
    for (const picture of await page.locator('.picture:has(.m)').all()) {
      await picture.locator('.m').first().scrollIntoViewIfNeeded();
      // A point that belongs to a mark, as a person would find one: a mark may be a curve, or lie below another.
      const point = await picture.evaluate((element) => {
        for (const mark of element.querySelectorAll('.m')) {
          for (const part of mark.querySelectorAll('use, rect, path')) {
            const { left, top, width, height } = part.getBoundingClientRect();
            const [x, y] = [left + width / 2, top + height / 2];
            if (document.elementFromPoint(x, y)?.closest('.m') !== mark) continue;
            const words = mark.getAttribute('aria-label') || mark.querySelector('title')?.textContent;
            return { x, y, words: words?.trim() };
          }
        }
        return null;
      });
      const name = await picture.evaluate((element) => element.closest('section[id]').id);
      faults.is(point, `${name}: no mark of a picture can be pointed at`);
      if (!point) continue;
      await page.mouse.move(point.x, point.y);
      const { box, text, shown } = await tip(page);
      faults.is(shown && text && text === point.words, `${name}: the pointer on '${point.words}' shows '${text}'`);
      faults.is(shown && box.x >= 0 && box.x + box.width <= DESKTOP.width, `${name}: the tooltip '${text}' is cut off`);
    }
    await page.mouse.move(2, 2);
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.mouse.move(1, 1);
    faults.is(!(await tip(page)).shown, 'the tooltip stays when the pointer has left');
    await page.context().close();
  },

  /** Every control is reached with the tab key alone, is seen to be, and the marks with the arrows. */
  async keyboard(browser, faults) {
    const page = await open(browser, faults);
    const wanted = await page.evaluate(() => {
      const controls = 'a[href], button, input, summary, [tabindex="0"]';
      const all = [...document.querySelectorAll(controls)].filter((e) => e.checkVisibility({ contentVisibilityAuto: true }));
      all.forEach((element, i) => (element.dataset.stop = i));
      return all.map((element) => element.textContent.trim().slice(0, 40) || element.outerHTML.slice(0, 60));
    });
    const reached = new Map();
    const pictures = await page.locator('.picture:has(.m)').count();
    let stops = 0;
    for (let i = 0; i < wanted.length + 20; i++) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const active = document.activeElement;
        const style = getComputedStyle(active);
        const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
        // A mark has no ring; its own outline changes.
        const look = () =>
          [...active.querySelectorAll('use, rect, path')].map((part) => getComputedStyle(part).stroke + getComputedStyle(part).strokeWidth).join();
        const mark = active.matches('.m');
        const focused = mark ? look() : '';
        if (mark) active.blur();
        const plain = mark ? look() : '';
        if (mark) active.focus();
        return {
          stop: active.dataset?.stop, mark, ring: mark ? focused !== plain : ring,
          name: active.getAttribute('aria-label') ?? active.textContent.trim().slice(0, 40),
        };
      });
      if (at.stop === undefined) continue;
      if (reached.has(at.stop)) break;
      reached.set(at.stop, at.name);
      faults.is(at.ring, `nothing shows that '${at.name}' has the focus`);
      if (!at.mark) continue;
      stops += 1;
      const first = await tip(page);
      faults.is(first.shown && first.text === at.name, `the focus on '${at.name}' shows '${first.text}'`);
      await page.keyboard.press('End');
      const last = await tip(page);
      const marks = await page.evaluate(() => document.activeElement.closest('.picture').querySelectorAll('.m').length);
      faults.is(marks === 1 || (last.shown && last.text !== ''), `End shows no tooltip in the picture of '${at.name}'`);
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowRight');
      const second = await page.evaluate(() => {
        const all = [...document.activeElement.closest('.picture').querySelectorAll('.m')].filter((m) => m.getClientRects().length);
        return { at: all.indexOf(document.activeElement), of: all.length };
      });
      faults.is(second.at === Math.min(1, second.of - 1), `the arrow goes to mark ${second.at} of ${second.of} from the first`);
      await page.keyboard.press('Escape');
      faults.is(!(await tip(page)).shown, `Escape does not close the tooltip of '${at.name}'`);
      await page.keyboard.press('Home');
    }
    const missed = wanted.filter((_, i) => !reached.has(String(i)));
    faults.is(missed.length === 0, `the tab key does not reach ${missed.length} of ${wanted.length}: ${missed.slice(0, 3).join(', ')}`);
    faults.is(stops === pictures, `${stops} of ${pictures} pictures have a stop of the tab key`);
    await page.context().close();
  },

  /** The filter leaves the rows that match, and says how many. */
  async filter(browser, faults) {
    const page = await open(browser, faults);
    const field = page.locator('input[type=search]');
    if ((await field.count()) === 0) {
      const rows = await page.locator('[data-name]').count();
      faults.is(rows <= 6, `${rows} rows and no filter`);
      await page.context().close();
      return;
    }
    faults.is((await field.getAttribute('aria-label')) || (await page.locator('label:has(input[type=search])').count()), 'the filter has no label');
    const names = await page.evaluate(() => [...document.querySelectorAll('[data-name]')].map((row) => row.dataset.name.toLowerCase()));
    const word = names[names.length - 1].split(/[\s/]+/).filter(Boolean)[0] ?? names[0];
    const hits = names.filter((name) => name.includes(word)).length;
    await field.focus();
    await page.keyboard.type(word);
    const left = await page.evaluate(() => [...document.querySelectorAll('[data-name]')].filter((row) => getComputedStyle(row).display !== 'none').length);
    faults.is(left === hits, `'${word}' leaves ${left} rows and should leave ${hits}`);
    const status = page.locator('[role=status]');
    faults.is((await status.textContent()).includes(String(hits)), `the status says '${await status.textContent()}' and not ${hits}`);
    await field.fill('no row is called so');
    faults.is((await page.evaluate(() => [...document.querySelectorAll('[data-name]')].filter((row) => getComputedStyle(row).display !== 'none').length)) === 0, 'a word that no row has leaves rows');
    faults.is(/^(0|no)\b/i.test((await status.textContent()).trim()), 'the status does not say that nothing is left');
    await field.fill('');
    await drawn(faults, page);
    await page.context().close();
  },

  /** axe-core finds nothing: light and dark, desktop and phone, tables folded and open. */
  async axe(browser, faults) {
    const source = axe();
    for (const colorScheme of ['light', 'dark']) {
      for (const viewport of [DESKTOP, PHONE]) {
        const page = await open(browser, faults, { colorScheme, viewport });
        await page.evaluate((dark) => document.querySelectorAll('details').forEach((d) => (d.open = dark)), colorScheme === 'dark');
        await page.evaluate(source);
        const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
        for (const { id, help, nodes } of violations) {
          faults.is(false, `${colorScheme} ${viewport.width}: ${id} (${help}), ${nodes.length} times: ${nodes[0].html.slice(0, 120)} ${(nodes[0].any[0] ?? nodes[0].all[0] ?? nodes[0].none[0])?.message ?? ''}`);
        }
        await page.context().close();
      }
    }
  },

  /** A phone never scrolls sideways, with everything folded or open, and shows the tooltip within its width. */
  async phone(browser, faults) {
    const page = await open(browser, faults, { viewport: PHONE, hasTouch: true, isMobile: true });
    for (const fold of [false, true]) {
      await page.evaluate((fold) => document.querySelectorAll('details').forEach((d) => (d.open = fold)), fold);
      const wide = await page.evaluate(() => {
        const most = document.documentElement.clientWidth;
        const scrolls = (e) => e && (getComputedStyle(e).overflowX !== 'visible' || scrolls(e.parentElement));
        const over = [...document.querySelectorAll('body *')].find((e) => {
          const { right, width } = e.getBoundingClientRect();
          return width > 0 && right > most + 1 && !scrolls(e);
        });
        return { wide: document.documentElement.scrollWidth, most, over: over?.outerHTML.slice(0, 100) };
      });
      faults.is(wide.wide <= wide.most, `${wide.wide} pixels wide on ${wide.most} with everything ${fold ? 'open' : 'folded'}: ${wide.over}`);
    }
    await page.evaluate(() => document.querySelectorAll('details').forEach((d) => (d.open = false)));
    await drawn(faults, page);
    for (const picture of await page.locator('.picture:has(.m)').all()) {
      const mark = picture.locator('.m').last();
      await mark.evaluate((element) => element.focus());
      const { box, text, shown } = await tip(page);
      faults.is(shown && box.x >= 0 && box.x + box.width <= PHONE.width, `the tooltip '${text}' is cut off`);
    }
    await page.context().close();
  },

  /** Paper shows everything: figures, and the tables that are folded on a screen. */
  async print(browser, faults) {
    for (const javaScriptEnabled of [true, false]) {
      const page = await open(browser, faults, { javaScriptEnabled });
      await page.emulateMedia({ media: 'print' });
      await drawn(faults, page);
      const hidden = await page.evaluate(() =>
        [...document.querySelectorAll('figure, figure table, details')].flatMap((element) => {
          const inner = element.matches('details') ? element.querySelector(':scope > :not(summary)') : element;
          const { height } = inner?.getBoundingClientRect() ?? {};
          return height > 0 && inner.checkVisibility({ contentVisibilityAuto: true }) ? [] : [inner?.outerHTML.slice(0, 80)];
        }),
      );
      faults.is(hidden.length === 0, `${hidden.length} things are not printed${javaScriptEnabled ? '' : ' without scripts'}: ${hidden[0]}`);
      const pdf = await page.pdf({ format: 'A4' });
      faults.is(pdf.length > 10_000, 'the printed page is empty');
      await page.context().close();
    }
  },

  /** Without scripts the marks and the tables are there. */
  async scriptless(browser, faults) {
    const page = await open(browser, faults, { javaScriptEnabled: false });
    await drawn(faults, page);
    for (const details of await page.locator('details').all()) {
      await details.locator('> summary').click();
      const inner = details.locator('> :not(summary)').first();
      faults.is(await inner.isVisible(), `a folded part does not open: ${await details.locator('> summary').textContent()}`);
    }
    await page.context().close();
  },
};

const browser = await launch();
let failed = 0;
for (let job = 0; job + 1 < jobs.length; job += 2) {
  url = pathToFileURL(jobs[job]).href;
  const names = jobs[job + 1] === 'all' ? Object.keys(checks) : jobs[job + 1].split(',');
  console.log(`page ${jobs[job]}`);
  for (const name of names) {
    const faults = new Faults();
    try {
      await checks[name](browser, faults);
    } catch (error) {
      faults.is(false, error.message.split('\n')[0]);
    }
    const { all } = faults;
    failed += all.length > 0;
    console.log(all.length === 0 ? `ok ${name}` : `not ok ${name}`);
    for (const fault of all.slice(0, 12)) console.log(`    ${fault}`);
    if (all.length > 12) console.log(`    and ${all.length - 12} more`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
