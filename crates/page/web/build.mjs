// Builds the page: node build.mjs OUT MODULE.wasm
// OUT receives a folder for a web server (index.html and what it loads) and `tollgate-lab.html`, the same page as one file.
import { build, transform } from 'esbuild';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [out, wasm] = process.argv.slice(2);
if (out === undefined || wasm === undefined) {
  console.error('usage: node build.mjs OUT MODULE.wasm');
  process.exit(2);
}
process.chdir(import.meta.dirname);

const common = {
  bundle: true,
  minify: true,
  target: 'es2022',
  charset: 'utf8',
  loader: { '.s': 'text' },
  legalComments: 'none',
  logLevel: 'warning',
};

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

// The folder: what a view needs is loaded when it is first opened.
await build({ ...common, entryPoints: { page: 'src/main.ts' }, outdir: out, format: 'esm', splitting: true, chunkNames: 'part-[hash]' });
await build({ ...common, entryPoints: { worker: 'src/worker.ts' }, outdir: out, format: 'esm' });
// A sheet looks as in a report: its styles, for what is in an element of class `sheet`.
const report = readFileSync('../../report/src/html/page.css', 'utf8');
const styles = `${readFileSync('src/styles.css', 'utf8')}\n.sheet {\n${report}\n}\n`;
writeFileSync(join(out, 'page.css'), (await transform(styles, { loader: 'css', minify: true })).code);
cpSync('index.html', join(out, 'index.html'));
cpSync(wasm, join(out, 'tollgate.wasm'));

// One file: everything in it, for a disk without a server.
const one = async (entry, format) => {
  const { outputFiles } = await build({ ...common, entryPoints: [entry], format, write: false });
  return outputFiles[0].text;
};
// Nothing in a script may look like its end.
const inScript = (text) => text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
const module = `globalThis.tollgateModule = '${readFileSync(wasm).toString('base64')}';\n`;
const parts = { worker: module + (await one('src/worker.ts', 'iife')) };
const page = await one('src/main.ts', 'iife');
const html = readFileSync('index.html', 'utf8')
  .replace('<link rel="stylesheet" href="page.css">', () => `<style>${readFileSync(join(out, 'page.css'), 'utf8')}</style>`)
  .replace(
    '<script type="module" src="page.js"></script>',
    () => `<script>globalThis.tollgateParts = ${inScript(JSON.stringify(parts))};</script>\n<script>${inScript(page)}</script>`,
  );
writeFileSync(join(out, 'tollgate-lab.html'), html);
