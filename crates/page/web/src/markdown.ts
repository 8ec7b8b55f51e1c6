// Markdown of exercises and sheets, as elements.
import { html, type TemplateResult } from 'lit-html';
import { unsafeHTML } from 'lit-html/directives/unsafe-html.js';
import { Marked } from 'marked';

/** Headings begin below those of the view; raw HTML is shown as text. */
const marked = new Marked({
  renderer: {
    heading({ tokens, depth }) {
      const level = Math.min(6, depth + 2);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    html: ({ text }) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      return /^https?:\/\//.test(href) ? `<a href="${href.replaceAll('"', '%22')}" target="_blank" rel="noopener">${text}</a>` : text;
    },
    image: ({ text }) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
  },
});

export const toHtml = (text: string): string => marked.parse(text, { async: false });

export const markdown = (text: string): TemplateResult => html`<div class="prose">${unsafeHTML(toHtml(text))}</div>`;
