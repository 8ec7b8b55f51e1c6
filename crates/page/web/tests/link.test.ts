import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { LARGEST_STATE, LONGEST_LINK, LinkError, decode, encode } from '../src/link.ts';

const fails = (fragment: string, fault: string) =>
  assert.rejects(decode(fragment), (error) => error instanceof LinkError && error.fault === fault);

const source = (text: string) => ({ program: { kind: 'source', files: [{ name: 'main.s', text }] } });

/** A fragment made without the code under test. */
const fragment = (json: string) => '1' + deflateSync(json).toString('base64url');

test('a state comes back as it was written', async () => {
  const state = {
    load: {
      program: { kind: 'source' as const, files: [{ name: 'main.s', text: 'main:\n  li a0, 1 # é ≤ 漢\n'.repeat(50) }] },
      core: { toml: 'name = "mine"' },
      isa: 'rv32im',
    },
    view: 'watch',
    breaks: [3, 7],
    at: 1234,
    exercise: { id: 'ecall-count', student: 'Ada' },
  };
  const text = await encode(state);
  assert.match(text, /^1[\w-]+$/, 'no character of a fragment needs an escape');
  assert.ok(text.length < 500, 'it is compressed');
  assert.deepEqual(await decode('#' + text), state);
});

test('an empty fragment has no state', async () => {
  assert.equal(await decode(''), undefined);
  assert.equal(await decode('#'), undefined);
});

test('a link of another program or a later version is named as such', async () => {
  await fails('2abcd', 'other-version');
  await fails('a heading', 'damaged');
  await fails('1', 'damaged');
});

test('every cut and every changed character of a link is noticed', async () => {
  const text = await encode({ load: { program: { kind: 'kernel', kernel: 'full' }, core: { name: 'cva6' } } });
  for (let end = 1; end < text.length; end++) await fails(text.slice(0, end), 'damaged');
  for (const at of [3, 10, text.length - 3]) {
    const other = text[at] === 'A' ? 'B' : 'A';
    await fails(text.slice(0, at) + other + text.slice(at + 1), 'damaged');
  }
});

test('an enormous link is refused before it is unpacked', async () => {
  await fails('1' + 'A'.repeat(LONGEST_LINK), 'too-long');
  const bomb = fragment(JSON.stringify({ load: source('x'.repeat(LARGEST_STATE)) }));
  assert.ok(bomb.length < 10_000);
  await fails(bomb, 'too-large');
});

test('what has another type is left out, and a state without a program is damaged', async () => {
  const odd = { load: { ...source('x'), core: 3, isa: [] }, view: [], breaks: [1, -1, 'z', 2.5], at: -4, exercise: { id: 1 } };
  assert.deepEqual(await decode(fragment(JSON.stringify(odd))), { load: { ...source('x'), core: null }, breaks: [1] });
  const programs = [null, { kind: 'source', files: [] }, { kind: 'source', files: [{ name: 1 }] }, { kind: 'kernel' }, { kind: 'boot' }];
  for (const program of programs) await fails(fragment(JSON.stringify({ load: { program } })), 'damaged');
  for (const json of ['null', '3', '{', '[]']) await fails(fragment(json), 'damaged');
});
