// RISC-V assembly for the editor: colors and completion. Names come from the module, so nothing is listed twice.
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { LanguageSupport, StreamLanguage, type StringStream } from '@codemirror/language';

/** Names that the module supplies, and what each is in a few words. */
export interface Names {
  mnemonics: Map<string, string>;
  registers: Map<string, string>;
  csrs: Map<string, string>;
  directives: Map<string, string>;
}

export const NO_NAMES: Names = {
  mnemonics: new Map(),
  registers: new Map(),
  csrs: new Map(),
  directives: new Map(),
};

/** Where on a line the reader is. */
interface LineState {
  inBlockComment: boolean;
  /** Whether the mnemonic of the statement has been read. */
  hasMnemonic: boolean;
}

/** The kind of the next token. The kinds are those of CodeMirror's `StreamLanguage`. */
export function token(stream: StringStream, state: LineState, names: Names): string | null {
  if (stream.sol()) state.hasMnemonic = false;
  if (!state.inBlockComment && stream.eatSpace()) return null;
  if (state.inBlockComment || stream.match('/*')) {
    state.inBlockComment = !stream.skipTo('*/');
    if (state.inBlockComment) stream.skipToEnd();
    else stream.match('*/');
    return 'comment';
  }
  // At the beginning of a line `#define` and its kind are the preprocessor's.
  if (stream.sol() && stream.match(/^#\s*(?:define|include|undef|if|ifdef|ifndef|elif|else|endif|error)\b/)) return 'meta';
  if (stream.match('#') || stream.match('//')) {
    stream.skipToEnd();
    return 'comment';
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)'?/)) return 'string';
  if (stream.match(/^(?:0[xX][\da-fA-F]+|0[bB][01]+|\d+[bf]\b|\d+)/)) return stream.match(/^:/) ? 'labelName' : 'number';
  if (stream.match(/^%[a-z_]+/)) return 'keyword';
  if (stream.match(/^[.\w$][\w.$]*(?=\s*:(?!:))/)) {
    stream.match(/^\s*:/);
    return 'labelName';
  }
  const word = stream.match(/^[.A-Za-z_$][\w.$]*/);
  if (Array.isArray(word)) {
    const name = word[0].toLowerCase();
    if (!state.hasMnemonic) {
      state.hasMnemonic = true;
      if (name.startsWith('.')) return 'meta';
      return names.mnemonics.size === 0 || names.mnemonics.has(name) ? 'keyword' : 'macroName';
    }
    if (names.registers.has(name)) return 'variableName';
    if (names.csrs.has(name)) return 'propertyName';
    return 'name';
  }
  if (stream.eat(';')) state.hasMnemonic = false;
  else stream.next();
  return null;
}

/** The language of the editor. `names` is read at each token, because the module arrives later than the editor. */
export function riscv(names: () => Names): LanguageSupport {
  const language = StreamLanguage.define<LineState>({
    name: 'riscv',
    startState: () => ({ inBlockComment: false, hasMnemonic: false }),
    token: (stream, state) => token(stream, state, names()),
    languageData: { commentTokens: { line: '#', block: { open: '/*', close: '*/' } } },
    tokenTable: {},
  });
  return new LanguageSupport(language, [
    language.data.of({ autocomplete: (context: CompletionContext) => complete(context, names()) }),
  ]);
}

/** What can be written at the cursor: first word of a statement, then operands. */
export function complete(context: CompletionContext, names: Names): CompletionResult | null {
  const word = context.matchBefore(/[.\w]+/);
  if (word === null && !context.explicit) return null;
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, (word?.from ?? context.pos) - line.from);
  if (/#|\/\//.test(before)) return null;
  const statement = before.replace(/^.*[:;]/, '');
  const kinds: [Map<string, string>, string][] =
    statement.trim() === ''
      ? [[names.mnemonics, 'keyword'], [names.directives, 'meta']]
      : [[names.registers, 'variable'], [names.csrs, 'property'], [labels(context.state.doc.toString()), 'text']];
  const options: Completion[] = kinds.flatMap(([map, type]) =>
    [...map].map(([label, detail]) => ({ label, type, ...(detail === '' ? {} : { info: detail }) })),
  );
  return { from: word?.from ?? context.pos, options, validFor: /^[.\w]*$/ };
}

/** The labels that a source defines. */
function labels(source: string): Map<string, string> {
  const found = new Map<string, string>();
  if (source.length > 200_000) return found;
  for (const [, name] of source.matchAll(/^[ \t]*([A-Za-z_.$][\w.$]*):/gm)) if (name !== undefined) found.set(name, '');
  return found;
}
