/** Questions to people in words: foreign text in them has an end and hides nothing. Pure. */
import type { OpenQuestion, Question } from './protocol';

const LONGEST = 200;
/** Characters that move the cursor, turn the direction of writing, or can't be seen. */
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** A text with nothing in it that hides or drives anything. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(HIDDEN, '\ufffd');
}

/** The same in one line, with an end. */
export function inLine(text: string, longest = LONGEST): string {
  const line = visible(text.slice(0, 20 * longest)).split(/\s+/).join(' ').trim();
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

/** The status item's text. */
export function countText(count: number): string {
  return `$(comment-unresolved) ${count} question${count === 1 ? '' : 's'}`;
}

/** Who asks what, in a line. */
export function asksText({ visit, question }: Pick<OpenQuestion, 'visit' | 'question'>): string {
  return `${inLine(visit, 80)} asks: ${inLine(question)}`;
}

/** Until when it can be answered. */
export function untilText(deadline: number | null, now: number): string {
  if (deadline === null) return '';
  const left = deadline - now;
  if (left <= 0) return 'its deadline has passed';
  const [count, unit] = left >= 172_800 ? [left / 86_400, 'days'] : left >= 7_200 ? [left / 3_600, 'hours'] : [left / 60, 'minutes'];
  const whole = Math.max(1, Math.floor(count));
  return `${whole} ${whole === 1 ? unit.slice(0, -1) : unit} left`;
}

/** All of a question, as plain text for a document. */
export function wholeText({ visit, run, from, question, shown, problems, deadline }: Question, now: number): string {
  const until = untilText(deadline, now);
  // Of a path the file: the line is not wrapped.
  return [
    `${inLine(visit, 80)} of ${inLine(from.split(/[\\/]/).at(-1) ?? from)} (run ${inLine(run, 80)}) asks a person${until === '' ? '' : ` (${until})`}:`,
    visible(question),
    ...problems.map((problem) => `An earlier answer was not accepted: ${visible(problem)}`),
    ...shown.map(({ title, text }) => `--- ${inLine(title)} ---\n${visible(text)}`),
  ].join('\n\n');
}

/** Whether a question has more to read than a line. */
export function isLong({ question, shown, problems }: Question): boolean {
  return question.trim().length > LONGEST || question.trim().includes('\n') || shown.length > 0 || problems.length > 0;
}
