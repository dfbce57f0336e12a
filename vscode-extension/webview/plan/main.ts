/** The page of plans: a box for the task, and below it the plans side by side, each with its diagram, figures and what it covers. */
import './style.css';
import type { Card, Cards, FromPage, ToPage } from '../../src/plans/protocol';
import { MOST_PLANS, wishOf } from '../../src/plans/wish';
import { currentTheme } from '../drawing/editorTheme';
import { Engine } from '../drawing/engine';
import { element } from '../preview/dom';
import { Pane } from '../proposal/pane';

declare function acquireVsCodeApi(): { postMessage(message: FromPage): void };

const editor = acquireVsCodeApi();
const { engine: source = '', nonce = '' } = document.body.dataset;
const engine = new Engine(fetch(source).then((answer) => answer.text()), nonce);

const task = element('textarea', { id: 'task', rows: '3', placeholder: 'What is to be done, for example: Write a web page for our conference, with the schedule and a map of the venue.' });
const number = element('input', { id: 'number', type: 'number', min: '1', max: String(MOST_PLANS), value: '3' });
const roles = element('input', { id: 'roles', type: 'text', placeholder: 'Any, or for example: Writer, Web designer' });
const agents = element('input', { id: 'agents', type: 'number', min: '1', placeholder: 'any' });
const tasksAtMost = element('input', { id: 'tasks', type: 'number', min: '1', max: '500', placeholder: '50' });
const drawn = element('input', { id: 'drawn', type: 'checkbox' });
const bounds = element(
  'details',
  { class: 'bounds' },
  element('summary', {}, 'Roles and Limits'),
  element('div', { class: 'fields' },
    element('label', { for: 'roles' }, 'Roles of agents'), roles,
    element('label', { for: 'agents' }, 'Agents at most'), agents,
    element('label', { for: 'tasks' }, 'Tasks at most'), tasksAtMost,
    element('label', { for: 'drawn' }, 'Plans may have Decisions, Loops and Maps'), drawn,
  ),
);
const plan = element('button', { type: 'submit', class: 'primary' }, 'Plan');
const stop = element('button', { type: 'button' }, 'Stop');
const about = element('p', { class: 'about' });
const status = element('p', { class: 'status', role: 'status' });
const problem = element('p', { class: 'problem', role: 'alert' });
const form = element(
  'form',
  {},
  element('label', { for: 'task' }, 'Task'),
  task,
  element('div', { class: 'row' }, element('label', { for: 'number' }, 'Plans to compare'), number, plan, stop, status),
  bounds,
  about,
  problem,
);
const results = element('main', { 'aria-label': 'Plans', tabindex: '-1' });
document.body.append(form, results);
stop.hidden = problem.hidden = status.hidden = true;

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const wish = wishOf({ task: task.value, number: number.value, roles: roles.value, agents: agents.value, tasks: tasksAtMost.value, drawn: drawn.checked });
  // What is asked for is what is shown.
  number.value = String(wish.n);
  roles.value = wish.roles?.join(', ') ?? '';
  agents.value = wish.maxAgents?.toString() ?? '';
  tasksAtMost.value = wish.maxNodes?.toString() ?? '';
  if (wish.task === '') {
    task.focus();
    return;
  }
  editor.postMessage({ plan: wish });
});
task.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit();
});
stop.addEventListener('click', () => {
  editor.postMessage('stop');
});

interface Shown { readonly pane: Pane; readonly text: string }
let shown: readonly Shown[] = [];
let turn = 0;

/** One after another: the frame draws one diagram at a time. */
async function draw(): Promise<void> {
  const now = (turn += 1);
  for (const { pane, text } of shown) {
    await pane.draw(engine, { text, theme: currentTheme(), edgeWords: {}, captions: 'ids', styles: {}, portable: false }, { added: [], removed: [], changed: [] }, () => now === turn);
  }
}

function show(cards: Cards | null): void {
  shown = [];
  if (cards === null) {
    results.replaceChildren();
    return;
  }
  const made = cards.cards.map((card) => article(card, cards.cards.length));
  shown = made.map(({ pane, text }) => ({ pane, text }));
  const parts: HTMLElement[] = [];
  if (made.length > 0) parts.push(element('div', { class: 'cards' }, ...made.map((one) => one.element)));
  else parts.push(element('h2', {}, 'No plan can be used'));
  if (cards.refused.length > 0) parts.push(element('ul', { class: 'refused', 'aria-label': 'Plans that can’t be used' }, ...cards.refused.map((one) => element('li', {}, one))));
  parts.push(element('footer', {}, ...cards.notes.map((note) => element('p', {}, note))));
  results.replaceChildren(...parts);
  results.querySelector<HTMLElement>('button')?.focus();
  void draw();
}

function article(card: Card, count: number): Shown & { readonly element: HTMLElement } {
  const name = `Plan ${card.rank}`;
  const pane = new Pane('', `${name} as a diagram`, true);
  const use = element('button', { type: 'button', 'aria-label': `Use plan ${card.rank}`, ...(card.rank === 1 ? { class: 'primary' } : {}) }, 'Use This Plan');
  use.addEventListener('click', () => {
    editor.postMessage({ use: card.rank });
  });
  const best = card.rank === 1 && count > 1 ? [element('span', { class: 'best' }, 'Best')] : [];
  const drawing = element('div', { class: 'drawing' }, pane.element);
  // The wheel scrolls the page; with Ctrl it enlarges the diagram.
  drawing.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
  }, { capture: true });
  const parts: HTMLElement[] = [
    element('header', {}, element('h2', {}, name, ...best), element('span', { class: 'about' }, card.title), use),
    drawing,
    figures(card),
  ];
  if (card.coverage !== null) parts.push(coverage(card.coverage));
  parts.push(tasks(card), ...card.notes.map((note) => element('p', { class: 'note-line' }, note)));
  return { pane, text: card.text, element: element('article', { 'aria-label': name }, ...parts) };
}

function figures(card: Card): HTMLElement {
  const rows = card.figures.map(({ rule, place, values, counts }) =>
    element('tr', counts ? { class: 'counts' } : {}, element('th', { scope: 'row' }, rule), element('td', {}, place), element('td', {}, values)),
  );
  const head = ['Ranking', 'Place', 'Figures'].map((title) => element('th', { scope: 'col' }, title));
  return element('div', {}, element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows)));
}

function coverage({ summary, lines }: NonNullable<Card['coverage']>): HTMLElement {
  const items = lines.map(({ requirement, tasks: by }) =>
    element('li', { class: by === '' ? 'missing' : 'met' }, element('span', { class: 'requirement' }, requirement), element('span', { class: 'about' }, by === '' ? 'not covered' : by)),
  );
  return element('section', { class: 'coverage' }, element('h3', {}, summary), element('ul', {}, ...items));
}

function tasks(card: Card): HTMLElement {
  const rows = card.tasks.flatMap(({ name, objective, agent }) => [
    element('dt', {}, name, ...(agent === '' ? [] : [element('span', { class: 'about' }, agent)])),
    element('dd', {}, objective),
  ]);
  return element('details', {}, element('summary', {}, 'Tasks'), element('dl', {}, ...rows));
}

addEventListener('message', ({ data, origin }: MessageEvent<ToPage>) => {
  // The drawing frame, which has no origin, speaks through its port alone.
  if (origin === 'null') return;
  if (data.task !== undefined) {
    if (data.task !== '') task.value = data.task;
    task.focus();
  }
  if (data.about !== undefined) about.textContent = data.about;
  if (data.status !== undefined) {
    status.textContent = data.status ?? '';
    status.hidden = stop.hidden = data.status === null;
    plan.disabled = data.status !== null;
  }
  if (data.problem !== undefined) {
    problem.textContent = data.problem ?? '';
    problem.hidden = data.problem === null;
  }
  if (data.cards !== undefined) show(data.cards);
});
let theme = JSON.stringify(currentTheme());
new MutationObserver(() => {
  const other = JSON.stringify(currentTheme());
  if (other === theme) return;
  theme = other;
  void draw();
}).observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-kind'] });
editor.postMessage('ready');
