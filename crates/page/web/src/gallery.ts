// The programs of `gallery`, which are here to be changed. The module adds what it has to watch.
import ecall from '../gallery/ecall.s';
import fault from '../gallery/fault.s';
import hazard from '../gallery/hazard.s';
import hello from '../gallery/hello.s';
import icache from '../gallery/icache.s';
import compressed from '../gallery/icache-c.s';
import stalls from '../gallery/stalls.s';
import timer from '../gallery/timer.s';
import type { Loaded } from './link.ts';
import type { GalleryEntry } from './protocol.ts';

/** The comment at the beginning of a program: its title, and what it is about. */
export function titled(text: string): { title: string; about: string } {
  const [title = '', ...lines] = (/^(?:#.*\n)+/.exec(text)?.[0] ?? '').trimEnd().split('\n').map((line) => line.replace(/^# ?/, ''));
  return { title, about: lines.join(' ').trim() };
}

const program = (id: string, text: string, core = 'rocket'): GalleryEntry => ({
  id,
  ...titled(text),
  lab: 'programs',
  load: { op: 'load', program: { kind: 'source', files: [{ name: 'main.s', text }] }, core: { name: core } },
  sheet: null,
});

export const PROGRAMS: GalleryEntry[] = [
  program('ecall', ecall),
  program('hazard', hazard, 'ripes-5stage'),
  program('fault', fault),
  program('timer', timer),
  program('stalls', stalls),
  program('icache', icache),
  program('icache-c', compressed),
  program('hello', hello),
];

/** What a first visit shows. */
export const FIRST: Loaded = { program: { kind: 'source', files: [{ name: 'main.s', text: ecall }] }, core: { name: 'rocket' } };
