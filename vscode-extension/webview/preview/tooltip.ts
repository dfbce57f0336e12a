import { element } from './dom';
import { MARKS, icon } from './icons';
import { type About, STATES } from './words';

/** Milliseconds that a pointer rests on a part before its tooltip appears. */
const REST = 250;
const GAP = 8;

/** What is known about the part under the pointer or with the focus. */
export class Tooltip {
  readonly element = element('div', { class: 'tooltip', role: 'tooltip', hidden: '' });
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Show `about` beside a part, or at a point of the screen, once the pointer has rested on it. */
  soon(about: About, beside: Element, at?: readonly [x: number, y: number]): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.show(about, beside, at); }, REST);
  }

  show(about: About, beside: Element, at?: readonly [x: number, y: number]): void {
    clearTimeout(this.timer);
    const { title, lines, findings, run, passed } = about;
    const parts: Node[] = [element('div', { class: 'title' }, title, ...lines.map((line) => element('span', { class: 'role' }, line)))];
    if (run !== undefined) {
      const words = [STATES[run.state], run.detail].filter(Boolean).join(' · ');
      parts.push(element('div', { class: `line ${run.state}` }, icon(MARKS[run.state]), element('span', {}, words)));
    }
    if (passed !== undefined) {
      parts.push(element('div', { class: 'line passed' }, element('span', {}, passed.words)));
      if (passed.value !== undefined) parts.push(element('div', { class: 'value' }, passed.value === '' ? '(empty)' : passed.value));
    }
    for (const finding of findings) {
      const code = element('span', { class: 'code' }, finding.code);
      parts.push(
        element('div', { class: `line ${finding.severity}` }, icon(MARKS[finding.severity]), element('span', {}, finding.message, ' ', code)),
      );
    }
    this.element.replaceChildren(...parts);
    this.element.hidden = false;
    // The box of a long edge is far from the pointer.
    const [box, own] = [at === undefined ? beside.getBoundingClientRect() : new DOMRect(at[0], at[1], 0, GAP), this.element.getBoundingClientRect()];
    const left = Math.max(GAP, Math.min(box.left, innerWidth - own.width - GAP));
    const below = box.bottom + GAP;
    const top = below + own.height > innerHeight - GAP ? Math.max(GAP, box.top - own.height - GAP) : below;
    this.element.style.left = `${left}px`;
    this.element.style.top = `${top}px`;
  }

  hide(): void {
    clearTimeout(this.timer);
    this.element.hidden = true;
  }
}
