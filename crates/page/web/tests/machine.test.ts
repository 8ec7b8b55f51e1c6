import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Machine, RequestError, type Port } from '../src/machine.ts';
import type { Event, Message, Reply } from '../src/protocol.ts';

/** A worker that the test plays. */
class Played implements Port {
  onmessage: Port['onmessage'] = null;
  onerror: Port['onerror'] = null;
  sent: Message[] = [];
  ended = false;
  postMessage(message: Message) {
    this.sent.push(message);
  }
  terminate() {
    this.ended = true;
  }
  says(data: Reply | Event) {
    this.onmessage?.({ data } as MessageEvent<Reply | Event>);
  }
}

function machine() {
  const ports: Played[] = [];
  const events: string[] = [];
  const open = () => {
    const port = new Played();
    ports.push(port);
    return port;
  };
  const subject = new Machine(open, {
    event: (event) => events.push(event.event),
    silent: (silent) => events.push(silent ? 'silent' : 'speaks'),
  });
  return { subject, ports, events, port: () => ports.at(-1) as Played };
}

test('answers go to their requests, in any order', async () => {
  const { subject, port } = machine();
  const first = subject.request({ op: 'template' });
  const second = subject.request({ op: 'pause' });
  port().says({ id: 2, ok: true, answer: null });
  port().says({ id: 1, ok: true, answer: 'text' });
  assert.deepEqual([await first, await second], ['text', null]);
});

test('a failure carries its kind and the errors of the source', async () => {
  const { subject, port } = machine();
  const request = subject.request({ op: 'reset' });
  const errors = [{ file: 'main.s', line: 2, column: 3, message: 'no', nearest: null, length: 1, expansion: [] }];
  port().says({ id: 1, ok: false, error: { kind: 'source', message: '1 error', errors } });
  await assert.rejects(request, (error) => error instanceof RequestError && error.kind === 'source' && error.errors.length === 1);
});

test('when the worker dies every request fails, and a new worker answers new ones', async () => {
  const { subject, ports, port, events } = machine();
  const request = subject.request({ op: 'state' });
  port().onerror?.({ message: 'out of memory' } as ErrorEvent);
  await assert.rejects(request, /out of memory/);
  assert.deepEqual(events, ['died']);
  subject.restart('restarted');
  assert.deepEqual(ports.map((each) => each.ended), [true, false]);
  const next = subject.request({ op: 'template' });
  port().says({ id: 2, ok: true, answer: 'again' });
  assert.equal(await next, 'again');
});

test('silence is reported once, only while an answer is due, and again when it ends', () => {
  const { subject, port, events } = machine();
  for (let second = 0; second < 30; second++) subject.tick();
  assert.deepEqual(events, []);
  void subject.request({ op: 'state' }).catch(() => {});
  for (let second = 0; second < 30; second++) subject.tick();
  assert.deepEqual(events, ['silent']);
  port().says({ event: 'progress', position: 1, instructions: 1, cycles: null, console: '', perSecond: 1 });
  assert.deepEqual(events, ['silent', 'speaks', 'progress']);
});
