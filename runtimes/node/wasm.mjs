// The module that Node calls, in the binary format of WebAssembly (core specification, chapter 5), without a compiler.

const [I32, VOID, END] = [0x7f, 0x40, 0x0b];
const EIGHT = Array(8).fill(I32);

/** An unsigned number in LEB128. Signed ones below 64 are the same. */
function number(value) {
  const bytes = [];
  do {
    bytes.push((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>>= 7;
  } while (value > 0);
  return bytes;
}

const list = (items) => [...number(items.length), ...items.flat()];
const name = (text) => list([...Buffer.from(text)].map((byte) => [byte]));
const section = (id, items) => {
  const body = list(items);
  return [id, ...number(body.length), ...body];
};

// Types by their place: (), eight numbers, a place and a length, a number of calls.
const TYPES = [
  [0x60, 0, 0],
  [0x60, ...list(EIGHT), 1, I32],
  [0x60, 2, I32, I32, 0],
  [0x60, 1, I32, 0],
];

const call = (function_) => [0x10, function_];
const constant = (value) => [0x41, ...(value < 64 ? [value] : [(value & 0x7f) | 0x80, value >>> 7])];
const get = (local) => [0x20, local];
// entered += 1
const count = [0x23, 0, 0x41, 1, 0x6a, 0x24, 0];
const when = (condition, body) => [...condition, 0x04, VOID, ...body, END];

/** A loop that runs its body so many times as local 0 says. */
const loop = (body) => [0x03, VOID, ...body, ...get(0), 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, END];

/** Imported: callee, calleeEight, calleeText are the functions 0 to 2. Then these, each with its type and code. */
const FUNCTIONS = [
  ["down", 0, count],
  [
    "downEight",
    1,
    [
      ...get(0),
      ...[1, 2, 3, 4, 5, 6, 7].flatMap((local) => [...get(local), 0x6a]),
      ...[0x22, 0], // the sum stays in local 0
      ...[...constant(36), 0x46, 0x04, VOID, ...count, END],
      ...get(0),
    ],
  ],
  // The last byte is an x, and the length 100.
  [
    "downText",
    2,
    when([...get(0), 0x2d, 0, 99, ...constant(120), 0x46, ...get(1), ...constant(100), 0x46, 0x71], count),
  ],
  ["back", 0, [...count, ...call(0)]],
  ["up", 3, loop(call(0))],
  ["upEight", 3, loop([...[1, 2, 3, 4, 5, 6, 7, 8].flatMap(constant), ...call(1), 0x1a])],
  ["upText", 3, loop([...constant(0), ...constant(100), ...call(2)])],
];

/** The bytes of the module. */
export function assemble() {
  const imported = [
    ["callee", 0],
    ["calleeEight", 1],
    ["calleeText", 2],
  ];
  const body = (code) => [...number(code.length + 2), 0, ...code, END];
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, TYPES),
    ...section(2, imported.map(([of, type]) => [...name("js"), ...name(of), 0, type])),
    ...section(3, FUNCTIONS.map(([, type]) => [type])),
    ...section(5, [[0, 1]]),
    ...section(6, [[I32, 1, 0x41, 0, END]]),
    ...section(7, [
      ...FUNCTIONS.map(([of], at) => [...name(of), 0, imported.length + at]),
      [...name("memory"), 2, 0],
      [...name("entered"), 3, 0],
    ]),
    ...section(10, FUNCTIONS.map(([, , code]) => body(code))),
  ]);
}
