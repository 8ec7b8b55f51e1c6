import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHtml } from '../src/markdown.ts';

test('text becomes elements, with headings below those of the view', () => {
  assert.equal(toHtml('# Count\n\nOne `ecall`.').replaceAll('\n', ''), '<h3>Count</h3><p>One <code>ecall</code>.</p>');
});

test('nothing in a text becomes a script, a handler or another scheme', () => {
  const text = '<script>x()</script>\n\n<img src=x onerror=y()>\n\na <b onclick=z()>b</b> [c](javascript:d()) ![e](data:f) [g](https://h.org/"onclick="i)';
  const found = toHtml(text);
  assert.doesNotMatch(found, /<(?:script|img|b)\b|href="(?!https:)|" ?onclick/);
  assert.match(found, /&lt;script>/);
});
