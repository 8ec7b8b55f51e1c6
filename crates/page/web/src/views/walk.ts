// The trap as a guided walk: what the hardware does in each step, each phase of the handler, and the return.
import { html, nothing, type TemplateResult } from 'lit-html';
import type { App, Walk } from '../app.ts';
import type { HardwareStep, HandlerPhase, TrapWalk } from '../protocol.ts';
import { MODES, T, count } from '../texts.ts';
import { bars } from './bars.ts';
import { instructions } from './listing.ts';

interface Stop {
  title: string;
  group: string;
  at: Walk['at'];
  count?: string;
  body(): TemplateResult;
}

/** The stops of a walk in order. */
function stops(app: App, trap: TrapWalk): Stop[] {
  const event = trap.trap;
  const hardware = (group: string, at: Walk['at']) => (step: HardwareStep): Stop => ({ title: step.title, group, at, body: () => hardwareStep(step) });
  const behind = { file: trap.toFile, line: trap.toLine };
  const last = trap.handler.at(-1)?.listing.at(-1) ?? behind;
  return [
    {
      title: event.interrupt ? T.walkBeforeInterrupt : T.walkBefore,
      group: '',
      at: trap,
      body: () => html`<p>${
        event.interrupt
          ? T.walkBeforeInterruptText(event.place || event.epc, MODES[event.from])
          : T.walkBeforeText(trap.instruction, event.place || event.epc, MODES[event.from])
      }</p>`,
    },
    ...trap.hardware.map(hardware(T.walkHardware, trap)),
    ...trap.handler.map((phase): Stop => ({
      title: phase.phase,
      group: T.walkHandler,
      at: phase.listing[0] ?? trap,
      count: phase.cycles === null ? count(phase.instructions) : count(phase.cycles),
      body: () => handlerPhase(app, phase),
    })),
    ...trap.return.map(hardware(T.walkReturn, last)),
    { title: T.walkAfter, group: '', at: behind, body: () => afterwards(app, trap) },
  ];
}

export function walk(app: App, { trap, step }: Walk): TemplateResult {
  const event = trap.trap;
  const all = stops(app, trap);
  const at = Math.min(step, all.length - 1);
  const now = all[at];
  const go = (to: number) => {
    const step = Math.max(0, Math.min(to, all.length - 1));
    app.setWalk({ trap, step, at: all[step]?.at ?? trap });
    requestAnimationFrame(showCurrent);
  };
  const keys = (pressed: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[pressed.key];
    if (by === undefined || pressed.target instanceof HTMLInputElement || (pressed.target as Element).closest('[role=region]') !== null) return;
    pressed.preventDefault();
    go(at + by);
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.walk [aria-current="step"]')?.focus({ preventScroll: true }));
  };
  return html`<section class="walk" id="walk" tabindex="-1" aria-labelledby="walk-title" @keydown=${keys}>
    <header>
      <div class="row">
        <h3 id="walk-title" class="grow">${T.walkTitle(event.cause)}</h3>
        <button class="plain" @click=${() => app.setWalk(undefined)}>${T.walkClose}</button>
      </div>
      <p class="soft small">${
        trap.to === null
          ? T.walkNoReturn(MODES[event.from], MODES[event.to])
          : T.walkSummary(MODES[event.from], MODES[event.to], trap.instructions, trap.cycles)
      } ${trap.nested > 0 ? T.walkNested(trap.nested) : ''}</p>
    </header>
    <div class="body">
      <ol aria-label=${T.walkSteps} class="scroll">
        ${all.map((each, index) => html`
          ${each.group !== '' && each.group !== all[index - 1]?.group ? html`<li class="group">${each.group}${each.count === undefined ? nothing : html`<span class="count">${trap.cycles === null ? T.unitInstructions : T.unitCycles}</span>`}</li>` : nothing}
          <li><button aria-current=${index === at ? 'step' : 'false'} @click=${() => go(index)}>${each.title}${each.count === undefined ? nothing : html`<span class="count">${each.count}</span>`}</button></li>`)}
      </ol>
      <div class="now">
        <div class="row">
          <button ?disabled=${at === 0} @click=${() => go(at - 1)}>${T.walkPrevious}</button>
          <button class="primary" ?disabled=${at === all.length - 1} @click=${() => go(at + 1)}>${T.walkNext}</button>
          <span class="soft small">${T.walkStepOf(at + 1, all.length)}</span>
        </div>
        <div aria-live="polite">
          <h4>${now?.title}</h4>
          ${now?.body()}
        </div>
      </div>
    </div>
  </section>`;
}

/** Scrolls the list of steps to the current one, and the page to what it says. */
function showCurrent(): void {
  const current = document.querySelector<HTMLElement>('.walk [aria-current="step"]');
  const list = current?.closest('ol');
  if (current == null || list == null) return;
  const by = current.getBoundingClientRect().top - list.getBoundingClientRect().top;
  if (by < 0) list.scrollTop += by;
  else list.scrollTop += Math.max(0, by + current.offsetHeight - list.clientHeight);
  // On a phone the list is below what it chooses.
  document.querySelector('.walk .now h4')?.scrollIntoView({ block: 'nearest' });
}

function hardwareStep(step: HardwareStep): TemplateResult {
  return html`<p>${step.text}</p>
    ${step.changes.length === 0
      ? nothing
      : html`<table class="lined">
          <thead><tr><th scope="col">${T.name}</th><th scope="col">${T.before}</th><th scope="col">${T.afterwards}</th><th scope="col">${T.meaning}</th></tr></thead>
          <tbody>
            ${step.changes.map((change) => html`<tr>
              <th scope="row" class="mono">${change.name}</th>
              <td class="mono">${change.before}</td>
              <td class="mono"><span class="changed">${change.after}</span></td>
              <td>${change.meaning}</td>
            </tr>`)}
          </tbody>
        </table>`}
    ${step.section === '' ? nothing : html`<p class="soft small">${T.walkSection(step.section)}</p>`}`;
}

function handlerPhase(app: App, phase: HandlerPhase): TemplateResult {
  return html`<p>${T.walkPhase(phase.instructions, phase.cycles, phase.loads, phase.stores)}</p>
    ${phase.causes.length === 0 ? nothing : html`<p class="small soft">${T.walkPhaseCauses}</p>${bars(phase.causes.map(({ cause, about, cycles }) => ({ name: cause, about, value: cycles })))}`}
    ${instructions(phase.listing, phase.phase, app.state?.pc)}
    <div class="row"><button ?disabled=${!app.canMove} @click=${() => app.runTo(phase.from)}>${T.walkHere}</button></div>`;
}

function afterwards(app: App, trap: TrapWalk): TemplateResult {
  if (trap.to === null) return html`<p>${T.walkAfterUnknown}</p>`;
  return html`<p>${T.walkAfterText(trap.toPlace || trap.to)}</p>
    ${trap.changed.length === 0
      ? html`<p>${T.walkUnchanged}</p>`
      : html`<p>${T.walkChanged}</p>
        <table class="lined"><thead><tr><th scope="col">${T.name}</th><th scope="col">${T.before}</th><th scope="col">${T.afterwards}</th></tr></thead><tbody>
          ${trap.changed.map(({ name, before, after }) => html`<tr><th scope="row" class="mono">${name}</th><td class="mono">${before}</td><td class="mono"><span class="changed">${after}</span></td></tr>`)}
        </tbody></table>`}
    <p>${T.walkNextTrapText}</p>
    <div class="row"><button ?disabled=${!app.canMove} @click=${() => app.follow()}>${T.walkNextTrap}</button></div>`;
}
