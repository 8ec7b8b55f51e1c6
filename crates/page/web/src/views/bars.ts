// A few figures with bars that share one scale.
import { html, nothing, type TemplateResult } from 'lit-html';
import { count } from '../texts.ts';

export interface Bar {
  name: string;
  value: number;
  about?: string;
}

export function bars(rows: Bar[]): TemplateResult {
  const sum = rows.reduce((total, { value }) => total + value, 0);
  const most = Math.max(1, ...rows.map(({ value }) => value));
  return html`<table class="bars lined">
    <tbody>
      ${rows.map(({ name, value, about }, at) => html`<tr>
        <th scope="row">${name}</th>
        <td class="n">${count(value)}</td>
        <td class="n soft">${sum === 0 ? '' : `${Math.round((100 * value) / sum)} %`}</td>
        <td class="length" aria-hidden="true"><span class="track"><span class="stage-${at % 8}" style="width: ${(100 * value) / most}%"></span></span></td>
      </tr>${about === undefined || about === '' ? nothing : html`<tr class="about soft"><td colspan="4">${about}</td></tr>`}`)}
    </tbody>
  </table>`;
}
