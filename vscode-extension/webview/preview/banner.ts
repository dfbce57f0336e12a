import type { RevisionAct, RevisionNote } from '../../src/preview/protocol';
import { element } from './dom';

interface Button {
  readonly act: RevisionAct;
  readonly words: string;
}

const DIFFERENCE: Button = { act: 'difference', words: 'Show Difference' };
const WAITS: readonly Button[] = [{ act: 'apply', words: 'Apply' }, { act: 'refuse', words: 'Refuse' }, DIFFERENCE];
const APPLIED: readonly Button[] = [{ act: 'accept', words: 'Accept into the File' }, DIFFERENCE];
const BACK: Button = { act: 'back', words: 'Go Back' };

/** The newest revision of the run that is shown: what it says, and what can be done about it. */
export class Banner {
  readonly element = element('div', { class: 'revision', role: 'status', 'aria-label': 'Revision of the run', hidden: '' });
  private shown = '';

  constructor(private readonly act: (act: RevisionAct, revision: number) => void) {}

  show(note: RevisionNote | null, isOver: boolean): void {
    // The buttons stay while nothing changes: a click may be on its way.
    const now = JSON.stringify([note, isOver]);
    if (now === this.shown) return;
    this.shown = now;
    this.element.hidden = note === null;
    if (note === null) return;
    this.element.classList.toggle('waits', note.waits);
    const about = [note.by, note.effect].filter((part) => part !== '').join(': ');
    const title = `Revision ${note.number}${note.waits ? ' waits for you' : ''}`;
    const words = element('span', { class: 'words' }, element('strong', {}, title), ` ${note.reason}`, element('span', { class: 'effect' }, note.reason === '' ? about : ` (${about})`));
    const buttons = note.waits ? WAITS : isOver ? APPLIED : [...APPLIED, BACK];
    const acts = buttons.map(({ act, words: shown }, index) => {
      const button = element('button', { type: 'button', ...(index === 0 ? { class: 'first' } : {}) }, shown);
      button.addEventListener('click', () => { this.act(act, note.number); });
      return button;
    });
    this.element.replaceChildren(words, element('span', { class: 'acts' }, ...acts));
  }
}
