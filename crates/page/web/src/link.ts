// The state of the page in the fragment of a link: JSON, compressed, in base64url. The fragment never leaves the browser.

/** What a link carries. Absent is the default of the page. */
export interface Shared {
  /** The program's text. */
  source: string;
  /** The name of a bundled core, or of the core described by `toml`. */
  core: string;
  /** The user's own description of a core. */
  toml?: string;
  /** The view that is open. */
  view?: string;
  /** Lines with breakpoints, counted from 1. */
  breaks?: number[];
  /** Instructions after which the machine was stopped. */
  at?: number;
  /** The exercise that is open, with the student's name from which its values follow. */
  exercise?: { id: string; student: string };
}

/** The first character of a fragment that this version writes. */
const VERSION = '1';

/** The longest fragment that is read, in characters. */
export const LONGEST_LINK = 2_000_000;

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
  if (typeof value !== 'object' || value === null) throw new LinkError('damaged');
  const state = value as Record<string, unknown>;
  if (typeof state['source'] !== 'string' || typeof state['core'] !== 'string') throw new LinkError('damaged');
  const shared: Shared = { source: state['source'], core: state['core'] };
  if (typeof state['toml'] === 'string') shared.toml = state['toml'];
  if (typeof state['view'] === 'string') shared.view = state['view'];
  if (Array.isArray(state['breaks'])) shared.breaks = state['breaks'].filter(isCount).slice(0, 1_000);
  if (isCount(state['at'])) shared.at = state['at'];
  const exercise = state['exercise'] as Record<string, unknown> | undefined;
  if (typeof exercise?.['id'] === 'string' && typeof exercise['student'] === 'string') {
    shared.exercise = { id: exercise['id'], student: exercise['student'] };
  }
  return shared;
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
