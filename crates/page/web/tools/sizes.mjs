// Sizes of files as they are, by gzip and by brotli: node sizes.mjs FILE...
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const row = (cells) => console.log(cells.map((cell, i) => (i === 0 ? cell.padEnd(24) : cell.padStart(12))).join(''));
row(['bytes', 'raw', 'gzip', 'brotli']);
const sums = [0, 0, 0];
for (const file of process.argv.slice(2)) {
  const bytes = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  const sizes = [bytes.length, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes, { params }).length];
  sizes.forEach((size, i) => (sums[i] += size));
  row([basename(file), ...sizes.map((size) => size.toLocaleString('en-US'))]);
}
row(['all', ...sums.map((sum) => sum.toLocaleString('en-US'))]);
