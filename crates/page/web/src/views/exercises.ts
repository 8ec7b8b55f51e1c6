// Exercises: the list, one exercise with its text and hints, and what its checks say.
import { html, nothing, type TemplateResult } from 'lit-html';
import { editedOf, type App } from '../app.ts';
import { markdown } from '../markdown.ts';
import type { Exercise, ExerciseEntry, ExerciseResult } from '../protocol.ts';
import { keep } from '../storage.ts';
import { T } from '../texts.ts';

let current: Exercise | undefined;
let result: ExerciseResult | undefined;
let fault = '';
let works = false;
let epoch = -1;

export function draw(app: App): TemplateResult {
  if (epoch !== app.epoch) {
    epoch = app.epoch;
    current = undefined;
    result = undefined;
    // A link or a reload may show the files of an exercise.
    const asked = app.exercise ?? new URLSearchParams(location.search).get('exercise');
    if (asked !== null) void open(app, asked);
  }
  return html`<div class="view">
    <h2>${T.view.exercises}</h2>
    ${fault === '' ? nothing : html`<p class="bad" role="alert">${fault}</p>`}
    ${current === undefined ? list(app) : one(app, current)}
  </div>`;
}

/** Does something that may fail, and says why if it does. */
async function attempt(app: App, job: () => Promise<void>): Promise<void> {
  fault = '';
  works = true;
  app.draw();
  try {
    await job();
  } catch (error) {
    fault = error instanceof Error ? error.message : String(error);
  }
  works = false;
  app.draw();
}

const open = (app: App, exercise: string): Promise<void> =>
  attempt(app, async () => {
    current = await app.machine.request({ op: 'exercise', exercise, student: app.student });
    result = undefined;
  });

function list(app: App): TemplateResult {
  const named = (event: Event) => {
    app.student = (event.target as HTMLInputElement).value.trim();
    keep('student', app.student);
    app.draw();
  };
  return html`
    <p>${T.exercisesIntro}</p>
    <p class="row"><label class="row">${T.student} <input .value=${app.student} autocomplete="name" @change=${named}></label></p>
    ${app.exercises.length === 0 ? html`<p class="soft">${T.exercisesNone}</p>` : nothing}
    <ul class="exercises">${app.exercises.map((entry) => item(app, entry))}</ul>
    <p class="soft small">${T.exercisesGrader}</p>
  `;
}

function item(app: App, entry: ExerciseEntry): TemplateResult {
  const done = app.attempts[entry.id];
  const [sign, word] = done?.passed === true ? ['✓', T.solved] : done?.text !== undefined ? ['…', T.tried] : ['○', T.open];
  return html`<li><button @click=${() => open(app, entry.id)}>
    <span class="state ${done?.passed === true ? 'good' : 'soft'}" role="img" aria-label=${word}>${sign}</span>
    <span><strong>${entry.title}</strong><br><span class="soft">${entry.about}</span></span>
    <span class="soft small">${entry.minutes === null ? '' : T.minutes(entry.minutes)}</span>
  </button></li>`;
}

function one(app: App, exercise: Exercise): TemplateResult {
  const isHere = app.exercise === exercise.id;
  const load = exercise.load;
  const start = (again: boolean) => {
    if (load === null) return;
    if (again) app.keepAttempt(exercise.id, { text: editedOf(exercise.files)?.text ?? '' });
    const { op: _, ...starter } = load;
    void app.showExercise(exercise.id, starter);
  };
  const check = () =>
    attempt(app, async () => {
      const text = isHere ? app.edited()?.text : app.attempts[exercise.id]?.text;
      const [starter] = exercise.files;
      const files = [{ name: starter?.name ?? '', text: text ?? starter?.text ?? '' }];
      const found = await app.machine.request({ op: 'check', exercise: exercise.id, student: app.student, files });
      result = found;
      // A course system's script beside the page reports it (`tollgate lab scorm`).
      const detail = { score: found.score, of: found.of, passed: found.passed };
      window.dispatchEvent(new CustomEvent('tollgate-verdict', { detail }));
      app.keepAttempt(exercise.id, { ...(text === undefined ? {} : { text }), passed: found.passed });
      await app.refresh();
    });
  return html`<div class="exercise">
    <div class="row"><button class="plain" @click=${() => {
      current = undefined;
      fault = '';
      app.draw();
    }}>← ${T.exerciseBack}</button></div>
    <h3>${exercise.title}</h3>
    ${markdown(exercise.text)}
    <div class="row">
      ${load === null ? nothing : html`<button class=${isHere ? '' : 'primary'} @click=${() => start(isHere)}>${isHere ? T.exerciseAgain : T.exerciseStart}</button>`}
      <button class=${isHere ? 'primary' : ''} ?disabled=${works} @click=${check}>${works ? T.exerciseChecking : T.exerciseCheck}</button>
    </div>
    <div aria-live="polite">${result === undefined || result.id !== exercise.id ? nothing : verdict(result)}</div>
    ${hints(app, exercise)}
  </div>`;
}

function verdict(found: ExerciseResult): TemplateResult {
  return html`
    <p class=${found.passed ? 'good' : ''}><strong>${found.passed ? T.exercisePassed(found.score, found.of) : T.exerciseFailed(found.score, found.of)}</strong></p>
    ${found.errors.map((error) => html`<p class="bad">${T.problemLine(error.line, error.message)}</p>`)}
    <ul class="checks">
      ${found.checks.map((check) => html`<li class=${check.passed ? 'pass' : ''}><strong>${check.name}</strong> <span class="unseen">${check.passed ? T.solved : T.tried}</span> ${check.text}
        ${check.hint === null || check.passed ? nothing : html`<br><span class="soft">${check.hint}</span>`}</li>`)}
    </ul>
  `;
}

function hints(app: App, exercise: Exercise): TemplateResult | typeof nothing {
  const { hints: all } = exercise;
  if (all.length === 0) return nothing;
  const shown = Math.min(app.attempts[exercise.id]?.hints ?? 0, all.length);
  return html`<h4>${T.exerciseHints}</h4>
    <ol class="prose">${all.slice(0, shown).map((hint) => html`<li>${markdown(hint)}</li>`)}</ol>
    ${shown === all.length ? nothing : html`<button @click=${() => {
      app.keepAttempt(exercise.id, { hints: shown + 1 });
      app.draw();
    }}>${T.exerciseHint(shown + 1, all.length)}</button>`}`;
}
