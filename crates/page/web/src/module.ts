// The WebAssembly module: one function from a request to an answer, both JSON.
import type { Failure } from './protocol.ts';

interface Exports {
  memory: WebAssembly.Memory;
  request(length: number): number;
  answer(): number;
  answer_text(): number;
  panic_text(): number;
}

/** The module has failed; the message is the one of its panic. */
export class ModulePanic extends Error {}

export class Module {
  readonly #exports: Exports;

  private constructor(instance: WebAssembly.Instance) {
    this.#exports = instance.exports as unknown as Exports;
  }

  /** A new module, with nothing loaded. */
  static async open(compiled: WebAssembly.Module): Promise<Module> {
    return new Module(await WebAssembly.instantiate(compiled, {}));
  }

  /** Answers a request. */
  answer(request: object): { ok: true; answer: unknown } | { ok: false; error: Failure } {
    return JSON.parse(this.text(JSON.stringify(request)));
  }

  /** The same as texts. */
  text(request: string): string {
    const { memory, request: room, answer, answer_text } = this.#exports;
    try {
      const bytes = new TextEncoder().encode(request);
      // First the room: it may replace the buffer.
      const at = room(bytes.length);
      new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
      const length = answer();
      return new TextDecoder().decode(new Uint8Array(memory.buffer, answer_text(), length));
    } catch (error) {
      throw new ModulePanic(this.#panic() || (error instanceof Error ? error.message : String(error)));
    }
  }

  /** Bytes of the module's memory. */
  get bytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  #panic(): string {
    try {
      const at = this.#exports.panic_text();
      const memory = new Uint8Array(this.#exports.memory.buffer);
      return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
    } catch {
      return '';
    }
  }
}

/** A new id of a run: a ULID. */
export function ulid(): string {
  const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  let time = Date.now();
  let text = '';
  for (let i = 0; i < 10; i++) {
    text = digits[time % 32] + text;
    time = Math.floor(time / 32);
  }
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) text += digits[byte % 32];
  return text;
}
