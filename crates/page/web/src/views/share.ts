// Sharing: a link with the whole state, a frame for a course page, a record, the source.
import { html, nothing, type TemplateResult } from 'lit-html';
import type { App } from '../app.ts';
import { copy, download } from '../download.ts';
import { LONG_LINK, LONGEST_LINK, encode, type Shared } from '../link.ts';
import { T } from '../texts.ts';
import { latest, saveRecord } from './account.ts';

let withPosition = true;
/** The link, and the state that it was made from. */
let made: { from: string; link: string } | undefined;

function shared(app: App): Shared {
  const state: Shared = { load: app.current(), view: app.view === 'share' ? 'watch' : app.view };
  const breaks = app.editor?.breakpoints() ?? [];
  if (breaks.length > 0) state.breaks = breaks;
  if (withPosition && app.state !== undefined && app.state.position > 0) state.at = app.state.position;
  if (app.exercise !== undefined) {
    state.exercise = { id: app.exercise, student: app.student };
    state.view = 'exercises';
  }
  return state;
}

export function draw(app: App): TemplateResult {
  const { kind } = app.load.program;
  return html`<div class="view">
    <h2>${T.view.share}</h2>
    <p class="soft">${T.shareIntro}</p>
    ${kind === 'elf' || kind === 'boot' ? html`<p>${T.shareNotPossible}</p>` : links(app)}
    <section class="part">
      <h3>${T.shareRecord}</h3>
      <p class="soft">${T.shareRecordText}</p>
      ${record(app)}
    </section>
  </div>`;
}

function links(app: App): TemplateResult {
  const state = shared(app);
  const from = JSON.stringify(state);
  if (made?.from !== from) {
    made = { from, link: '' };
    void encode(state).then((fragment) => {
      made = { from, link: `${location.href.replace(/#.*/, '')}#${fragment}` };
      app.draw();
    });
  }
  const { link } = made;
  if (link.length > LONGEST_LINK) return html`<p class="warn">${T.shareTooLong(from.length)}</p>${source(app)}`;
  const frame = `<iframe src="${link}" title="${T.shareFrameTitle}" width="100%" height="700" style="border: 1px solid #ccc" allow="clipboard-write"></iframe>`;
  const position = app.state?.position ?? 0;
  return html`
    <section class="part">
      <h3><label for="link">${T.shareLink}</label></h3>
      ${position === 0
        ? nothing
        : html`<p><label><input type="checkbox" .checked=${withPosition} @change=${() => {
            withPosition = !withPosition;
            app.draw();
          }}> ${T.shareAt(position)}</label></p>`}
      <textarea id="link" rows="4" readonly .value=${link} @focus=${select}></textarea>
      <div class="row">
        <button class="primary" @click=${() => copy(app, link, 'link')}>${T.shareCopy}</button>
        <span class="soft small">${T.shareLength(link.length)} ${link.length > LONG_LINK ? T.shareLong : ''}</span>
      </div>
    </section>
    <section class="part">
      <h3><label for="frame">${T.shareFrame}</label></h3>
      <p class="soft">${T.shareFrameText}</p>
      <textarea id="frame" rows="3" readonly .value=${frame} @focus=${select}></textarea>
      <div class="row"><button @click=${() => copy(app, frame, 'frame')}>${T.shareFrameCopy}</button></div>
    </section>
    ${source(app)}
  `;
}

function source(app: App): TemplateResult {
  const file = app.edited();
  return html`<section class="part"><div class="row">
    ${file === undefined ? nothing : html`<button @click=${() => download(file.name, file.text, 'text/plain')}>${T.shareSource}</button>`}
  </div></section>`;
}

const select = (event: Event): void => (event.target as HTMLTextAreaElement).select();

function record(app: App): TemplateResult {
  const sheet = latest();
  if (sheet === undefined) return html`<p>${T.shareRecordNone}</p>`;
  return html`<div class="row"><button @click=${() => saveRecord(app, sheet)}>${T.sheetRecord}</button></div>`;
}
