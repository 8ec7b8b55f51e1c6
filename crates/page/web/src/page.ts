// The frame around the views: head, the bar that drives the machine, notices, the program on the left.
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { App, editedOf, VIEWS } from './app.ts';
import type { GalleryEntry } from './protocol.ts';
import { recall, keep } from './storage.ts';
import { MODES, T } from './texts.ts';
import { listing } from './views/listing.ts';
import { watch } from './views/watch.ts';

/** A view that is loaded when it is first opened. */
type Later = { draw(app: App): TemplateResult } | undefined;
const later: { account: Later; exercises: Later; share: Later } = { account: undefined, exercises: undefined, share: undefined };

function load(app: App, view: keyof typeof later): TemplateResult {
  const loaded = later[view];
  if (loaded !== undefined) return loaded.draw(app);
  const modules = {
    account: () => import('./views/account.ts'),
    exercises: () => import('./views/exercises.ts'),
    share: () => import('./views/share.ts'),
  };
  void modules[view]().then((module) => {
    later[view] = module;
    app.draw();
  });
  return html`<p class="view soft">${T.opening}</p>`;
}

/** The whole page. The editor is put into `#editor` once, and never drawn again. */
export function page(app: App): TemplateResult {
  return html`
    <a class="skip" href="#views" @click=${skip}>${T.skip}</a>
    ${head(app)}
    <div class="status" role="status" aria-live=${app.phase === 'running' ? 'off' : 'polite'}>${status(app)}</div>
    <div>${notices(app)}</div>
    <main class="panes" data-view=${app.view}>
      ${program(app)}
      <div class="pane views" id="views" tabindex="-1">${view(app)}</div>
    </main>
  `;
}

function view(app: App): TemplateResult {
  const { view } = app;
  return view === 'write' || view === 'watch' ? watch(app) : load(app, view);
}

function skip(event: globalThis.Event): void {
  event.preventDefault();
  document.getElementById('views')?.focus();
}

function head(app: App): TemplateResult {
  return html`<header class="head">
    <h1 class="brand">${T.brand[0]}<span>${T.brand[1]}</span><small>${T.tagline}</small></h1>
    ${bar(app)}
    <nav class="tabs" aria-label=${T.views}>
      ${VIEWS.map(
        (name) => html`<button
          class=${name === 'write' ? 'only-narrow' : ''}
          aria-current=${app.view === name || (app.view === 'write' && name === 'watch' && isWide()) ? 'page' : 'false'}
          @click=${() => app.go(name)}
        >${T.view[name]}</button>`,
      )}
    </nav>
    <div class="row">
      <button class="icon" aria-label=${T.theme} title=${T.theme} @click=${switchTheme}>${icon(SUN)}</button>
      <button class="icon" aria-label=${T.help} title=${T.help} @click=${() => open('help')}>${icon(QUESTION)}</button>
    </div>
    ${help(app)}
  </header>`;
}

/** Whether program and machine are side by side, as in `styles.css`. */
export const isWide = (): boolean => matchMedia('(min-width: 900px)').matches;

/** Opens a dialog. */
export function open(id: string): void {
  const dialog = document.getElementById(id);
  if (dialog instanceof HTMLDialogElement) dialog.showModal();
}

/** Closes the dialog that a control is in. */
export function close(event: globalThis.Event): void {
  (event.target as Element).closest('dialog')?.close();
}

function switchTheme(): void {
  const root = document.documentElement;
  const theme = root.dataset['theme'] === 'dark' ? 'light' : 'dark';
  root.dataset['theme'] = theme;
  keep('theme', theme);
}

/** Follows the system's theme until the user has chosen one. */
export function followTheme(): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', ({ matches }) => {
    const isText = (value: unknown): value is string => typeof value === 'string';
    if (recall('theme', isText) === undefined) document.documentElement.dataset['theme'] = matches ? 'dark' : 'light';
  });
}

function help(app: App): TemplateResult {
  return html`<dialog id="help" aria-labelledby="help-title">
    <h2 id="help-title">${T.keysTitle}</h2>
    <dl class="keys">${T.keys.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
    <p class="soft small">${T.about(app.version)}</p>
    <form method="dialog" class="row end"><button class="primary">${T.close}</button></form>
  </dialog>`;
}

const SUN = 'M8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.5 1.5M11.5 11.5 13 13M13 3l-1.5 1.5M4.5 11.5 3 13M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6';
const QUESTION = 'M5.5 6a2.5 2.5 0 1 1 3.5 2.3c-.7.4-1 .8-1 1.7M8 12.5v.1';
const PLAY = 'M4 2.5v11l9-5.5z';
const PAUSE = 'M5 3v10M11 3v10';
const STEP = 'M3 3v10M6.5 8H14M11 4.500l3.500 3.500-3.500 3.500';
const BACK = 'M13 3v10M9.500 8H2M5 4.500 1.500 8 5 11.500';
const TRAP = 'M1.500 4H5v8h6V4h3.500M12.500 2l2 2-2 2';
const RESET = 'M3 8a5 5 0 1 0 1.600-3.600M4.500 1.500v3h3';

export function icon(path: string): TemplateResult {
  return html`<svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${path}></path></svg>`;
}

function bar(app: App): TemplateResult {
  const running = app.phase === 'running';
  const stuck = !app.canMove;
  return html`<section class="bar" aria-label=${T.controls}>
    <button class="primary" ?disabled=${stuck && !running} aria-keyshortcuts="F8" @click=${() => app.run()}>
      ${running ? html`${icon(PAUSE)}${T.pause}` : html`${icon(PLAY)}${T.run}`} <kbd aria-hidden="true">F8</kbd>
    </button>
    <button ?disabled=${stuck} aria-keyshortcuts="F10" @click=${() => app.step()}>${icon(STEP)}${T.step} <kbd aria-hidden="true">F10</kbd></button>
    <button ?disabled=${stuck} aria-keyshortcuts="F9" @click=${() => app.back()}>${icon(BACK)}<span class="label">${T.back}</span> <kbd aria-hidden="true">F9</kbd></button>
    <button ?disabled=${stuck} @click=${() => app.follow()}>${icon(TRAP)}${T.follow}</button>
    <button class="plain" ?disabled=${stuck} @click=${() => app.restart()}>${icon(RESET)}<span class="label">${T.reset}</span></button>
  </section>`;
}

/** Where the machine is, in a sentence. */
function status(app: App): TemplateResult | string {
  const { state, progress, remark } = app;
  if (app.phase === 'starting') return T.starting;
  if (app.phase === 'loading') return T.loading;
  if (app.phase === 'running') {
    return html`<span class="running-dot" aria-hidden="true">● </span>${progress === undefined ? T.running(0, 0) : T.running(progress.instructions, progress.perSecond)}`;
  }
  if (app.errors.length > 0) return T.hasErrors;
  if (state === undefined) return app.failure || T.notLoaded;
  const why = remark || stopped(app);
  const totals = T.after(state.instructions, state.cycles);
  if (state.ended !== null) return html`${why} ${totals}.`;
  return html`<span class="mode ${state.mode}">${MODES[state.mode]}</span> ${why}
    ${T.next} <strong class="mono">${state.instruction}</strong>${state.place === '' ? nothing : html` <span class="mono place">${state.place}</span>`} · ${totals}`;
}

/** Why the machine is not running. */
export function stopped(app: App): string {
  const stop = app.state?.ended ?? app.stop;
  switch (stop?.kind) {
    case 'exit': return T.exited(stop.code);
    case 'breakpoint': return T.atBreakpoint(stop.text);
    case 'limit': case 'stuck': return T.limit(stop.text);
    case 'paused': return T.paused;
    case 'input': return T.waitsForInput;
    default: return '';
  }
}

function notices(app: App): TemplateResult {
  return html`<div class="notices" role="alert">
    ${app.notices.map(
      (notice) => html`<div class="notice ${notice.kind}">
        <p>${notice.text}</p>
        ${notice.action === undefined
          ? nothing
          : html`<button @click=${() => {
              app.dismiss(notice);
              notice.action?.run();
            }}>${notice.action.label}</button>`}
        <button class="plain" @click=${() => app.dismiss(notice)}>${T.dismiss}</button>
      </div>`,
    )}
  </div>`;
}

function program(app: App): TemplateResult {
  return html`<section class="pane program" aria-label=${T.program}>
    <div class="row">
      <label class="field grow">${T.example} ${examples(app)}</label>
      <button @click=${() => document.getElementById('open-files')?.click()} title=${T.openFilesHint}>${T.openFiles}</button>
      <input id="open-files" type="file" multiple hidden @change=${(event: globalThis.Event) => openChosen(app, event)}>
    </div>
    <div class="row">
      <label class="field grow">${T.core} ${coreChooser(app)}</label>
      <button @click=${() => editCore(app)}>${T.editCore}</button>
    </div>
    <div class="editor" id="editor" ?hidden=${!app.isEditable}></div>
    ${app.isEditable ? problems(app) : sourceless(app)}
    <div id="core-dialog"></div>
  </section>`;
}

function editCore(app: App): void {
  void import('./views/core.ts').then((module) => module.edit(app));
}

function openChosen(app: App, event: globalThis.Event): void {
  const input = event.target as HTMLInputElement;
  const files = [...(input.files ?? [])];
  input.value = '';
  void openFiles(app, files);
}

/** Loads files that were chosen or dropped. */
export async function openFiles(app: App, files: File[]): Promise<void> {
  const { read } = await import('./files.ts');
  const result = await read(files, app.load.core ?? null);
  if ('fault' in result) {
    app.notify('error', result.fault);
    return;
  }
  await app.show(result.load);
  if (result.load.program.kind === 'elf') app.notify('info', T.elfLoaded(result.load.program.name));
  if (result.load.program.kind === 'boot') app.notify('info', T.bootLoaded(result.load.program.name));
}

function examples(app: App): TemplateResult {
  const { gallery } = app;
  const choose = (event: globalThis.Event) => {
    const select = event.target as HTMLSelectElement;
    const { value } = select;
    const entry = gallery.find((each) => each.id === value);
    select.value = '';
    const earlier = value === 'earlier:' ? App.recalled('earlier') : undefined;
    if (earlier !== undefined) void app.show(earlier.load, earlier.breaks);
    if (entry !== undefined) void app.show(withoutOp({ ...entry.load, core: entry.load.core ?? app.load.core ?? null }));
  };
  const labs = [...new Set(gallery.map((entry) => entry.lab))];
  const isShown = ({ load: { program } }: GalleryEntry) => !app.isTyped && 'files' in program && editedOf(program.files)?.text === app.given;
  return html`<select @change=${choose} .value=${''}>
    <option value="">${gallery.find(isShown)?.title ?? T.exampleMine}</option>
    ${!app.hasEarlier ? nothing : html`<option value="earlier:">${T.exampleEarlier}</option>`}
    ${labs.map(
      (lab) => html`<optgroup label=${T.labs[lab] ?? lab}>
        ${gallery.filter((entry) => entry.lab === lab).map((entry) => html`<option value=${entry.id} title=${entry.about}>${entry.title}</option>`)}
      </optgroup>`,
    )}
  </select>`;
}

function withoutOp<Type extends { op: unknown }>({ op: _, ...rest }: Type): Omit<Type, 'op'> {
  return rest;
}

function coreChooser(app: App): TemplateResult {
  const { core } = app.load;
  const chosen = core == null ? '' : 'name' in core ? core.name : 'toml:';
  const choose = (event: globalThis.Event) => {
    const { value } = event.target as HTMLSelectElement;
    if (value !== 'toml:') void app.setCore(value === '' ? null : { name: value });
  };
  const names = app.cores.length > 0 ? app.cores.map((each) => [each.name, each.about] as const) : core != null && 'name' in core ? [[core.name, '']] as const : [];
  return html`<select @change=${choose}>
    <option value="" .selected=${chosen === ''}>${T.noCore}</option>
    ${repeat(names, ([name]) => name, ([name, about]) => html`<option value=${name} title=${about} .selected=${chosen === name}>${name}</option>`)}
    ${chosen === 'toml:' ? html`<option value="toml:" .selected=${true}>${T.ownCore}</option>` : nothing}
  </select>`;
}

function problems(app: App): TemplateResult | typeof nothing {
  if (app.errors.length === 0) return app.failure === '' || app.phase === 'dead' ? nothing : html`<div class="problems bad" role="alert">${app.failure}</div>`;
  return html`<section class="problems" aria-label=${T.problems(app.errors.length)}>
    <ul>
      ${app.errors.slice(0, 20).map(
        (error) => html`<li><button @click=${() => app.editor?.goTo(error.line, error.column)}>${error.file === app.edited()?.name ? T.problemLine(error.line, error.message) : T.problemIn(error.file, error.line, error.message)}</button></li>`,
      )}
    </ul>
  </section>`;
}

function sourceless(app: App): TemplateResult {
  const { program } = app.load;
  const name = 'name' in program ? program.name : 'kernel' in program ? program.kernel : '';
  return html`<div class="grow view scroll-y">
    ${app.failure === '' ? html`<p class="soft">${T.noSource(name)}</p>` : html`<p class="bad" role="alert">${app.failure}</p>`}
    ${listing(app)}
  </div>`;
}

