import { element } from './dom';
import { TOOLS, icon } from './icons';

export interface Actions {
  readonly zoom: (factor: number) => void;
  readonly actualSize: () => void;
  readonly fit: () => void;
  readonly types: () => void;
  readonly memory: () => void;
  readonly folding: () => void;
  readonly follow: () => void;
  readonly find: () => void;
  readonly save: (format: 'svg' | 'png') => void;
}

/** The buttons above the picture, in a row of their own. */
export class Toolbar {
  readonly element: HTMLElement;
  private readonly percent: HTMLButtonElement;
  private readonly types: HTMLButtonElement;
  private readonly memory: HTMLButtonElement;
  private readonly folding: HTMLButtonElement;
  private readonly follow: HTMLButtonElement;
  private readonly which = element('span', { class: 'which' });

  constructor(actions: Actions) {
    this.percent = button('Actual size (1)', '100%', actions.actualSize);
    this.percent.classList.add('percent');
    this.types = button('Types on edges (T)', icon(TOOLS.types), actions.types);
    this.memory = button('Memory: who sees whose results (M)', icon(TOOLS.memory), actions.memory);
    this.folding = button('Draw equal steps as one (G)', icon(TOOLS.folding), actions.folding);
    this.folding.hidden = true;
    this.follow = button('Follow the run (R)', following(), actions.follow);
    this.follow.classList.add('follow');
    this.follow.hidden = true;
    this.element = element(
      'div',
      { class: 'toolbar', role: 'toolbar', 'aria-label': 'Preview' },
      this.which,
      this.follow,
      button('Find a node (Ctrl+F)', icon(TOOLS.find), actions.find),
      this.types,
      this.memory,
      this.folding,
      element('span', { class: 'gap' }),
      button('Zoom out (-)', icon(TOOLS.smaller), () => { actions.zoom(1 / 1.25); }),
      this.percent,
      button('Zoom in (+)', icon(TOOLS.larger), () => { actions.zoom(1.25); }),
      button('Fit all (0)', icon(TOOLS.fit), actions.fit),
      element('span', { class: 'gap' }),
      button('Export as SVG', saving('SVG'), () => { actions.save('svg'); }),
      button('Export as PNG', saving('PNG'), () => { actions.save('png'); }),
    );
  }

  showScale(scale: number): void {
    this.percent.textContent = `${Math.round(scale * 100)}%`;
  }

  showTypes(on: boolean): void {
    this.types.setAttribute('aria-pressed', String(on));
  }

  showMemory(on: boolean): void {
    this.memory.setAttribute('aria-pressed', String(on));
  }

  /** `on`: whether equal steps are drawn as one; undefined where there are none. */
  showFolding(on: boolean | undefined): void {
    this.folding.hidden = on === undefined;
    this.folding.setAttribute('aria-pressed', String(on === true));
  }

  /** Whether the way back to what the run does is offered. */
  showFollow(offered: boolean): void {
    this.follow.hidden = !offered;
  }

  showDiagram(number: number, count: number): void {
    this.which.textContent = count > 1 ? `Diagram ${number} of ${count}` : '';
  }
}

function following(): Node {
  const both = document.createDocumentFragment();
  both.append(icon(TOOLS.follow), 'Follow the run');
  return both;
}

function saving(name: string): Node {
  const both = document.createDocumentFragment();
  both.append(icon(TOOLS.save), name);
  return both;
}

/** A button with an icon or a word on it. */
export function button(title: string, content: Node | string, act: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', title, 'aria-label': title }, content);
  made.addEventListener('click', act);
  return made;
}
