/** The page of results: what a job came to, its rows, and all of the row that is chosen. */
import './style.css';
import type { Column, FieldChoice, FromResults, Head, PageRequest, ResultPage, ResultRow, ToResults } from '../../src/results/protocol';
import { element } from '../preview/dom';
import { Asking } from './asking';
import { detailOf } from './detail';
import { Grid, type Sorting } from './grid';
import { headOf } from './head';
import { countText } from './words';

declare function acquireVsCodeApi(): { postMessage(message: FromResults): void };

/** Milliseconds that typing, and going through rows by keys, rests before something is asked for. */
const TYPED = 250;
const WALKED = 120;
/** Pixels of height from which tables of right values and answers are open at first. */
const TALL = 760;

const editor = acquireVsCodeApi();
const post = (message: FromResults) => { editor.postMessage(message); };
const asking = new Asking(post);

const head = element('header', { tabindex: '-1' });
const chips = element('span', { class: 'chips', role: 'group', 'aria-label': 'Show only' });
const search = element('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search in the rows', spellcheck: 'false' });
const within = element('select', { 'aria-label': 'Search in' });
const picked = element('button', { type: 'button', class: 'chip picked', title: 'Show all values again' });
const status = element('span', { class: 'status', role: 'status' });
const problem = element('p', { class: 'failure', role: 'alert' });
const detail = element('aside', { 'aria-label': 'The chosen row', tabindex: '-1' });
const close = element('button', { type: 'button', class: 'close', 'aria-label': 'Close', title: 'Close' }, '✕');
const words = element('div', { class: 'whole' });
const grid = new Grid({
  wants: (offset, limit) => void load(offset, limit),
  sorts: (wanted) => {
    sorting = wanted;
    restart();
  },
  chooses: (row, lights) => { choose(row, lights); },
  opens: (row) => {
    if (row.run !== '') post({ run: row.run, how: 'open' });
  },
});
detail.append(close, words);
detail.hidden = picked.hidden = problem.hidden = true;
const bar = element('div', { class: 'bar', role: 'search' }, chips, picked, search, within, status);
document.body.append(head, problem, bar, element('main', {}, grid.element, detail));

/** What is looked for. */
const verdicts = new Set<string>();
let field: FieldChoice | undefined;
let sorting: Sorting | undefined;
let columns: readonly Column[] = [];
/** Grows with what is looked for: answers to what was looked for before are left out. */
let edition = 0;
let chosen = '';
let wasDrawn = false;

function request(offset: number, limit: number): PageRequest {
  return {
    offset,
    limit,
    ...(sorting === undefined ? {} : { sort: sorting.column, descending: sorting.descending }),
    ...(verdicts.size > 0 ? { verdicts: [...verdicts] } : {}),
    ...(search.value.trim() === '' ? {} : { search: search.value, ...(within.value === '' ? {} : { within: within.value }) }),
    ...(field === undefined ? {} : { field }),
  };
}

async function load(offset: number, limit: number, withHead = false): Promise<void> {
  const own = edition;
  const answer = await asking.ask({ page: request(offset, limit), head: withHead });
  if (own !== edition) return;
  if ('page' in answer) {
    problem.hidden = true;
    if (answer.head !== undefined) drawHead(answer.head);
    take(answer.page);
  } else if ('problem' in answer) {
    grid.failed(offset);
    problem.textContent = answer.problem;
    problem.hidden = false;
  }
}

function restart(): void {
  edition += 1;
  grid.restart(sorting);
  void load(0, grid.wanted.limit);
}

function take(page: ResultPage): void {
  if (JSON.stringify(columns) !== JSON.stringify(page.columns)) {
    columns = page.columns;
    const before = within.value;
    within.replaceChildren(element('option', { value: '' }, 'all columns'), ...columns.filter(({ kind }) => ['item', 'input', 'answer', 'expected', 'text'].includes(kind)).map(({ name, title }) => element('option', { value: name }, title)));
    within.value = columns.some(({ name }) => name === before) ? before : '';
  }
  drawChips(page.verdicts);
  status.textContent = countText(page.total, page.all);
  grid.put(columns, page.offset, page.rows, page.total);
}

function drawHead(shown: Head): void {
  const open = new Set([...head.querySelectorAll<HTMLDetailsElement>('details[open]')].map(({ dataset }) => dataset['key']));
  const scrolled = head.scrollTop;
  const act = document.activeElement instanceof HTMLElement && head.contains(document.activeElement) ? document.activeElement.dataset['act'] : undefined;
  head.replaceChildren(headOf(shown, {
    acts: (wanted) => { post({ act: wanted }); },
    filters: (wanted) => {
      field = wanted;
      const read = wanted.read === '' ? 'no answer' : wanted.read;
      picked.textContent = `${wanted.name}: ${wanted.gold === wanted.read ? wanted.gold ?? '' : `${wanted.gold ?? ''} answered as ${read ?? ''}`} ✕`;
      picked.hidden = false;
      restart();
    },
  }));
  for (const one of head.querySelectorAll<HTMLDetailsElement>('details')) {
    const key = one.dataset['key'] ?? '';
    one.open = wasDrawn ? open.has(key) : key.startsWith('confusion') && innerHeight >= TALL;
  }
  wasDrawn = true;
  if (act !== undefined) head.querySelector<HTMLElement>(`[data-act="${act}"]`)?.focus();
  head.scrollTop = scrolled;
}

function drawChips(counts: Readonly<Record<string, number>>): void {
  const made = Object.entries(counts).map(([verdict, count]) => {
    const chip = element('button', { type: 'button', class: `chip ${verdict.replaceAll(' ', '-')}`, 'aria-pressed': String(verdicts.has(verdict)), 'data-verdict': verdict }, `${count.toLocaleString('en')} ${verdict}`);
    chip.addEventListener('click', () => {
      if (!verdicts.delete(verdict)) verdicts.add(verdict);
      restart();
    });
    return chip;
  });
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset['verdict'] : undefined;
  chips.replaceChildren(...made);
  if (focused !== undefined) made.find(({ dataset }) => dataset['verdict'] === focused)?.focus();
}

let walking: ReturnType<typeof setTimeout> | undefined;

/** Show all of a row, and its run in the preview where it was clicked. */
function choose({ key, run }: ResultRow, lights: boolean): void {
  chosen = key;
  if (lights && run !== '') post({ run, how: 'light' });
  clearTimeout(walking);
  walking = setTimeout(() => void whole(key), lights ? 0 : WALKED);
}

async function whole(key: string): Promise<void> {
  if (key === '') return;
  const answer = await asking.ask({ key });
  if (key !== chosen) return;
  const focused = document.activeElement instanceof HTMLElement && words.contains(document.activeElement) ? document.activeElement : undefined;
  if (focused instanceof HTMLInputElement && focused.dataset['rate'] === 'note' && focused.value !== focused.defaultValue && wasFor === key) return;
  const isSame = wasFor === key;
  wasFor = key;
  const scrolled = detail.scrollTop;
  words.replaceChildren(...('whole' in answer ? detailOf(answer.whole, post) : 'problem' in answer ? [element('p', { class: 'failure' }, answer.problem)] : []));
  detail.hidden = false;
  detail.scrollTop = isSame ? scrolled : 0;
  const rate = focused?.dataset['rate'];
  if (rate !== undefined) words.querySelector<HTMLElement>(`[data-rate="${rate}"]`)?.focus();
}

/** The row that is shown beside the others. */
let wasFor = '';

let typing: ReturnType<typeof setTimeout> | undefined;
search.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(restart, TYPED);
});
search.addEventListener('keydown', ({ key }) => {
  if (key === 'ArrowDown') grid.focus();
});
within.addEventListener('change', () => {
  if (search.value.trim() !== '') restart();
});
picked.addEventListener('click', () => {
  field = undefined;
  picked.hidden = true;
  restart();
  grid.focus();
});
close.addEventListener('click', () => {
  chosen = wasFor = '';
  detail.hidden = true;
  grid.focus();
});
addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !detail.hidden) close.click();
  if (event.key === 'f' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    search.focus();
  }
});
addEventListener('message', ({ data }: MessageEvent<ToResults>) => {
  if (data !== 'changed') {
    asking.answered(data);
    return;
  }
  grid.forget();
  const { offset, limit } = grid.wanted;
  void load(offset, limit, true);
  if (chosen !== '') void whole(chosen);
});
void load(0, grid.wanted.limit, true);
