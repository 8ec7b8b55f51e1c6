// Decoded instructions, with the one that comes next marked.
import { html, nothing, type TemplateResult } from 'lit-html';
import type { App } from '../app.ts';
import type { Listed } from '../protocol.ts';
import { T } from '../texts.ts';

export function listing(app: App): TemplateResult {
  const rows = app.details.listing ?? [];
  const choose = (event: Event) => {
    event.preventDefault();
    app.listingAddress = String(new FormData(event.target as HTMLFormElement).get('at') ?? '');
    void app.again();
  };
  return html`
    <form class="row" @submit=${choose}>
      <label class="row grow">${T.listingAt} <input name="at" class="grow" .value=${app.listingAddress} placeholder=${T.listingAtHint}></label>
      <button>${T.show}</button>
    </form>
    ${rows.length === 0 ? html`<p class="soft">${T.disassemblyEmpty}</p>` : instructions(rows, T.card.listing, app.state?.pc, (address) => void app.runTo(address))}
  `;
}

/** Instructions as a table; with `run`, each address is a button. */
export function instructions(rows: Listed[], label: string, pc?: string, run?: (address: string) => void): TemplateResult {
  return html`<div class="scroll" role="region" tabindex="0" aria-label=${label}>
    <table class="mono">
      ${rows.map(
        (row) => html`
          ${/^[^+]+$/.test(row.place) ? html`<tr><td></td><td class="soft" colspan="2">${row.place}:</td></tr>` : nothing}
          <tr class=${row.address === pc ? 'next' : ''} aria-current=${row.address === pc ? 'step' : nothing}>
            <td class="soft">${
              run === undefined
                ? row.address.replace(/^0x0*/, '')
                : html`<button class="link" title=${T.runToHere(row.address)} @click=${() => run(row.address)}><span class="unseen">${T.runTo} </span>${row.address.replace(/^0x0*/, '')}</button>`
            }</td>
            <td class="soft">${row.word.replace(/^0x/, '')}</td>
            <td>${row.text}</td>
          </tr>`,
      )}
    </table>
  </div>`;
}
