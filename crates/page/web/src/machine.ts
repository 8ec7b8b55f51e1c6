// The page's end of the messages to the worker: requests as promises, and what happens when the worker dies or does not answer.
import type { Answers, Event, Failure, Message, Reply, Request, SourceError } from './protocol.ts';

/** A request that failed, with the reason as a sentence. */
export class RequestError extends Error {
  readonly kind: Failure['kind'] | 'died';
  readonly errors: SourceError[];

  constructor(failure: Omit<Failure, 'kind'> & { kind: Failure['kind'] | 'died' }) {
    super(failure.message);
    this.kind = failure.kind;
    this.errors = failure.errors ?? [];
  }
}

/** What a worker can do, of what `Worker` can. */
export interface Port {
  postMessage(message: Message): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<Reply | Event>) => unknown) | null;
  onerror: ((event: ErrorEvent) => unknown) | null;
}

/** What the machine reports on its own. */
export interface Reports {
  event(event: Event): void;
  /** No message came for a while although an answer is due; `false` when one comes after all. */
  silent(silent: boolean): void;
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: RequestError): void;
}

/** Seconds without a message after which a machine that owes an answer counts as silent. */
const SILENCE = 10;

export class Machine {
  readonly #open: () => Port;
  readonly #reports: Reports;
  readonly #waiting = new Map<number, Waiting>();
  #port: Port;
  #next = 1;
  #quiet = 0;

  constructor(open: () => Port, reports: Reports) {
    this.#open = open;
    this.#reports = reports;
    this.#port = this.#connect();
  }

  request<Op extends Request['op']>(request: Extract<Request, { op: Op }>): Promise<Answers[Op]> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (answer) => resolve(answer as Answers[Op]), reject });
      this.#port.postMessage({ id, request });
    });
  }

  /** Ends the worker and starts a new one. Every request that waits fails with kind `died`. */
  restart(message: string): void {
    this.end(message);
    this.#port = this.#connect();
  }

  /** Ends the worker. */
  end(message: string): void {
    this.#port.onmessage = null;
    this.#port.onerror = null;
    this.#port.terminate();
    this.#fail(message);
  }

  /** To be called once a second while the page is visible. */
  tick(): void {
    if (this.#waiting.size === 0) {
      this.#quiet = 0;
    } else if (++this.#quiet === SILENCE) {
      this.#reports.silent(true);
    }
  }

  #connect(): Port {
    this.#quiet = 0;
    const port = this.#open();
    port.onmessage = ({ data }) => this.#receive(data);
    port.onerror = (event) => {
      this.#fail(event.message);
      this.#reports.event({ event: 'died', message: event.message, again: false });
    };
    return port;
  }

  #receive(message: Reply | Event): void {
    if (this.#quiet >= SILENCE) this.#reports.silent(false);
    this.#quiet = 0;
    if ('event' in message) {
      if (message.event === 'died' && !message.again) this.#fail(message.message);
      this.#reports.event(message);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.ok) waiting?.resolve(message.answer);
    else waiting?.reject(new RequestError(message.error));
  }

  #fail(message: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new RequestError({ kind: 'died', message }));
  }
}
