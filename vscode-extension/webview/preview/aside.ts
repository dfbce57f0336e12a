import { element } from './dom';

/** What a flowchart is that is no workflow, and what can be done with it. */
export class Aside {
  readonly element = element('div', { class: 'aside', role: 'note', hidden: '' });

  constructor(private readonly act: (act: 'run' | 'write out') => void) {}

  show(text: string | undefined, runs: boolean): void {
    this.element.hidden = text === undefined;
    this.element.replaceChildren(text ?? '', ...(runs ? [this.button('Run as drawn', 'run'), this.button('Write the operators out', 'write out')] : []));
  }

  private button(title: string, act: 'run' | 'write out'): HTMLButtonElement {
    const button = element('button', { type: 'button', class: 'anyway' }, title);
    button.addEventListener('click', () => { this.act(act); });
    return button;
  }
}
