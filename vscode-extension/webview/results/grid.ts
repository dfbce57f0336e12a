/** The rows, of which only those that are seen are in the page. */
import type { Column, ResultRow } from '../../src/results/protocol';
import { element } from '../preview/dom';
import { Pages, rowAfter, scrollFor, windowOf, type Window } from './window';
import { cellText, givesReason, markOf, widthOf } from './words';

/** Pixels; the style has the same. */
const HEIGHT = 26;
const PAGE = 100;
/** Milliseconds that scrolling rests before rows are asked for. */
const REST = 40;
const WIDE = 700;

export interface Sorting {
  readonly column: string;
  readonly descending: boolean;
}

interface Hears {
  /** Rows from this place on are wanted. */
  wants(offset: number, limit: number): void;
  sorts(sorting: Sorting | undefined): void;
  /** A row was chosen by a click (`lights`) or a key. */
  chooses(row: ResultRow, lights: boolean): void;
  opens(row: ResultRow): void;
}

export class Grid {
  readonly element = element('div', { class: 'grid', role: 'grid', tabindex: '0', 'aria-label': 'Results', 'aria-readonly': 'true' });
  private readonly head = element('div', { class: 'row heads', role: 'row', 'aria-rowindex': '1' });
  private readonly space = element('div', { class: 'space', role: 'rowgroup' });
  private readonly pages = new Pages<ResultRow>(PAGE);
  private readonly asked = new Set<number>();
  private readonly shown = new Map<number, HTMLElement>();
  private columns: readonly Column[] = [];
  private sorting: Sorting | undefined;
  private total = 0;
  private active = 0;
  private chosen = '';
  /** A row is to be chosen that is not there yet. */
  private pending: { readonly lights: boolean } | undefined;
  private frame = 0;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private heads = '';

  constructor(private readonly hears: Hears) {
    const rows = element('div', { role: 'rowgroup', class: 'headgroup' }, this.head);
    this.element.append(rows, this.space);
    this.element.addEventListener('scroll', () => { this.soon(); }, { passive: true });
    new ResizeObserver(() => {
      this.arrange();
      this.soon();
    }).observe(this.element);
    this.element.addEventListener('keydown', (event) => { this.key(event); });
    this.space.addEventListener('click', ({ target }) => { this.click(target, false); });
    this.space.addEventListener('dblclick', ({ target }) => { this.click(target, true); });
  }

  /** Show other rows than before, from the first one on. */
  restart(sorting: Sorting | undefined): void {
    this.sorting = sorting;
    this.forget();
    this.active = 0;
    this.pending = undefined;
    this.element.scrollTop = 0;
    this.arrange();
  }

  /** What is there is out of date; it is shown until there is something newer. */
  forget(): void {
    this.asked.clear();
    this.pages.clear();
  }

  /** The first rows, or others that were wanted. */
  put(columns: readonly Column[], offset: number, rows: readonly ResultRow[], total: number): void {
    if (this.total !== total || this.columns !== columns) {
      this.total = total;
      this.columns = columns;
      this.arrange();
      this.space.style.height = `${total * HEIGHT}px`;
      this.element.setAttribute('aria-rowcount', String(total + 1));
      this.element.setAttribute('aria-colcount', String(columns.length));
      this.active = Math.max(0, Math.min(this.active, total - 1));
    }
    const number = Math.floor(offset / PAGE);
    this.asked.delete(number);
    this.pages.put(number, rows);
    for (const place of this.shown.keys()) if (Math.floor(place / PAGE) === number) this.stale(place);
    this.draw();
    if (this.pending !== undefined) this.choose(this.pending.lights);
  }

  /** Rows that were wanted can't be had now. */
  failed(offset: number): void {
    this.asked.delete(Math.floor(offset / PAGE));
  }

  /** The rows that are seen, as they are asked for. */
  get wanted(): { readonly offset: number; readonly limit: number } {
    return { offset: Math.floor(this.window.first / PAGE) * PAGE, limit: PAGE };
  }

  focus(): void {
    this.element.focus();
  }

  private get high(): number {
    return Math.max(HEIGHT, this.element.clientHeight - this.head.offsetHeight);
  }

  private get window(): Window {
    return windowOf(this.element.scrollTop, this.high, HEIGHT, this.total);
  }

  private soon(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** Put the rows that are seen into the page, and take the others out of it. */
  private draw(): void {
    const window = this.window;
    for (const [place, row] of this.shown) {
      if (place >= window.first && place < window.end) continue;
      row.remove();
      this.shown.delete(place);
    }
    for (let place = window.first; place < window.end; place += 1) {
      if (this.shown.has(place)) continue;
      const made = this.row(place);
      this.shown.set(place, made);
      this.space.append(made);
    }
    this.mark();
    if (this.pages.missing(window).some((number) => !this.asked.has(number))) {
      clearTimeout(this.rest);
      this.rest = setTimeout(() => { this.fetch(); }, REST);
    }
  }

  private fetch(): void {
    for (const number of this.pages.missing(this.window)) {
      if (this.asked.has(number)) continue;
      this.asked.add(number);
      this.hears.wants(number * PAGE, PAGE);
    }
  }

  private stale(place: number): void {
    const old = this.shown.get(place);
    if (old === undefined) return;
    const made = this.row(place);
    old.replaceWith(made);
    this.shown.set(place, made);
  }

  private row(place: number): HTMLElement {
    const row = this.pages.row(place);
    const made = element('div', { class: `row${place % 2 === 1 ? ' odd' : ''}`, role: 'row', id: `row-${place}`, 'aria-rowindex': String(place + 2), 'data-place': String(place) });
    made.style.transform = `translateY(${place * HEIGHT}px)`;
    if (row === undefined) {
      made.append(element('div', { class: 'cell', role: 'gridcell' }, '…'));
      return made;
    }
    made.dataset['verdict'] = row.verdict;
    const answers = this.columns.filter(({ kind }) => kind === 'answer').length;
    const first = this.columns.findIndex(({ kind }) => kind === 'answer');
    // Where there is no answer, the reason has the room of all.
    const reason = first >= 0 && row.cells.slice(first, first + answers).every((cell) => cell === '' || cell === null) && givesReason(row);
    for (const [at, column] of this.columns.entries()) {
      if (reason && at > first && at < first + answers) continue;
      const mark = reason && at === first ? 'reason' : markOf(column, row);
      const text = mark === 'reason' ? row.reason.replaceAll(/\s+/g, ' ') : cellText(column, row.cells[at]);
      const cell = element('div', { class: `cell ${column.kind} ${mark}`, role: column.kind === 'item' ? 'rowheader' : 'gridcell', 'aria-colindex': String(at + 1) });
      if (mark === 'reason') {
        cell.style.gridColumn = `span ${answers}`;
        cell.setAttribute('aria-colspan', String(answers));
      }
      // What isn't seen because it is too long is shown beside the rows; a title would say it all twice.
      cell.append(element('span', { dir: 'auto' }, text));
      if (mark === 'wrong') cell.setAttribute('aria-label', `${text === '' ? 'no answer' : text}, wrong`);
      if (mark === 'verdict' && row.people) cell.append(element('span', { class: 'people', 'aria-label': `called ${row.people}`, title: `Called ${row.people} by a person` }, row.people === 'good' ? '✓' : '✗'));
      made.append(cell);
    }
    return made;
  }

  /** The titles of the columns, and how wide these are. */
  private arrange(): void {
    const isWide = this.element.clientWidth > WIDE;
    const widths = this.columns.map((column) => widthOf(column, isWide));
    this.element.style.setProperty('--columns', widths.map(({ least, share }) => (share > 0 ? `minmax(${least}ch, ${share}fr)` : `${least}ch`)).join(' '));
    this.element.style.setProperty('--least', `${widths.reduce((sum, { least }) => sum + least, 0)}ch`);
    const heads = JSON.stringify([this.columns, this.sorting]);
    if (heads === this.heads) return;
    this.heads = heads;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset['column'] : undefined;
    this.head.replaceChildren(...this.columns.map((column, at) => this.title(column, at)));
    if (focused !== undefined) [...this.head.querySelectorAll<HTMLElement>('button')].find(({ dataset }) => dataset['column'] === focused)?.focus();
  }

  private title(column: Column, at: number): HTMLElement {
    const { name, title, kind } = column;
    const own = this.sorting?.column === name ? (this.sorting.descending ? 'descending' : 'ascending') : 'none';
    const sign = { none: '', ascending: '▲', descending: '▼' }[own];
    const button = element('button', { type: 'button', 'data-column': name, title: `Sort by ${title}` }, element('span', { dir: 'auto' }, title), element('span', { class: 'sign', 'aria-hidden': 'true' }, sign));
    button.addEventListener('click', () => {
      this.hears.sorts(own === 'none' ? { column: name, descending: false } : own === 'ascending' ? { column: name, descending: true } : undefined);
    });
    return element('div', { class: `cell ${kind}`, role: 'columnheader', 'aria-sort': own, 'aria-colindex': String(at + 1) }, button);
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = rowAfter(event.key, this.active, Math.max(1, Math.floor(this.high / HEIGHT) - 1), this.total);
    if (to !== undefined) {
      event.preventDefault();
      this.active = to;
      this.element.scrollTop = scrollFor(to, this.element.scrollTop, this.high, HEIGHT);
      this.draw();
      this.choose(false);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      const row = this.pages.row(this.active);
      if (row === undefined) return;
      if (event.key === 'Enter') this.hears.opens(row);
      this.choose(event.key === ' ');
    }
  }

  private click(target: EventTarget | null, opens: boolean): void {
    const place = target instanceof Element ? target.closest<HTMLElement>('.row')?.dataset['place'] : undefined;
    if (place === undefined) return;
    this.active = Number(place);
    const row = this.pages.row(this.active);
    if (opens && row !== undefined) this.hears.opens(row);
    else this.choose(true);
    this.mark();
  }

  private choose(lights: boolean): void {
    const row = this.pages.row(this.active);
    // A key may lead to a row that has to come first.
    this.pending = row === undefined ? { lights } : undefined;
    if (row === undefined) return;
    this.chosen = row.key;
    this.hears.chooses(row, lights);
    this.mark();
  }

  private mark(): void {
    for (const [place, row] of this.shown) {
      row.classList.toggle('active', place === this.active);
      row.setAttribute('aria-selected', String(this.chosen !== '' && this.pages.row(place)?.key === this.chosen));
    }
    if (this.shown.has(this.active)) this.element.setAttribute('aria-activedescendant', `row-${this.active}`);
    else this.element.removeAttribute('aria-activedescendant');
  }
}
