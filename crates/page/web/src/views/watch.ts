// The machine: what it does, what it holds, and what it waited for.
import { html, nothing, type TemplateResult } from 'lit-html';
import { ref } from 'lit-html/directives/ref.js';
import { CARDS, type App, type Card } from '../app.ts';
import type { Breakpoint, CacheState, Csr, TlbState, WalkLevel } from '../protocol.ts';
import { keep } from '../storage.ts';
import { MODES, T, count } from '../texts.ts';
import { bars } from './bars.ts';
import { listing } from './listing.ts';
import { pipeline } from './pipeline.ts';
import { walk } from './walk.ts';

export function watch(app: App): TemplateResult {
  return html`<div class="view">
    <h2 class="unseen">${T.view.watch}</h2>
    ${app.walk === undefined ? hint(app) : walk(app, app.walk)}
    <div class="cards ${app.isStale ? 'stale' : ''}" ?inert=${app.isStale}>${order(app).map((name) => card(app, name))}</div>
  </div>`;
}

/** The cards: the console of a kernel that boots comes first, and a program without a source is listed on the left. */
function order(app: App): Card[] {
  const cards = CARDS.filter((name) => name !== 'listing' || app.isEditable);
  return app.load.program.kind === 'boot' ? ['console', ...cards.filter((name) => name !== 'console')] : cards;
}

/** What to do next: the first time how to begin, later the trap that was just taken. */
function hint(app: App): TemplateResult | typeof nothing {
  const taken = app.trapTaken;
  if (taken !== undefined) {
    return html`<div class="welcome row">
      <span class="grow">${T.trapTaken(taken.cause, MODES[taken.to])}</span>
      <button class="primary" @click=${() => app.explain(taken.index)}>${T.explain}</button>
    </div>`;
  }
  if (app.welcomed || !app.isEditable) return nothing;
  const hide = () => {
    app.welcomed = true;
    keep('welcomed', true);
    app.draw();
  };
  return html`<section class="welcome" aria-labelledby="welcome-title">
    <h3 id="welcome-title">${T.welcomeTitle}</h3>
    <ol>${T.welcome.map((line) => html`<li>${line}</li>`)}</ol>
    <div class="row">
      <button class="primary" ?disabled=${!app.canMove} @click=${() => app.follow()}>${T.follow}</button>
      <button class="plain" @click=${hide}>${T.welcomeClose}</button>
    </div>
  </section>`;
}

function card(app: App, name: Card): TemplateResult {
  const isOpen = app.open.has(name);
  const toggled = (event: Event) => app.toggleCard(name, (event.target as HTMLDetailsElement).open);
  return html`<details class="card ${isOpen ? 'wide' : ''}" id="card-${name}" .open=${isOpen} @toggle=${toggled}>
    <summary><h3>${T.card[name]}</h3> <span class="soft">${note(app, name)}</span></summary>
    ${isOpen ? html`<div class="body">${body(app, name)}</div>` : nothing}
  </details>`;
}

/** A figure beside the title, so that a closed card says something, too. */
function note(app: App, name: Card): string {
  const { state } = app;
  if (state === undefined) return '';
  switch (name) {
    case 'pipeline': return state.core ?? '';
    case 'causes': return state.cpi === null ? '' : T.cpi(state.cpi);
    case 'traps': return count(state.traps);
    case 'console': return state.console === '' ? '' : T.lines(state.console.trimEnd().split('\n').length);
    case 'breakpoints': return count(app.allBreakpoints().length);
    default: return '';
  }
}

function body(app: App, name: Card): TemplateResult {
  const { state, details } = app;
  if (name === 'breakpoints') return breakpoints(app);
  if (state === undefined) return html`<p class="soft">${app.errors.length > 0 ? T.hasErrors : app.phase === 'starting' ? T.starting : T.notLoaded}</p>`;
  switch (name) {
    case 'pipeline':
      if (state.core === null) return html`<p class="soft">${T.needsCore}</p>`;
      return details.pipeline === undefined ? html`<p class="soft">${T.pipelineEmpty}</p>` : pipeline(details.pipeline);
    case 'registers': return registers(app);
    case 'csrs': return csrs(app);
    case 'listing': return listing(app);
    case 'memory': return memory(app);
    case 'pages': return pages(app);
    case 'caches': return caches(app);
    case 'causes': return causes(app);
    case 'traps': return traps(app);
    case 'console': return console_(app);
  }
}

// ------------------------------------------------------------------------------------------------------------- registers

/** A value without its leading zeros. */
const short = (value: string): string => value.replace(/^0x0+(?=[\da-f])/i, '0x');

function registers(app: App): TemplateResult {
  const { state } = app;
  if (state === undefined) return html``;
  const row = (name: string, title: string, value: string, changed: boolean, place: string) => html`<div title=${title}>
    <dt>${name}</dt>
    <dd>
      ${place === '' ? nothing : html`<span class="soft place">${place}</span> `}<span class=${changed ? 'changed' : value === '0x0' ? 'zeros' : ''}>${value}${changed ? html`<span class="unseen"> ${T.changedHint}</span>` : nothing}</span>
    </dd>
  </div>`;
  const floats = state.f.filter(({ value }) => !/^0x0*$/.test(value));
  return html`
    <dl class="registers">
      ${row('pc', '', short(state.pc), false, state.place)}
      ${state.x.map(({ name, number, value, changed, place }) => row(name, number, short(value), changed, place))}
    </dl>
    ${floats.length === 0
      ? nothing
      : html`<h4>${T.floats}</h4><dl class="registers">${floats.map(({ name, value, number, changed }) => row(name, value, number, changed, ''))}</dl>`}
  `;
}

/** The CSRs that a trap reads or writes, by the end of their names. */
const OF_A_TRAP = /^(?:[ms](?:status|cause|epc|tval|tvec|scratch)|m(?:ie|ip|edeleg|ideleg)|satp)$/;

function csrs(app: App): TemplateResult {
  const shown = (app.state?.csrs ?? []).filter(
    (csr) => app.csrFilter === 'all' || (app.csrFilter === 'changed' ? csr.changed : OF_A_TRAP.test(csr.name)),
  );
  return html`
    <div class="row small" role="group" aria-label=${T.csrFilter}>
      ${(['trap', 'changed', 'all'] as const).map((filter) => html`<button aria-pressed=${String(app.csrFilter === filter)} @click=${() => {
        app.csrFilter = filter;
        app.draw();
      }}>${T.csrFilters[filter]}</button>`)}
    </div>
    ${shown.length === 0 ? html`<p class="soft">${T.csrNone}</p>` : html`<div class="csrs">${shown.map(csr)}</div>`}
  `;
}

function csr({ name, value, changed, about, fields }: Csr): TemplateResult {
  return html`<div class="csr">
    <div class="row"><code>${name}</code> <span class="mono ${changed ? 'changed' : ''}">${short(value)}${changed ? html`<span class="unseen"> ${T.changedHint}</span>` : nothing}</span> <span class="soft small">${about}</span></div>
    ${fields.length === 0
      ? nothing
      : html`<ul class="fields">
          ${fields.map((field) => html`<li class="${/^0x0*$/.test(field.value) ? '' : 'on'} ${field.changed ? 'changed' : ''}" title=${`${T.fieldBits(field.name, field.bits)}. ${field.about}`}>
            <b>${field.name}</b> ${short(field.value)}${field.meaning === '' ? nothing : html` <span class="soft">${field.meaning}</span>`}
          </li>`)}
        </ul>`}
  </div>`;
}

// ---------------------------------------------------------------------------------------------------------------- memory

/** The values of a form that was sent. */
function entered(event: Event): FormData {
  event.preventDefault();
  return new FormData(event.target as HTMLFormElement);
}

function memory(app: App): TemplateResult {
  const ask = (event: Event) => {
    const form = entered(event);
    app.memoryAddress = String(form.get('address') ?? '');
    app.memoryPhysical = form.get('physical') !== null;
    void app.again();
  };
  const shown = app.details.memory;
  return html`
    <form class="row" @submit=${ask}>
      <label class="row">${T.memoryAddress} <input name="address" size="14" .value=${app.memoryAddress} placeholder=${T.memoryAddressHint}></label>
      <label><input type="checkbox" name="physical" .checked=${app.memoryPhysical}> ${T.memorySpace}</label>
      <button>${T.show}</button>
    </form>
    ${shown === undefined ? nothing : html`<div class="dump" role="region" tabindex="0" aria-label=${T.card.memory}>${dump(shown.address, shown.bytes)}</div>
      ${shown.symbols.length === 0 ? nothing : html`<p class="soft small mono">${shown.symbols.map(({ name, address }) => `${name} ${short(address)}`).join(', ')}</p>`}
      ${shown.bytes.includes('..') ? html`<p class="soft small">${T.memoryNone}</p>` : nothing}`}
  `;
}

/** Lines of 8 bytes: address, bytes, characters. */
function dump(address: string, bytes: string[]): string {
  const lines: string[] = [];
  const start = BigInt(address);
  for (let at = 0; at < bytes.length; at += 8) {
    const part = bytes.slice(at, at + 8);
    const text = part.map((byte) => {
      const code = parseInt(byte, 16);
      return code >= 32 && code < 127 ? String.fromCharCode(code) : '·';
    });
    lines.push(`${(start + BigInt(at)).toString(16)}  ${part.join(' ')}  ${text.join('')}`);
  }
  return lines.join('\n');
}

function pages(app: App): TemplateResult {
  const ask = (event: Event) => {
    const form = entered(event);
    app.walkAddress = String(form.get('address') ?? '');
    const access = form.get('access');
    app.walkAccess = access === 'store' || access === 'fetch' ? access : 'load';
    void app.again();
  };
  const found = app.details.walk;
  return html`
    <form class="row" @submit=${ask}>
      <label class="row">${T.walkAddress} <input name="address" size="14" .value=${app.walkAddress} placeholder=${T.memoryAddressHint}></label>
      <label class="row">${T.walkAccess}
        <select name="access">${(['load', 'store', 'fetch'] as const).map((access) => html`<option value=${access} .selected=${app.walkAccess === access}>${T.walkAccesses[access]}</option>`)}</select>
      </label>
      <button>${T.show}</button>
    </form>
    ${found === undefined
      ? nothing
      : html`
        <p><span class="mono">${short(found.address)}</span> <span class="soft">${found.scheme}, ${MODES[found.mode]}</span></p>
        ${found.scheme === 'Bare' ? html`<p class="soft">${T.walkBare}</p>` : html`<ol class="walklevels">
          ${found.levels.map((level) => walkLevel(level))}
          <li class=${found.fault === null ? 'end' : 'fault'}>${found.fault !== null ? T.walkFault(found.fault) : T.walkEnd(short(found.physical ?? ''))}</li>
        </ol>`}
        ${(app.details.mappings ?? []).length === 0
          ? nothing
          : html`<h4 class="small">${T.mappings}</h4><div class="scroll" role="region" tabindex="0" aria-label=${T.mappings}><table class="mono"><tbody>
            ${app.details.mappings?.map(({ from, to, physical, flags }) => html`<tr><td>${short(from)}–${short(to)}</td><td>→ ${short(physical)}</td><td>${flags}</td></tr>`)}
          </tbody></table></div>`}`}
  `;
}

function walkLevel(level: WalkLevel): TemplateResult {
  return html`<li class=${level.kind === 'invalid' ? 'fault' : ''}>
    <strong>${T.walkLevel(level.level, level.index)}</strong> <span class="mono soft">${short(level.entryAddress)}: ${short(level.entry)} ${level.flags}</span><br>${level.text}
  </li>`;
}

// ---------------------------------------------------------------------------------------------------------------- caches

function caches(app: App): TemplateResult {
  if (app.state?.core == null) return html`<p class="soft">${T.needsCore}</p>`;
  const found = app.details.caches;
  if (found === undefined || (found.caches.length === 0 && found.tlbs.length === 0)) return html`<p class="soft">${T.cacheNone}</p>`;
  return html`<div class="cards">${found.caches.map(cache)}${found.tlbs.map(tlb)}</div>
    ${found.mispredicts === 0 ? nothing : html`<p class="soft small">${T.mispredicts(found.mispredicts)}</p>`}`;
}

function cache(state: CacheState): TemplateResult {
  const sets = new Map<number, CacheState['lines']>();
  for (const line of state.lines) sets.set(line.set, [...(sets.get(line.set) ?? []), line]);
  return html`<section>
    <h4>${state.name}</h4>
    <p class="small">${T.cacheCounts(state.hits, state.misses, state.evictions)}${state.hitRate === null ? '' : `, ${T.cacheRate(state.hitRate)}`}<br>
      <span class="soft">${T.cacheShape(state.sets, state.ways, state.lineBytes, state.policy)}</span></p>
    ${sets.size === 0
      ? html`<p class="soft small">${T.cacheEmpty}</p>`
      : html`<div class="scroll" role="region" tabindex="0" aria-label=${`${state.name}: ${T.cacheLines}`}><table class="mono small">
        <thead><tr><th scope="col">${T.cacheSet}</th><th scope="col">${T.cacheLines}</th></tr></thead>
        <tbody>${[...sets].sort(([a], [b]) => a - b).map(([set, lines]) => html`<tr><th scope="row">${set}</th><td>${lines.map((line) => html`<span class="way ${line.fresh ? 'miss' : ''}">${short(line.address)}${line.place === '' ? '' : ` ${line.place}`}${line.dirty ? ` (${T.cacheDirty})` : ''}${line.fresh ? html` <b>${T.cacheFresh}</b>` : nothing}</span> `)}</td></tr>`)}</tbody>
      </table></div>`}
  </section>`;
}

function tlb(state: TlbState): TemplateResult {
  return html`<section>
    <h4>${state.name}</h4>
    <p class="small">${T.tlbShape(state.entries, state.misses)}</p>
    ${state.pages.length === 0 ? html`<p class="soft small">${T.cacheEmpty}</p>` : html`<div class="mono small">${state.pages.map((page) => html`<span class="way ${page.fresh ? 'miss' : ''}">${short(page.page)}${page.fresh ? html` <b>${T.cacheFresh}</b>` : nothing}</span> `)}</div>`}
  </section>`;
}

function causes(app: App): TemplateResult {
  const found = app.state?.causes ?? [];
  if (app.state?.core == null) return html`<p class="soft">${T.needsCore}</p>`;
  if (found.length === 0) return html`<p class="soft">${T.causesNone}</p>`;
  return bars(found.map(({ cause, about, cycles }) => ({ name: cause, about, value: cycles })));
}

// ----------------------------------------------------------------------------------------------- traps, breakpoints, console

function traps(app: App): TemplateResult {
  const found = app.details.traps ?? [];
  if (found.length === 0) return html`<p class="soft">${T.trapsNone}</p>`;
  return html`<div class="scroll"><table class="lined"><tbody>
    ${found.slice(-50).reverse().map((trap) => html`<tr>
      <td>${T.trapRow(trap.cause, MODES[trap.from], MODES[trap.to])} <span class="soft mono">${trap.place || short(trap.epc)}</span></td>
      <td class="n"><button class="small" @click=${() => app.explain(trap.index)}>${T.explain}<span class="unseen"> ${count(trap.index)}</span></button></td>
    </tr>`)}
  </tbody></table></div>`;
}

function describe(breakpoint: Breakpoint): string {
  switch (breakpoint.kind) {
    case 'address': return T.breakpointText.address(breakpoint.address);
    case 'csr': return T.breakpointText.csr(breakpoint.csr);
    case 'trap': return T.breakpointText.trap(breakpoint.cause ?? '');
    case 'line': return T.breakpointText.line(breakpoint.line);
  }
}

function breakpoints(app: App): TemplateResult {
  const add = (event: Event) => {
    const form = entered(event);
    const kind = form.get('kind');
    const value = String(form.get('value') ?? '').trim();
    if (kind === 'trap') app.breakpoints = [...app.breakpoints, value === '' ? { kind } : { kind, cause: value }];
    else if (value === '') return;
    else if (kind === 'csr') app.breakpoints = [...app.breakpoints, { kind, csr: value }];
    else app.breakpoints = [...app.breakpoints, { kind: 'address', address: value }];
    (event.target as HTMLFormElement).reset();
    app.draw();
  };
  const run = (event: Event) => {
    const to = String(entered(event).get('to') ?? '').trim();
    if (to !== '') void app.runTo(to);
  };
  const remove = (breakpoint: Breakpoint) => {
    app.breakpoints = app.breakpoints.filter((other) => other !== breakpoint);
    app.draw();
  };
  const all = app.allBreakpoints();
  return html`
    <p class="soft small">${T.breakpointsHint}</p>
    <form class="row" @submit=${add}>
      <label class="row">${T.breakpointKind}
        <select name="kind">${(['address', 'csr', 'trap'] as const).map((kind) => html`<option value=${kind}>${T.breakpointKinds[kind]}</option>`)}</select>
      </label>
      <input name="value" class="grow" aria-label=${T.breakpointWhich} placeholder=${Object.values(T.breakpointValue).join(' / ')}>
      <button>${T.breakpointAdd}</button>
    </form>
    <form class="row" @submit=${run}>
      <label class="row grow">${T.runTo} <input name="to" class="grow" placeholder=${T.breakpointValue.address}></label>
      <button ?disabled=${!app.canMove}>${T.run}</button>
    </form>
    <ul class="plain-list">
      ${all.map((breakpoint) => html`<li class="row">${describe(breakpoint)}
        ${breakpoint.kind === 'line' ? nothing : html`<button class="plain" aria-label=${T.breakpointRemove(describe(breakpoint))} @click=${() => remove(breakpoint)}>×</button>`}</li>`)}
    </ul>
  `;
}

/** How far above its end, in pixels, a console is still followed. */
const FOLLOWED = 400;

function console_(app: App): TemplateResult {
  const text = (app.state?.console ?? '') + app.printed;
  // The latest line stays in sight, as in a terminal, unless the reader has scrolled up.
  const follow = (element: Element | undefined) => {
    if (element === undefined || element.scrollHeight - element.scrollTop - element.clientHeight > FOLLOWED) return;
    requestAnimationFrame(() => (element.scrollTop = element.scrollHeight));
  };
  const send = (event: Event) => {
    const form = event.target as HTMLFormElement;
    const typed = String(entered(event).get('text') ?? '');
    form.reset();
    void app.type(`${typed}\n`);
  };
  return html`
    ${text === '' ? html`<p class="soft">${T.consoleEmpty}</p>` : html`<pre class="scroll console" role="log" tabindex="0" aria-label=${T.card.console} ${ref(follow)}>${text}</pre>`}
    <form class="row" @submit=${send}>
      <label class="row grow">${T.consoleType} <input name="text" class="grow" autocomplete="off"></label>
      <button>${T.consoleSend}</button>
    </form>
  `;
}
