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

  /** Show `about` beside a part once the pointer has rested on it. */
  soon(about: About, beside: Element): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.show(about, beside); }, REST);
  }

  show(about: About, beside: Element): void {
    clearTimeout(this.timer);
    const { title, lines, findings, run } = about;
    const parts: Node[] = [element('div', { class: 'title' }, title, ...lines.map((line) => element('span', { class: 'role' }, line)))];
    if (run !== undefined) {
      const words = [STATES[run.state], run.detail].filter(Boolean).join(' · ');
      parts.push(element('div', { class: `line ${run.state}` }, icon(MARKS[run.state]), element('span', {}, words)));
    }
    for (const finding of findings) {
      const code = element('span', { class: 'code' }, finding.code);
      parts.push(
        element('div', { class: `line ${finding.severity}` }, icon(MARKS[finding.severity]), element('span', {}, finding.message, ' ', code)),
      );
    }
    this.element.replaceChildren(...parts);
    this.element.hidden = false;
    const [box, own] = [beside.getBoundingClientRect(), this.element.getBoundingClientRect()];
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
