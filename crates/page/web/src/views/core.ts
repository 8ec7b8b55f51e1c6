// The dialog with the description of a core.
import { html, nothing, render } from 'lit-html';
import type { App } from '../app.ts';
import type { CoreCheck } from '../protocol.ts';
import { T } from '../texts.ts';

let toml = '';
let checked: CoreCheck | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Opens the dialog with the core that is chosen. */
export function edit(app: App): void {
  const { core } = app.load;
  toml = core != null && 'toml' in core ? core.toml : text(app, core == null ? app.cores[0]?.name : core.name);
  checked = undefined;
  show(app);
  const dialog = document.getElementById('core-editor');
  if (dialog instanceof HTMLDialogElement && !dialog.open) dialog.showModal();
  void check(app);
}

const text = (app: App, name: string | undefined): string => app.cores.find((each) => each.name === name)?.toml ?? '';

function show(app: App): void {
  const host = document.getElementById('core-dialog');
  if (host === null) return;
  const typed = (event: Event) => {
    toml = (event.target as HTMLTextAreaElement).value;
    clearTimeout(timer);
    timer = setTimeout(() => void check(app), 300);
  };
  const from = (event: Event) => {
    toml = text(app, (event.target as HTMLSelectElement).value);
    void check(app);
  };
  const use = async (event: Event) => {
    event.preventDefault();
    clearTimeout(timer);
    await check(app);
    if (checked?.error !== null) return;
    (event.target as Element).closest('dialog')?.close();
    await app.setCore({ toml });
  };
  const cancel = (event: Event) => (event.target as Element).closest('dialog')?.close();
  render(
    html`<dialog id="core-editor" aria-labelledby="core-title">
      <form @submit=${use}>
        <h2 id="core-title">${T.editCoreTitle}</h2>
        <p class="soft">${T.editCoreText}</p>
        <p class="row"><label class="row">${T.editCoreFrom}
          <select @change=${from}><option value=""></option>${app.cores.map((each) => html`<option value=${each.name} .selected=${each.toml === toml}>${each.name}</option>`)}</select>
        </label></p>
        <textarea rows="18" cols="80" spellcheck="false" aria-label=${T.editCoreLabel} aria-describedby="core-check" .value=${toml} @input=${typed}></textarea>
        <p id="core-check" role="status" class=${checked?.error == null ? 'soft' : 'bad'}>
          ${checked === undefined ? nothing : checked.error === null ? T.editCoreGood(checked.name ?? '') : checked.line === null ? checked.error : T.problemLine(checked.line, checked.error)}
        </p>
        <div class="row end">
          <button type="button" @click=${cancel}>${T.close}</button>
          <button class="primary">${T.editCoreUse}</button>
        </div>
      </form>
    </dialog>`,
    host,
  );
}

async function check(app: App): Promise<void> {
  const of = toml;
  try {
    const found = await app.machine.request({ op: 'checkCore', toml: of });
    if (of === toml) checked = found;
  } catch (error) {
    checked = { error: error instanceof Error ? error.message : String(error), line: null, name: null, about: null };
  }
  show(app);
}
