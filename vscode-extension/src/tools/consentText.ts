/** What the user agrees to, as text. Pure. The server has escaped what could hide in it or drive anything. */
import { visible } from '../people/words';
import type { Consent } from './protocol';

/** What a dialog can show: beyond that nobody sees the whole of it there. */
const MOST_LINES = 24;
const MOST = 1_200;
const LONGEST_LINE = 200;

/** Whether a dialog can show all of it. */
export function isShort(consent: Consent): boolean {
  const lines = modalDetail(consent).split('\n');
  return lines.length <= MOST_LINES && lines.every((line) => line.length <= LONGEST_LINE) && lines.join('\n').length <= MOST;
}

/** The text below the title of a dialog. */
export function modalDetail({ shown, question, from }: Consent): string {
  const parts = shown.map(({ title, text }) => `${visible(title)}\n${visible(text)}`);
  const isNamed = shown.some(({ text }) => text.includes(JSON.stringify(from)));
  return [...parts, ...(isNamed ? [] : [`In ${visible(from)}.`]), visible(question)].join('\n\n');
}

/** All of it, as a document. */
export function wholePage({ title, shown, question, from }: Consent): string {
  return [visible(title), ...shown.map((section) => `--- ${visible(section.title)} ---\n${visible(section.text)}`), `In ${visible(from)}.`, visible(question)].join('\n\n') + '\n';
}
