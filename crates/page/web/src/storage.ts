// What the page keeps between visits: the text in the editor, the choices. A course system's frame may refuse storage.

/** The names under which values are kept. */
export type Key = 'draft' | 'earlier' | 'theme' | 'panels' | 'exercises' | 'student' | 'welcomed';

const PREFIX = 'tollgate.';

/** Whether the last attempt to keep something worked, and if not, why. */
export type Kept = 'kept' | 'refused' | 'full';

/** Reads a value, or nothing where it was not kept or cannot be read. */
export function recall<T>(key: Key, accept: (value: unknown) => value is T): T | undefined {
  try {
    const text = localStorage.getItem(PREFIX + key);
    const value: unknown = text === null ? undefined : JSON.parse(text);
    return accept(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a value. */
export function keep(key: Key, value: unknown): Kept {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
    return 'kept';
  } catch (error) {
    return error instanceof DOMException && error.name === 'QuotaExceededError' ? 'full' : 'refused';
  }
}
