// The page begins here: the program of the last visit, the editor, the machine, the keys.
import { render } from 'lit-html';
import start from '../gallery/ecall.s';
import { App, editedOf } from './app.ts';
import { edit } from './editor.ts';
import { Machine } from './machine.ts';
import { followTheme, openFiles, page } from './page.ts';
import { T } from './texts.ts';
import { openWorker } from './worker-port.ts';

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no #app');

let drawn = false;
/** Draws once, however often it is called until then. Without frames in a hidden tab, a timer does it. */
function draw(): void {
  if (drawn) return;
  drawn = true;
  const now = () => {
    drawn = false;
    if (root !== null) render(page(app), root);
  };
  if (document.hidden) setTimeout(now, 200);
  else requestAnimationFrame(now);
}

const kept = App.recalled('draft');
const app = new App(
  (reports) => new Machine(openWorker, reports),
  kept?.load ?? { program: { kind: 'source', files: [{ name: 'ecall.s', text: start }] }, core: { name: 'rocket' } },
  draw,
);
root.replaceChildren();
render(page(app), root);

const place = document.getElementById('editor');
if (place !== null) {
  app.editor = edit(place, T.editorLabel, () => app.names, {
    changed: () => app.changed(),
    breakpointsChanged: () => {
      app.keepDraft();
      draw();
    },
  });
  const file = 'files' in app.load.program ? editedOf(app.load.program.files) : undefined;
  app.given = kept === undefined ? (file?.text ?? '') : '';
  app.editor.setText(file?.text ?? '', kept?.breaks ?? []);
}

followTheme();

addEventListener('keydown', (event) => {
  if (document.querySelector('dialog[open]') !== null) return;
  const key = `${event.altKey ? 'Alt+' : ''}${event.shiftKey ? 'Shift+' : ''}${event.ctrlKey || event.metaKey ? 'Mod+' : ''}${event.key}`;
  const actions: Record<string, () => unknown> = {
    F8: () => app.run(),
    'Mod+Enter': () => app.run(),
    'Shift+F8': () => app.runToCursor(),
    F10: () => app.step(),
    'Alt+.': () => app.step(),
    F9: () => app.back(),
    'Alt+,': () => app.back(),
  };
  const action = actions[key];
  if (action === undefined) return;
  event.preventDefault();
  action();
});

addEventListener('hashchange', () => {
  if (location.hash.length > 1) void app.openLink(location.hash);
});
addEventListener('pagehide', () => app.keepDraft());
document.addEventListener('visibilitychange', () => {
  if (document.hidden) app.keepDraft();
  else draw();
});
matchMedia('(min-width: 900px)').addEventListener('change', draw);
setInterval(() => {
  if (!document.hidden) app.machine.tick();
}, 1000);

addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('dropping');
});
for (const name of ['dragleave', 'drop', 'dragend']) addEventListener(name, () => document.body.classList.remove('dropping'));
addEventListener('drop', (event) => {
  const files = [...(event.dataTransfer?.files ?? [])];
  if (files.length === 0) return;
  event.preventDefault();
  void openFiles(app, files);
});
