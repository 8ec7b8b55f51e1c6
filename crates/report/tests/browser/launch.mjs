// The browser: Debian's Chromium, with nothing that would ask the network.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(`${process.env.TOLLGATE_NPM}/package.json`);
const { chromium } = require('playwright-core');

/** The source of axe-core, to be put into a page. */
export const axe = () => readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** @returns {Promise<import('playwright-core').Browser>} */
export const launch = () =>
  chromium.launch({
    executablePath: process.env.TOLLGATE_CHROMIUM,
    args: [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync',
      '--force-color-profile=srgb', '--font-render-hinting=none',
    ],
  });

/** What hangs is ended after this time. A busy machine takes more than the usual 30 seconds for a large page. */
export const PATIENCE_MS = 600_000;

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };
