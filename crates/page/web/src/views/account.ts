// The account: where the cycles went, as the sheets that the terminal prints.
import { html, nothing, type TemplateResult } from 'lit-html';
import { unsafeHTML } from 'lit-html/directives/unsafe-html.js';
import type { App } from '../app.ts';
import { copy, download } from '../download.ts';
import { Machine } from '../machine.ts';
import type { CoreChoice, Sheet, SheetRequest, TrapSubject } from '../protocol.ts';
import { MODES, T } from '../texts.ts';
import { openWorker } from '../worker-port.ts';
import { bars } from './bars.ts';

/** A sheet that was asked for: its title, and the sheet or why it could not be made. */
interface Asked {
  title: string;
  sheet?: Sheet;
  fault?: string;
}

/** The sheets on the page, by where they are. */
const shown = new Map<string, Asked[]>();
let epoch = -1;
let works = '';
const chosen = { beside: '', a: { kernel: 'full', core: '' }, b: { kernel: 'caller', core: '' } };

/** The latest sheet of this machine, for a record to share. */
export const latest = (): Sheet | undefined => [...shown.values()].flat().findLast((asked) => asked.sheet !== undefined)?.sheet;

export function draw(app: App): TemplateResult {
  if (epoch !== app.epoch) {
    epoch = app.epoch;
    shown.clear();
  }
  return html`<div class="view account">
    <h2>${T.view.account}</h2>
    <p class="soft">${T.accountIntro}</p>
    ${soFar(app)} ${ledger(app)} ${bill(app)} ${more(app)}
    <p role="status" class="soft">${works === '' ? nothing : T.sheetWorks}</p>
  </div>`;
}

function soFar(app: App): TemplateResult | typeof nothing {
  const { state } = app;
  if (state === undefined || state.core === null) return html`<p class="soft">${T.needsCore}</p>`;
  return html`<section class="card part">
    <h3>${T.accountSoFar}: ${T.after(state.instructions, state.cycles)}</h3>
    <div class="cards">
      <div><h4>${T.accountCause}</h4>${state.causes.length === 0 ? html`<p class="soft">${T.causesNone}</p>` : bars(state.causes.map(({ cause, about, cycles }) => ({ name: cause, about, value: cycles })))}</div>
      <div><h4>${T.accountMode}</h4>${state.modes.length === 0 ? html`<p class="soft">${T.causesNone}</p>` : bars(state.modes.map(({ mode, cycles }) => ({ name: MODES[mode], value: cycles })))}</div>
    </div>
  </section>`;
}

/** Asks for sheets one after the other, and shows each as it comes. */
async function ask(app: App, where: string, wanted: { title: string; from(): Promise<Sheet> }[]): Promise<void> {
  if (works !== '') return;
  works = where;
  const results: Asked[] = [];
  shown.set(where, results);
  app.draw();
  for (const { title, from } of wanted) {
    try {
      results.push({ title, sheet: await from() });
    } catch (error) {
      results.push({ title, fault: error instanceof Error ? error.message : String(error) });
    }
    app.draw();
  }
  works = '';
  app.draw();
}

const sheetOf = (app: App, sheet: SheetRequest): Promise<Sheet> => app.machine.request({ op: 'sheet', sheet });

/** The ledger of the whole program; the machine runs to the end for it, and comes back. */
async function ledgerHere(app: App): Promise<Sheet> {
  const { position } = app.state ?? { position: 0 };
  await app.machine.request({ op: 'run' });
  const sheet = await sheetOf(app, { view: 'ledger' });
  await app.machine.request({ op: 'goTo', position });
  return sheet;
}

/** The ledger of the same program on another core, by a machine of its own. */
async function ledgerOn(app: App, core: CoreChoice): Promise<Sheet> {
  const machine = new Machine(openWorker, { event: () => {}, silent: () => {} });
  try {
    await machine.request({ op: 'load', ...app.current(), core });
    await machine.request({ op: 'run' });
    return await machine.request({ op: 'sheet', sheet: { view: 'ledger' } });
  } finally {
    machine.end(T.restarted);
  }
}

const nameOf = (core: CoreChoice | null | undefined): string => (core == null ? T.noCore : 'name' in core ? core.name : T.ownCore);

function ledger(app: App): TemplateResult {
  const { core } = app.load;
  const make = () =>
    ask(app, 'ledger', [
      { title: nameOf(core), from: () => ledgerHere(app) },
      ...(chosen.beside === '' ? [] : [{ title: T.besideCore(chosen.beside), from: () => ledgerOn(app, { name: chosen.beside }) }]),
    ]);
  return html`<section class="part">
    <h3>${T.ledger}</h3>
    <p class="soft">${T.ledgerText}</p>
    <div class="row">
      <label class="row">${T.beside} ${cores(app, chosen.beside, '–', (name) => (chosen.beside = name))}</label>
      <button class="primary" ?disabled=${!app.canMove || works !== ''} @click=${make}>${T.ledgerMake}</button>
    </div>
    ${sheets(app, 'ledger')}
  </section>`;
}

function cores(app: App, value: string, none: string, choose: (name: string) => void, label?: string): TemplateResult {
  return html`<select aria-label=${label ?? nothing} @change=${(event: Event) => {
    choose((event.target as HTMLSelectElement).value);
    app.draw();
  }}>
    <option value="" .selected=${value === ''}>${none}</option>
    ${app.cores.map(({ name, about }) => html`<option value=${name} title=${about} .selected=${value === name}>${name}</option>`)}
  </select>`;
}

/** The kernel that stands for the entry in the editor. */
const OWN = '';

function subject(app: App, { kernel, core }: { kernel: string; core: string }): TrapSubject {
  const on: CoreChoice | null = core === '' ? (app.load.core ?? null) : { name: core };
  return kernel === OWN ? { files: app.files(), core: on } : { kernel, core: on };
}

function bill(app: App): TemplateResult {
  const isEntry = app.load.program.kind === 'entry';
  const side = (label: string, of: { kernel: string; core: string }) => html`<div class="row">
    <strong>${label}</strong>
    <select aria-label=${`${label}: ${T.billKernel}`} @change=${(event: Event) => (of.kernel = (event.target as HTMLSelectElement).value)}>
      ${isEntry ? html`<option value=${OWN} .selected=${of.kernel === OWN}>${T.billOwn}</option>` : nothing}
      ${app.kernels.map(({ name, about }) => html`<option value=${name} title=${about} .selected=${of.kernel === name}>${name}: ${about}</option>`)}
    </select>
    ${cores(app, of.core, nameOf(app.load.core), (name) => (of.core = name), `${label}: ${T.core}`)}
  </div>`;
  const make = () =>
    ask(app, 'bill', [
      { title: T.bill, from: () => sheetOf(app, { view: 'trap', subjects: [subject(app, chosen.a), subject(app, chosen.b)] }) },
    ]);
  return html`<section class="part">
    <h3>${T.bill}</h3>
    <p class="soft">${T.billText}</p>
    ${side(T.billThis, chosen.a)} ${side(T.billThat, chosen.b)}
    <div class="row"><button ?disabled=${!app.canMove || works !== ''} @click=${make}>${T.billMake}</button></div>
    ${sheets(app, 'bill')}
  </section>`;
}

function more(app: App): TemplateResult {
  const { core } = app.load;
  const requests: Record<keyof typeof T.sheets, SheetRequest> = {
    kernels: { view: 'kernels', ...(core == null ? {} : { core }) },
    icache: { view: 'icache' },
    pipeline: { view: 'pipeline', around: 'trap' },
  };
  return html`<section class="part">
    <h3>${T.otherSheets}</h3>
    <div class="row">
      ${(['kernels', 'icache', 'pipeline'] as const).map((name) => html`<button ?disabled=${!app.canMove || works !== ''} @click=${() =>
        ask(app, 'more', [{ title: T.sheets[name], from: () => sheetOf(app, requests[name]) }])}>${T.sheets[name]}</button>`)}
    </div>
    ${sheets(app, 'more')}
  </section>`;
}

/** The record of a sheet as a file. */
export async function saveRecord(app: App, sheet: Sheet): Promise<void> {
  try {
    const record = await app.machine.request({ op: 'record', sheet: sheet.sheet });
    download(record.name, record.text, 'application/json');
  } catch (error) {
    app.notify('error', error instanceof Error ? error.message : String(error));
  }
}

function sheets(app: App, where: string): TemplateResult | typeof nothing {
  const all = shown.get(where) ?? [];
  if (all.length === 0) return nothing;
  return html`<div class=${all.length > 1 ? 'beside' : ''}>
    ${all.map(({ title, sheet, fault }) => html`<section class="result">
      <h4>${title}</h4>
      ${sheet === undefined
        ? html`<p class="bad" role="alert">${fault}</p>`
        : html`<div class="sheet" role="region" tabindex="0" aria-label=${title}>${unsafeHTML(sheet.html)}</div>
          <details><summary>${T.asText}</summary><pre tabindex="0" class="scroll">${sheet.text}</pre></details>
          <div class="row small">
            <button @click=${() => saveRecord(app, sheet)}>${T.sheetRecord}</button>
            <button @click=${() => copy(app, sheet.markdown)}>${T.sheetCopy}</button>
          </div>
          <p class="soft small">${T.sheetCommand} <code>${sheet.command}</code></p>`}
    </section>`)}
  </div>`;
}
