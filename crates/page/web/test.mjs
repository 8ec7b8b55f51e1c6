// Runs the unit tests: bundles each file of `tests` for node, whose version here does not read TypeScript.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-page-'));
const entryPoints = readdirSync('tests').filter((name) => name.endsWith('.test.ts')).map((name) => join('tests', name));
await build({ entryPoints, outdir: folder, bundle: true, platform: 'node', format: 'esm', outExtension: { '.js': '.mjs' }, logLevel: 'warning' });
const files = readdirSync(folder).map((name) => join(folder, name));
const { status } = spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit' });
rmSync(folder, { recursive: true });
process.exit(status ?? 1);
