// Texts that leave the page: as files and through the clipboard.
import { T } from './texts.ts';
import type { App } from './app.ts';

export function download(name: string, text: string, type: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  // Some browsers read the address after the click has returned.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Copies a text, and says whether it worked. `fallback` is what the user can copy by hand. */
export async function copy(app: App, text: string, fallback?: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    app.notify('info', T.copied);
  } catch {
    const field = fallback === undefined ? null : document.getElementById(fallback);
    if (field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement) {
      field.focus();
      field.select();
    }
    app.notify('warning', T.copyFailed);
  }
}
