// The editor: CodeMirror with RISC-V assembly, breakpoints in the gutter, errors in place and the line that comes next.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, toggleComment } from '@codemirror/commands';
import { HighlightStyle, bracketMatching, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Annotation, Compartment, EditorState, RangeSet, StateEffect, StateField, type Extension } from '@codemirror/state';
import {
  Decoration,
  EditorView,
  GutterMarker,
  drawSelection,
  gutter,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  type DecorationSet,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { riscv, type Names } from './riscv.ts';

/** Something wrong at a place of the source. Line and column count from 1; no column is the whole line. */
export interface Problem {
  line: number;
  column?: number | undefined;
  length?: number | undefined;
  message: string;
  severity: 'error' | 'warning';
}

/** What the editor tells the page. */
export interface Listener {
  /** The user changed the text. */
  changed(): void;
  breakpointsChanged(): void;
}

/** What the page can do with the editor. */
export interface Editor {
  text(): string;
  /** Replaces the text, without `changed`, and its breakpoints; undoing brings the text back. */
  setText(text: string, breakpoints?: number[]): void;
  problems(problems: Problem[]): void;
  /** Marks the line that is executed next, and scrolls to it. */
  next(line: number | undefined): void;
  breakpoints(): number[];
  goTo(line: number, column?: number): void;
  /** The line of the cursor. */
  cursor(): number;
  focus(): void;
  /** Colors the text again, with the names that the page has now. */
  recolor(): void;
}

/** Marks a change that the page made, not the user. */
const isGiven = Annotation.define<true>();

const setNext = StateEffect.define<number | undefined>();
const toggleBreakpoint = StateEffect.define<number>();

const nextLine = Decoration.line({ class: 'cm-next' });

/** The line that is executed next. */
const nextField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let updated = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setNext)) continue;
      const line = effect.value;
      const { doc } = transaction.state;
      updated =
        line === undefined || line < 1 || line > doc.lines
          ? Decoration.none
          : Decoration.set(nextLine.range(doc.line(line).from));
    }
    return updated;
  },
  provide: (field) => EditorView.decorations.from(field),
});

class Breakpoint extends GutterMarker {
  override toDOM(): Node {
    const dot = document.createElement('span');
    dot.className = 'breakpoint';
    return dot;
  }
}
const breakpoint = new Breakpoint();

const breakpointField = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(marks, transaction) {
    let updated = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(toggleBreakpoint)) continue;
      const at = effect.value;
      let has = false;
      updated.between(at, at, () => {
        has = true;
      });
      updated = has
        ? updated.update({ filter: (from) => from !== at })
        : updated.update({ add: [breakpoint.range(at)] });
    }
    return updated;
  },
});

const toggleAt = (view: EditorView, position: number): boolean => {
  view.dispatch({ effects: toggleBreakpoint.of(view.state.doc.lineAt(position).from) });
  return true;
};

const breakpoints: Extension = [
  breakpointField,
  gutter({
    class: 'cm-breakpoints',
    markers: (view) => view.state.field(breakpointField),
    initialSpacer: () => breakpoint,
    domEventHandlers: { mousedown: (view, line) => toggleAt(view, line.from) },
  }),
];

const colors = HighlightStyle.define([
  { tag: tags.comment, class: 'tok-comment' },
  { tag: tags.keyword, class: 'tok-mnemonic' },
  { tag: tags.meta, class: 'tok-directive' },
  { tag: tags.labelName, class: 'tok-label' },
  { tag: tags.variableName, class: 'tok-register' },
  { tag: tags.propertyName, class: 'tok-csr' },
  { tag: tags.number, class: 'tok-number' },
  { tag: tags.string, class: 'tok-string' },
  { tag: tags.macroName, class: 'tok-macro' },
]);

/** Makes the editor in `parent`. */
export function edit(parent: HTMLElement, label: string, names: () => Names, listener: Listener): Editor {
  const language = new Compartment();
  const extensions: Extension[] = [
    lineNumbers(),
    breakpoints,
    highlightSpecialChars(),
    history(),
    drawSelection(),
    indentUnit.of('        '),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ icons: false }),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    lintGutter(),
    nextField,
    language.of(riscv(names)),
    syntaxHighlighting(colors),
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0', spellcheck: 'false', autocapitalize: 'off', autocorrect: 'off' }),
    // Tab moves the focus on, as it does elsewhere in the page: no keyboard trap.
    keymap.of([
      { key: 'Mod-/', run: toggleComment },
      { key: 'F7', run: (view) => toggleAt(view, view.state.selection.main.head) },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...lintKeymap,
      ...defaultKeymap.filter((binding) => binding.key !== 'Mod-Enter'),
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && !update.transactions.some((each) => each.annotation(isGiven))) listener.changed();
      if (update.startState.field(breakpointField) !== update.state.field(breakpointField)) listener.breakpointsChanged();
    }),
  ];
  const view = new EditorView({ state: EditorState.create({ extensions }), parent });
  const lineStart = (line: number) => view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
  return {
    text: () => view.state.doc.toString(),
    setText(text, lines = []) {
      const set: number[] = [];
      view.state.field(breakpointField).between(0, view.state.doc.length, (from) => void set.push(from));
      view.dispatch({ effects: set.map((from) => toggleBreakpoint.of(from)) });
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 }, annotations: isGiven.of(true) });
      const effects = [...new Set(lines)]
        .filter((line) => line >= 1 && line <= view.state.doc.lines)
        .map((line) => toggleBreakpoint.of(view.state.doc.line(line).from));
      view.dispatch({ effects, scrollIntoView: true });
    },
    problems(problems) {
      const { doc } = view.state;
      const diagnostics = problems
        .filter(({ line }) => line >= 1 && line <= doc.lines)
        .map(({ line, column, length, message, severity }) => {
          const { from: start, to: end, text } = doc.line(line);
          const indent = text.length - text.trimStart().length;
          const from = Math.min(start + (column === undefined ? indent : column - 1), end);
          return { from, to: length === undefined ? end : Math.min(from + length, end), message, severity };
        });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    next(line) {
      const effects: StateEffect<unknown>[] = [setNext.of(line)];
      if (line !== undefined && line >= 1 && line <= view.state.doc.lines) {
        effects.push(EditorView.scrollIntoView(view.state.doc.line(line).from, { y: 'nearest', yMargin: 60 }));
      }
      view.dispatch({ effects });
    },
    breakpoints() {
      const lines: number[] = [];
      view.state.field(breakpointField).between(0, view.state.doc.length, (from) => {
        lines.push(view.state.doc.lineAt(from).number);
      });
      return lines;
    },
    goTo(line, column = 1) {
      const { from, to } = lineStart(line);
      const position = Math.min(from + column - 1, to);
      view.dispatch({ selection: { anchor: position }, scrollIntoView: true });
      view.focus();
    },
    cursor: () => view.state.doc.lineAt(view.state.selection.main.head).number,
    focus: () => view.focus(),
    recolor: () => view.dispatch({ effects: language.reconfigure(riscv(names)) }),
  };
}
