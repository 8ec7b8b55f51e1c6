// How a worker is opened: a file beside the page, or a part of a page that is one file.
import type { Port } from './machine.ts';

declare global {
  /** Set by a page that is one file: the worker's program, which contains the module. */
  var tollgateParts: { worker: string } | undefined;
}

let address: string | undefined;

export function openWorker(): Port {
  const parts = globalThis.tollgateParts;
  if (parts === undefined) return new Worker('worker.js', { type: 'module' });
  address ??= URL.createObjectURL(new Blob([parts.worker], { type: 'text/javascript' }));
  return new Worker(address);
}
