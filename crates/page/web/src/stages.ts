// A stage diagram as columns: cycles, with long stretches in which nothing moves folded into one column.

import type { PipelineRow } from './protocol.ts';

/** What the layout needs of a row. */
export type StageRow = Pick<PipelineRow, 'stages' | 'waits' | 'squash'>;

/** Stretches of at least this many cycles in which nothing moves become one column. */
const FOLDED = 8;

/** The columns of a diagram. */
export interface Columns {
  /** The column of a cycle; a folded cycle has that of its stretch. */
  of(cycle: number): number;
  count: number;
  /** Cycles to print above columns: the first of each ten, and the first after a fold. */
  marks: { column: number; cycle: number }[];
  /** Folded columns, with the number of cycles in each. */
  folds: { column: number; cycles: number }[];
}

/** The cycle after the last of a row. */
export const end = (row: StageRow): number => row.squash?.at ?? (row.stages.at(-1)?.last ?? 0) + 1;

/** Lays out the columns of some rows. */
export function columns(rows: StageRow[]): Columns {
  const events = new Set<number>();
  for (const row of rows) {
    for (const { first } of row.stages) events.add(first);
    if (row.stages.length > 0) events.add(end(row));
  }
  const cycles = [...events].sort((a, b) => a - b);
  const starts: { cycle: number; column: number }[] = [];
  const folds: Columns['folds'] = [];
  let column = 0;
  for (const [at, cycle] of cycles.entries()) {
    starts.push({ cycle, column });
    const idle = (cycles[at + 1] ?? cycle + 1) - cycle - 1;
    if (idle >= FOLDED) {
      folds.push({ column: column + 1, cycles: idle });
      column += 2;
    } else {
      column += idle + 1;
    }
  }
  const folded = new Set(folds.map((fold) => fold.column));
  const of = (cycle: number): number => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle]?.cycle ?? 0) <= cycle) low = middle;
      else high = middle - 1;
    }
    const start = starts[low] ?? { cycle: 0, column: 0 };
    const offset = Math.max(0, cycle - start.cycle);
    return start.column + (folded.has(start.column + 1) ? Math.min(offset, 1) : offset);
  };
  const marks: Columns['marks'] = [];
  const first = cycles[0] ?? 0;
  const last = cycles.at(-1) ?? 0;
  const wanted = new Set([first]);
  for (let cycle = Math.ceil(first / 10) * 10; cycle <= last && wanted.size < 2_000; cycle += 10) wanted.add(cycle);
  for (const cycle of [...wanted].sort((a, b) => a - b)) {
    const at = of(cycle);
    const before = marks.at(-1);
    if (!folded.has(at) && (before === undefined || at - before.column >= 6)) marks.push({ column: at, cycle });
  }
  return { of, count: column, marks, folds };
}

/** The cycles of waiting by cause, in order of appearance. */
export function waits(row: StageRow): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { name, first, last } of row.waits) sums.set(name, (sums.get(name) ?? 0) + last - first + 1);
  return sums;
}

const LETTERS: Record<string, string> = { IF: 'F', ID: 'D', EX: 'X', MEM: 'M', WB: 'W' };

/** The letter of a stage in a diagram. */
export const letter = (stage: string): string => LETTERS[stage] ?? stage.slice(0, 1);
