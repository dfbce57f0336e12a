/** What stands above the rows. */
import type { Confusion, FieldChoice, FieldHead, Gate, Head, HeadAction } from '../../src/results/protocol';
import { element } from '../preview/dom';
import { drawingOf } from './svg';

const ACTIONS: Readonly<Record<HeadAction, string>> = { resume: 'Continue', file: 'Open the File', best: 'Compare With the Best' };

interface Hears {
  acts(act: HeadAction): void;
  filters(field: FieldChoice): void;
}

export function headOf(head: Head, hears: Hears): DocumentFragment {
  const made = document.createDocumentFragment();
  const actions = head.actions.map((act) => {
    const button = element('button', { type: 'button', class: act === 'resume' ? '' : 'secondary', 'data-act': act }, ACTIONS[act]);
    button.addEventListener('click', () => { hears.acts(act); });
    return button;
  });
  made.append(
    element('div', { class: 'title' }, element('h1', { dir: 'auto' }, head.title), ...gateOf(head.gate), element('span', { class: 'actions' }, ...actions)),
    element('p', { class: 'about', dir: 'auto' }, head.about.join(' · ')),
  );
  if (head.failure !== '') made.append(element('p', { class: 'failure', dir: 'auto' }, head.failure));
  for (const note of head.notes) made.append(element('p', { class: 'note', dir: 'auto' }, note));
  if (head.fields.length > 0) made.append(element('div', { class: 'fields' }, ...head.fields.map((field) => fieldOf(field, hears))));
  if (head.charts.length > 0) made.append(folded('charts', 'Charts', ...head.charts.map((chart) => element('div', { class: 'drawing' }, drawingOf(chart)))));
  if (head.effects.length > 0) made.append(effectsOf(head));
  return made;
}

function gateOf(gate: Gate | undefined): HTMLElement[] {
  return gate === undefined ? [] : [element('span', { class: `gate ${gate.passed ? 'passed' : 'failed'}` }, gate.words)];
}

function fieldOf(field: FieldHead, hears: Hears): HTMLElement {
  const { name, score, about, gate, confusion } = field;
  const words = element('p', {}, element('strong', { dir: 'auto' }, name), ` ${score} `, element('span', { class: 'about' }, about), ' ', ...gateOf(gate));
  const made = element('section', { class: 'field' }, words);
  if (confusion !== undefined) made.append(folded(`confusion ${name}`, 'Right values and answers', confusionTable(name, confusion, (choice) => { hears.filters(choice); })));
  return made;
}

function confusionTable(name: string, { reads, rows, precision }: Confusion, filters: (field: FieldChoice) => void): HTMLElement {
  const heads = ['Expected', ...reads.map((read) => (read === '' ? 'no answer' : read)), 'Recall'].map((text, at) => element('th', { scope: 'col', dir: 'auto', class: at === 0 ? '' : 'number' }, text));
  const lines = rows.map(({ gold, counts, recall }) => {
    const cells = counts.map((count, at) => {
      const read = reads[at] ?? '';
      if (count === null) return element('td', { class: 'number' });
      const button = element('button', { type: 'button', class: `count ${read === gold ? 'right' : 'wrong'}`, title: `Show these rows: ${gold} answered as ${read === '' ? 'nothing' : read}` }, count.toLocaleString('en'));
      button.addEventListener('click', () => { filters({ name, read, gold }); });
      return element('td', { class: 'number' }, button);
    });
    return element('tr', {}, element('th', { scope: 'row', dir: 'auto' }, gold), ...cells, element('td', { class: 'number' }, recall));
  });
  const last = element('tr', {}, element('th', { scope: 'row' }, 'Precision'), ...precision.map((share) => element('td', { class: 'number' }, share)), element('td'));
  return element('table', {}, element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...lines, last));
}

function effectsOf({ effects }: Head): HTMLElement {
  const heads = ['Part', 'Adds', '95 % interval', 'Candidates'].map((text) => element('th', { scope: 'col' }, text));
  const lines = effects.map(({ what, mean, interval, candidates }) => element('tr', {}, element('td', { dir: 'auto' }, what), ...[mean, interval, candidates].map((text) => element('td', { class: 'number' }, text))));
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...lines));
  const about = 'What a linear model of these scores says that each part adds, all else being equal. It describes this search and is not a test.';
  return folded('effects', 'What helps', element('p', { class: 'about' }, about), table);
}

/** Something that is seen after a click; `key` finds it again in a newer head. */
function folded(key: string, summary: string, ...parts: HTMLElement[]): HTMLDetailsElement {
  return element('details', { 'data-key': key }, element('summary', {}, summary), element('div', { class: 'folded' }, ...parts));
}
