/** All of one row, beside the rows. */
import type { FromResults, Whole, WholeCandidate, WholePair, WholeRow } from '../../src/results/protocol';
import { element } from '../preview/dom';
import { drawingOf } from './svg';
import { statusText, tookText } from './words';

const LONGEST_NOTE = '2000';
const VERDICTS = [['good', '✓ Good'], ['bad', '✗ Bad']] as const;

export function detailOf(whole: Whole, post: (message: FromResults) => void): HTMLElement[] {
  if ('candidate' in whole) return candidate(whole, post);
  if ('status' in whole) return [heading(whole), ...answerOf(whole, post), ...inputsOf(whole)];
  return pair(whole, post);
}

function heading({ title, repeat }: WholeRow): HTMLElement {
  return element('h2', { dir: 'auto' }, repeat > 0 ? `${title} (${repeat + 1})` : title);
}

function pair({ before, after }: WholePair, post: (message: FromResults) => void): HTMLElement[] {
  const shown = after ?? before;
  if (shown === null) return [];
  const side = (name: string, row: WholeRow | null) => [element('h3', {}, name), ...(row === null ? [element('p', { class: 'about' }, 'not asked')] : answerOf({ ...row, canRate: false }, post))];
  return [heading(shown), ...side('Before', before), ...side('After', after), ...inputsOf(shown)];
}

function answerOf(row: WholeRow, post: (message: FromResults) => void): HTMLElement[] {
  const { answers, reason, run, exhausted } = row;
  const made: HTMLElement[] = [element('p', {}, element('span', { class: `verdict ${row.status}` }, statusText(row)), ' ', element('span', { class: 'about' }, tookText(row)))];
  if (run !== '') {
    const button = element('button', { type: 'button', 'data-run': run }, 'Show Run');
    button.addEventListener('click', () => { post({ run, how: 'open' }); });
    made.push(element('p', {}, button));
  }
  for (const { name, read, gold, reason: why } of answers) {
    const title = name === '' ? 'Answer' : name;
    made.push(element('h3', { dir: 'auto' }, title), value(read, 'no answer'));
    if (gold !== '' && gold !== read) made.push(element('h4', {}, 'Expected'), value(gold, ''));
    if (why !== '' && gold !== read) made.push(element('p', { class: 'about', dir: 'auto' }, why));
  }
  if (reason !== '') made.push(element('h3', {}, 'Reason'), value(reason, ''));
  if (exhausted > 0) made.push(element('p', { class: 'about' }, `${exhausted} Loop${exhausted === 1 ? '' : 's'} stopped: the turns or the budget ran out.`));
  if (row.canRate) made.push(...rating(row, post));
  return made;
}

function inputsOf({ inputs }: WholeRow): HTMLElement[] {
  if (inputs === null) return [element('h3', {}, 'Inputs'), element('p', { class: 'about' }, 'unknown')];
  return Object.entries(inputs).flatMap(([name, text]) => [element('h3', { dir: 'auto' }, name), value(text, 'empty')]);
}

function value(text: string, empty: string): HTMLElement {
  return text === '' ? element('p', { class: 'about' }, empty) : element('pre', { tabindex: '0', dir: 'auto' }, text);
}

/** Buttons for what a person says of the answer, and a note beside it. */
function rating({ item, title, repeat, people = null, note }: WholeRow, post: (message: FromResults) => void): HTMLElement[] {
  const buttons = VERDICTS.map(([verdict, label]) => {
    const button = element('button', { type: 'button', class: 'secondary', 'aria-pressed': String(people === verdict), 'aria-label': verdict, 'data-rate': verdict }, label);
    // A second click takes it back.
    button.addEventListener('click', () => { post({ rate: { item, repeat, verdict: people === verdict ? null : verdict } }); });
    return button;
  });
  const made = element('p', { class: 'rating' }, ...buttons);
  if (people !== null) {
    const field = element('input', { type: 'text', class: 'note', 'data-rate': 'note', maxlength: LONGEST_NOTE, placeholder: 'Note', 'aria-label': `Note on the answer to ${title}` });
    field.defaultValue = note;
    field.addEventListener('change', () => { post({ rate: { item, repeat, verdict: people, note: field.value.trim() } }); });
    made.append(field);
  }
  return [element('h3', {}, 'What you say of it'), made];
}

function candidate(whole: WholeCandidate, post: (message: FromResults) => void): HTMLElement[] {
  const { candidate: number, parents, made: by, title, reason, criteria, changes, picture, text, exhausted } = whole;
  const from = parents.length === 0 ? 'The workflow that the search began with.' : `Made of round ${parents.join(' and round ')} by ${by}: ${title}`;
  const made: HTMLElement[] = [element('h2', {}, `Round ${number}`), element('p', { dir: 'auto' }, from)];
  if (parents.length > 0) {
    const actions = ([['apply', 'Apply'], ['difference', 'Show Difference']] as const).map(([how, label]) => {
      const button = element('button', { type: 'button', class: how === 'apply' ? '' : 'secondary' }, label);
      button.addEventListener('click', () => { post({ candidate: number, how }); });
      return button;
    });
    made.push(element('p', { class: 'actions' }, ...actions));
  }
  if (reason !== '') made.push(element('h3', {}, 'Why the model proposed it'), value(reason, ''));
  const marks = Object.entries(criteria).map(([name, mark]) => `${name} ${mark}`).join(', ');
  if (marks !== '') made.push(element('p', { class: 'about', dir: 'auto' }, `A judge gave it: ${marks}.`));
  if (exhausted > 0) made.push(element('p', { class: 'about' }, `${exhausted} of its answers come from Loops whose turns or budget ran out.`));
  if (changes.length > 0) made.push(element('h3', {}, 'What changed'), element('ul', { class: 'changes' }, ...changes.map((line) => element('li', { class: line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '', dir: 'auto' }, line))));
  if (picture !== '') made.push(element('h3', {}, 'Diagram'), element('div', { class: 'drawing' }, drawingOf(picture)));
  made.push(element('h3', {}, 'Text with prompts'), value(text, ''));
  return made;
}
