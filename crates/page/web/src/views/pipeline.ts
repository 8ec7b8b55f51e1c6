// The pipeline: one row for each instruction, one column for each cycle, and what each instruction waited for.
import { html, nothing, svg, type TemplateResult } from 'lit-html';
import { ref } from 'lit-html/directives/ref.js';
import type { Pipeline, PipelineRow } from '../protocol.ts';
import { columns, end, letter, waits, type Columns } from '../stages.ts';
import { T } from '../texts.ts';

const WIDTH = 16;
const HEIGHT = 18;

const scrolled = new WeakSet<Pipeline>();

export function pipeline(pipe: Pipeline): TemplateResult {
  if (pipe.rows.length === 0) return html`<p class="soft">${T.pipelineEmpty}</p>`;
  const layout = columns(pipe.rows);
  const width = layout.count * WIDTH + 4;
  // The newest instruction is at the bottom on the right: show it once, then leave the scrolling to the reader.
  const follow = (element: Element | undefined) => {
    if (element === undefined || scrolled.has(pipe)) return;
    scrolled.add(pipe);
    element.scrollTop = element.scrollHeight;
    element.scrollLeft = layout.of(pipe.rows.at(-1)?.stages[0]?.first ?? 0) * WIDTH - element.clientWidth / 2;
  };
  return html`
    <div class="pipeline" role="region" tabindex="0" aria-label=${T.card.pipeline} ${ref(follow)}>
      <table>
        <caption class="unseen">${T.pipelineCaption(pipe.core)}</caption>
        <thead>
          <tr>
            <th scope="col"><span class="unseen">${T.pipelineInstruction}</span></th>
            <th scope="col"><span class="unseen">${T.pipelineCycles}</span>${axis(layout, width)}</th>
            <th scope="col"><span class="unseen">${T.pipelineWhy}</span></th>
          </tr>
        </thead>
        <tbody>
          ${pipe.rows.map((row) => line(row, pipe.stages, layout, width))}
        </tbody>
      </table>
    </div>
    ${key(pipe.stages)}
  `;
}

function axis(layout: Columns, width: number): TemplateResult {
  return html`<svg width=${width} height="18" aria-hidden="true">
    ${layout.marks.map(({ column, cycle }) => svg`<text class="cycle" x=${column * WIDTH + 2} y="13">${cycle}</text>`)}
  </svg>`;
}

function line(row: PipelineRow, stages: string[], layout: Columns, width: number): TemplateResult {
  const reason = why(row);
  return html`<tr class=${row.squash === null ? '' : 'squashed'}>
    <th scope="row" title=${`${row.address} ${row.place}`}><span class="mode-letter ${row.mode}">${row.mode}</span> ${row.text || T.noInstruction}</th>
    <td>
      <span class="unseen">${T.rowInWords(row.stages.map(({ name, first }) => `${name} ${first}`).join(', '), [reason, ...abouts(row)].join(', '))}</span>
      <svg width=${width} height=${HEIGHT} aria-hidden="true" class=${row.squash === null ? '' : 'faded'}>
        ${layout.folds.map(({ column, cycles }) => svg`<rect class="fold" x=${column * WIDTH} y="0" width=${WIDTH} height=${HEIGHT}><title>${T.pipelineFold(cycles)}</title></rect>`)}
        ${row.stages.map((stage) => cell(stage, stages, layout))}
        ${row.squash === null && !row.traps ? nothing : cross(layout.of(end(row)))}
      </svg>
    </td>
    <td class="why" title=${abouts(row).join(' ')}>${reason === T.retired ? '' : reason}</td>
  </tr>`;
}

/** What each cause of its waits means. */
const abouts = (row: PipelineRow): string[] => [...new Set(row.waits.map((wait) => wait.about))];

/** What became of an instruction, in a few words. */
function why(row: PipelineRow): string {
  if (row.traps) return T.traps;
  if (row.squash !== null) return T.squashed(row.squash.by);
  const causes = [...waits(row)].map(([cause, cycles]) => T.waited(cause, cycles));
  return causes.length === 0 ? T.retired : causes.join(', ');
}

function cell(stage: PipelineRow['stages'][number], stages: string[], layout: Columns): TemplateResult {
  const from = layout.of(stage.first);
  const to = layout.of(stage.last);
  const color = `stage-${Math.max(0, stages.indexOf(stage.name)) % 8}`;
  return svg`
    ${to > from ? svg`<rect class="${color} pale" x=${(from + 1) * WIDTH} y="1" width=${(to - from) * WIDTH} height=${HEIGHT - 2}></rect>` : nothing}
    <rect class=${color} x=${from * WIDTH} y="1" width=${WIDTH - 1} height=${HEIGHT - 2} rx="1.5"></rect>
    <text class="stage" x=${from * WIDTH + WIDTH / 2 - 0.5} y="13">${letter(stage.name)}</text>`;
}

function cross(column: number): TemplateResult {
  const x = column * WIDTH + 4;
  return svg`<path class="cross" d="M${x} 5l8 8m0-8l-8 8"></path>`;
}

function key(stages: string[]): TemplateResult {
  return html`<ul class="key">
    ${stages.map((stage, at) => html`<li><i class="stage-${at % 8}">${letter(stage)}</i> ${stage}</li>`)}
    <li><i class="stage-0 pale"></i> ${T.pipelineKey}</li>
    <li><b class="bad">×</b> ${T.pipelineCross}</li>
  </ul>`;
}
