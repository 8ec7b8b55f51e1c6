// The module of the page, for scripts: one function from JSON to JSON, as src/module.ts has it. Also runs in a browser.
export async function open(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, request, answer, answer_text } = instance.exports;
  return (text) => {
    const encoded = new TextEncoder().encode(text);
    // First the room: it may replace the buffer.
    const at = request(encoded.length);
    new Uint8Array(memory.buffer, at, encoded.length).set(encoded);
    const length = answer();
    return new TextDecoder().decode(new Uint8Array(memory.buffer, answer_text(), length));
  };
}

/** A hash of a text, the same everywhere: FNV-1a of 53 bits in two halves. */
export function hash(text) {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(i), 0x85ebca6b);
  }
  return ((a >>> 0) * 0x200000 + (b >>> 11)).toString(16);
}
