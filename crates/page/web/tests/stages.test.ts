import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columns, end, waits, type StageRow } from '../src/stages.ts';

/** A row that enters a stage of five in each of these cycles, and leaves the last after one. */
const row = (firsts: number[], more: Partial<StageRow> = {}): StageRow => ({
  stages: firsts.map((first, at) => ({
    name: ['IF', 'ID', 'EX', 'MEM', 'WB'][at] ?? '?',
    first,
    last: (firsts[at + 1] ?? first + 1) - 1,
  })),
  waits: [],
  squash: null,
  ...more,
});

test('cycles without long waits have one column each', () => {
  const layout = columns([row([100, 101, 102, 103, 104]), row([101, 102, 103, 104, 105])]);
  assert.deepEqual([100, 103, 105].map(layout.of), [0, 3, 5]);
  assert.deepEqual(layout.folds, []);
  assert.deepEqual(layout.marks, [{ column: 0, cycle: 100 }]);
});

test('a long wait is one column, and what follows keeps its order', () => {
  const layout = columns([row([0, 1, 2, 3, 50])]);
  assert.deepEqual(layout.folds, [{ column: 4, cycles: 46 }]);
  assert.deepEqual([3, 4, 20, 49, 50, 51].map(layout.of), [3, 4, 4, 4, 5, 6]);
});

test('no rows have no columns that matter', () => {
  assert.deepEqual(columns([]).folds, []);
  assert.equal(columns([]).of(7) >= 0, true);
});

test('a squashed row ends where it was thrown away; waits add up by cause', () => {
  assert.equal(end(row([5, 6], { squash: { at: 9, by: 'trap' } })), 9);
  assert.equal(end(row([5, 6])), 7);
  const waiting = row([1], { waits: [{ name: 'I-miss', first: 1, last: 4 }, { name: 'div', first: 6, last: 6 }, { name: 'I-miss', first: 8, last: 8 }].map((wait) => ({ ...wait, about: '' })) });
  assert.deepEqual([...waits(waiting)], [['I-miss', 5], ['div', 1]]);
});
