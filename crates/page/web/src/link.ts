// The state of the page in the fragment of a link: JSON, compressed, in base64url. The fragment never leaves the browser.
import type { CoreChoice, Load, Program, SourceFile } from './protocol.ts';

/** What the machine is loaded with. */
export type Loaded = Omit<Load, 'op'>;

/** What a link carries. Absent is the default of the page. */
export interface Shared {
  load: Loaded;
  /** The view that is open. */
  view?: string;
  /** Lines of the first file with breakpoints, counted from 1. */
  breaks?: number[];
  /** The machine's position (see `protocol.ts`). */
  at?: number;
  /** The exercise that is open, with the student's name from which its values follow. */
  exercise?: { id: string; student: string };
}

/** The first character of a fragment that this version writes. */
const VERSION = '1';

/** The longest fragment that is read, in characters. */
export const LONGEST_LINK = 1_000_000;

/** The largest state that a link may unpack to, in bytes. */
export const LARGEST_STATE = 4_000_000;

/** Links beyond this many characters are cut by some mail and chat programs. */
export const LONG_LINK = 8_000;

/** Why a link cannot be read. The texts are in `texts.ts`. */
export type LinkFault = 'too-long' | 'other-version' | 'damaged' | 'too-large';

/** A link that cannot be read. */
export class LinkError extends Error {
  constructor(readonly fault: LinkFault) {
    super(fault);
  }
}

/** Writes a state as a fragment, without `#`. */
export async function encode(state: Shared): Promise<string> {
  const packed = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream('deflate'), Infinity);
  return VERSION + toBase64Url(packed);
}

/**
 * Reads a fragment, with or without `#`. An empty one has no state.
 * @throws {LinkError} when it is too long, of another version, damaged, or unpacks to too much.
 */
export async function decode(fragment: string): Promise<Shared | undefined> {
  const text = fragment.replace(/^#/, '');
  if (text === '') return undefined;
  if (text.length > LONGEST_LINK) throw new LinkError('too-long');
  if (text[0] !== VERSION) throw new LinkError(/^\d[\w-]+$/.test(text) ? 'other-version' : 'damaged');
  let json: string;
  try {
    const bytes = await through(fromBase64Url(text.slice(1)), new DecompressionStream('deflate'), LARGEST_STATE);
    json = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw error instanceof LinkError ? error : new LinkError('damaged');
  }
  return checked(json);
}

/** The state in a JSON text, with what has the wrong type left out. */
function checked(json: string): Shared {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new LinkError('damaged');
  }
  const state = record(value);
  const load = loaded(state['load']);
  if (load === undefined) throw new LinkError('damaged');
  const shared: Shared = { load };
  if (typeof state['view'] === 'string') shared.view = state['view'];
  if (Array.isArray(state['breaks'])) shared.breaks = state['breaks'].filter(isCount).slice(0, 1_000);
  if (isCount(state['at'])) shared.at = state['at'];
  const { id, student } = record(state['exercise']);
  if (typeof id === 'string' && typeof student === 'string') shared.exercise = { id, student };
  return shared;
}

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** What to load, from a text that anyone may have written; nothing if it contains no program. */
export function loaded(value: unknown): Loaded | undefined {
  const { program: written, isa, machine, ramBytes, core: chosen } = record(value);
  const program = aProgram(record(written));
  if (program === undefined) return undefined;
  const load: Loaded = { program, core: aCore(record(chosen)) };
  if (typeof isa === 'string') load.isa = isa;
  if (machine === 'spike' || machine === 'virt') load.machine = machine;
  if (isCount(ramBytes)) load.ramBytes = ramBytes;
  return load;
}

function aProgram(value: Record<string, unknown>): Program | undefined {
  const { kind, files, kernel, name, base64, crossing, iterations } = value;
  const crossed = {
    ...(typeof crossing === 'string' ? { crossing } : {}),
    ...(isCount(iterations) ? { iterations } : {}),
  };
  if (kind === 'source' || kind === 'entry') {
    const sources = Array.isArray(files) ? files.filter(isFile).map(({ name, text }) => ({ name, text })) : [];
    if (sources.length === 0) return undefined;
    return kind === 'source' ? { kind, files: sources } : { kind, files: sources, ...crossed };
  }
  if (kind === 'kernel' && typeof kernel === 'string') return { kind, kernel, ...crossed };
  if (kind === 'elf' && typeof name === 'string' && typeof base64 === 'string') return { kind, name, base64 };
  return undefined;
}

const isFile = (value: unknown): value is SourceFile =>
  typeof record(value)['name'] === 'string' && typeof record(value)['text'] === 'string';

function aCore({ name, toml }: Record<string, unknown>): CoreChoice | null {
  if (typeof toml === 'string') return { toml };
  return typeof name === 'string' ? { name } : null;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** The bytes after a transformation; refuses more than `most`, so that a small link cannot fill the memory. */
async function through(
  bytes: Uint8Array<ArrayBuffer>,
  transform: CompressionStream | DecompressionStream,
  most: number,
): Promise<Uint8Array> {
  const reader = new Blob([bytes]).stream().pipeThrough(transform).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new LinkError('too-large');
    }
    parts.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function toBase64Url(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(bytes, (character) => character.charCodeAt(0));
}
