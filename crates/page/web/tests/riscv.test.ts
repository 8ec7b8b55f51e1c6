import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompletionContext } from '@codemirror/autocomplete';
import { StringStream } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { NO_NAMES, complete, token, type Names } from '../src/riscv.ts';

const NAMES: Names = {
  mnemonics: new Map([['csrrw', 'swap with a CSR'], ['li', 'load a constant'], ['ecall', '']]),
  registers: new Map([['sp', 'x2'], ['t0', 'x5']]),
  csrs: new Map([['mscratch', 'scratch register']]),
  directives: new Map([['.text', 'instructions follow']]),
};

/** Each colored piece of the lines, as `kind:text`. */
function kinds(lines: string, names = NAMES): string[] {
  const state = { inBlockComment: false, hasMnemonic: false };
  const found: string[] = [];
  for (const line of lines.split('\n')) {
    const stream = new StringStream(line, 8, 2);
    while (!stream.eol()) {
      stream.start = stream.pos;
      const kind = token(stream, state, names);
      assert.ok(stream.pos > stream.start, `no progress in '${line}' at ${stream.pos}`);
      if (kind !== null) found.push(`${kind}:${stream.current()}`);
    }
  }
  return found;
}

test('a statement has its label, mnemonic, registers and CSR colored apart', () => {
  assert.deepEqual(kinds('trap: csrrw sp, mscratch, sp # swap'), [
    'labelName:trap:', 'keyword:csrrw', 'variableName:sp', 'propertyName:mscratch', 'variableName:sp', 'comment:# swap',
  ]);
});

test('numbers, strings, directives and the preprocessor', () => {
  assert.deepEqual(kinds('#define N 3\n.text\n li t0, 0x1F; li t0, 1f\n1: .string "a # \\" b"'), [
    'meta:#define', 'macroName:N', 'number:3', 'meta:.text', 'keyword:li', 'variableName:t0', 'number:0x1F',
    'keyword:li', 'variableName:t0', 'number:1f', 'labelName:1:', 'meta:.string', 'string:"a # \\" b"',
  ]);
});

test('a block comment spans lines and ends in the middle of one', () => {
  assert.deepEqual(kinds('/* one\ntwo */ ecall'), ['comment:/* one', 'comment:two */', 'keyword:ecall']);
});

test('a mnemonic that the module does not have is colored as a macro, once the module is there', () => {
  assert.deepEqual(kinds('frob t0'), ['macroName:frob', 'variableName:t0']);
  assert.deepEqual(kinds('frob t0', NO_NAMES), ['keyword:frob', 'name:t0']);
});

test('no character stops the reader', () => {
  kinds(String.fromCharCode(...Array.from({ length: 256 }, (_, at) => at)) + '\n"open\n\'\n%\n$é');
});

/** The names offered at `|`. */
function offered(text: string): string[] {
  const at = text.indexOf('|');
  const state = EditorState.create({ doc: text.replace('|', '') });
  return complete(new CompletionContext(state, at, true), NAMES)?.options.map((option) => option.label) ?? [];
}

test('completion offers mnemonics first, then operands, and nothing in a comment', () => {
  assert.deepEqual(offered('  cs|'), ['csrrw', 'li', 'ecall', '.text']);
  assert.deepEqual(offered('loop: |'), ['csrrw', 'li', 'ecall', '.text']);
  assert.deepEqual(offered('loop: csrrw t|'), ['sp', 't0', 'mscratch', 'loop']);
  assert.deepEqual(offered('li t0, 1 # |'), []);
});
