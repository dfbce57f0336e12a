import type { GraphNode } from '../../src/preview/protocol';
import { element } from './dom';
import { following, found } from './finding';
import { TOOLS, icon } from './icons';
import { button } from './toolbar';

export interface SearchActions {
  /** Frame what was found, and bring `now` into sight. */
  readonly show: (ids: readonly string[], now: string | undefined) => void;
  /** The search was closed at a node. */
  readonly closed: (now: string | undefined) => void;
}

/** The row in which nodes are searched by id, label and operator. */
export class Search {
  private readonly input = element('input', { type: 'text', placeholder: 'Find a node', 'aria-label': 'Find a node by id, label or operator', spellcheck: 'false' });
  private readonly count = element('span', { class: 'count', role: 'status' });
  readonly element = element(
    'div',
    { class: 'search', role: 'search', hidden: '' },
    this.input,
    this.count,
    button('Previous (Shift+Enter)', icon(TOOLS.previous), () => { this.step(-1); }),
    button('Next (Enter)', icon(TOOLS.next), () => { this.step(1); }),
    button('Close (Escape)', icon(TOOLS.close), () => { this.close(); }),
  );
  private nodes: readonly GraphNode[] = [];
  private ids: readonly string[] = [];
  private now: string | undefined;

  constructor(private readonly actions: SearchActions) {
    this.input.addEventListener('input', () => {
      this.look();
      this.now = this.ids.includes(this.now ?? '') ? this.now : this.ids[0];
      this.show();
    });
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.close();
      else if (event.key === 'Enter' && event.target === this.input) this.step(event.shiftKey ? -1 : 1);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  open(): void {
    this.element.hidden = false;
    this.input.focus();
    this.input.select();
    this.look();
    this.show();
  }

  close(): void {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.actions.show([], undefined);
    this.actions.closed(this.now);
  }

  /** The nodes of another text, in the picture that is shown now. */
  use(nodes: readonly GraphNode[]): void {
    this.nodes = nodes;
    if (this.element.hidden) return;
    this.look();
    this.say();
    this.actions.show(this.ids, undefined);
  }

  private look(): void {
    this.ids = found(this.nodes, this.input.value);
  }

  private step(step: 1 | -1): void {
    this.now = following(this.ids, this.now, step);
    this.show();
  }

  private show(): void {
    this.say();
    this.actions.show(this.ids, this.now);
  }

  private say(): void {
    const at = this.now === undefined ? -1 : this.ids.indexOf(this.now);
    if (this.input.value.trim() === '') this.count.textContent = '';
    else if (this.ids.length === 0) this.count.textContent = 'No node';
    else this.count.textContent = at < 0 ? `${this.ids.length}` : `${at + 1} of ${this.ids.length}`;
  }
}
