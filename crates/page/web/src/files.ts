// Files that the user chose or dropped, as something to load.
import type { Loaded } from './link.ts';
import type { CoreChoice } from './protocol.ts';
import { T } from './texts.ts';

/** The largest file that is read, in bytes. */
const LARGEST = 128 << 20;

/** Reads one program, or a kernel with its drive, as xv6's `kernel` and `fs.img`. */
export async function read(files: File[], core: CoreChoice | null): Promise<{ load: Loaded } | { fault: string }> {
  const large = files.find((file) => file.size > LARGEST);
  if (large !== undefined) return { fault: T.fileTooLarge(large.name, large.size) };
  const contents: { name: string; bytes: Uint8Array<ArrayBuffer> }[] = [];
  for (const file of files) {
    try {
      contents.push({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) });
    } catch {
      return { fault: T.fileUnreadable(file.name) };
    }
  }
  const elf = contents.find(({ bytes }) => isElf(bytes));
  const drive = contents.find((file) => file !== elf);
  if (elf !== undefined && drive !== undefined && contents.length === 2) {
    const [kernel, image] = await Promise.all([base64(elf.bytes), base64(drive.bytes)]);
    // xv6 finds 128 MiB of memory.
    return { load: { program: { kind: 'boot', name: elf.name, kernel, drive: image }, machine: 'virt', ramBytes: 128 << 20, core: null } };
  }
  if (elf !== undefined) return { load: { program: { kind: 'elf', name: elf.name, base64: await base64(elf.bytes) }, core } };
  const sources = contents.filter(({ name }) => /\.(?:s|asm|inc|h)$/i.test(name));
  const first = sources.find(({ name }) => /\.(?:s|asm)$/i.test(name));
  if (first === undefined) return { fault: T.fileUnknown(contents[0]?.name ?? '') };
  const texts = [first, ...sources.filter((file) => file !== first)].map(({ name, bytes }) => ({ name, text: new TextDecoder().decode(bytes) }));
  const isEntry = /^trap_entry:/m.test(texts[0]?.text ?? '') && !/^_start:/m.test(texts[0]?.text ?? '');
  return { load: { program: { kind: isEntry ? 'entry' : 'source', files: texts }, core } };
}

const isElf = (bytes: Uint8Array): boolean => bytes[0] === 0x7f && bytes[1] === 0x45 && bytes[2] === 0x4c && bytes[3] === 0x46;

function base64(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(reader.error ?? new Error('unreadable'));
    reader.readAsDataURL(new Blob([bytes]));
  });
}
