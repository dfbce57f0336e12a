/** The page around that of a job, or around the list of all: what changes in it is exchanged, and what was opened stays open. */
import './document.css';
import { element, GONE, Head, listen, root } from './page';

const job = document.body.dataset['job'];
const at = job === undefined ? '' : `/${job.split('/').map(encodeURIComponent).join('/')}`;
const head = new Head(job === undefined ? 'Merrow' : (document.body.dataset['name'] ?? ''), job === undefined);
const frame = element('iframe', {
  // No scripts run in it.
  sandbox: 'allow-same-origin allow-top-navigation-by-user-activation',
  title: job === undefined ? 'Recent jobs' : 'The job',
});
document.body.append(head.element, frame);

let shown: string | undefined;
let isOver = false;

/** Have the frame show this page. */
function exchange(html: string): void {
  const made = new DOMParser().parseFromString(html, 'text/html');
  document.title = made.title === '' ? document.title : made.title;
  const inside = frame.contentDocument;
  const style = made.querySelector('style')?.textContent;
  if (shown === undefined || inside === null || inside.querySelector('style')?.textContent !== style) {
    shown = html;
    frame.src = `${root}/page${at}`;
    return;
  }
  shown = html;
  const open = new Set([...inside.querySelectorAll('details')].flatMap((part, index) => (part.open ? [placeOf(part, index)] : [])));
  const scrolled = [inside.documentElement.scrollLeft, inside.documentElement.scrollTop] as const;
  inside.body.replaceChildren(...made.body.childNodes);
  for (const [index, part] of [...inside.querySelectorAll('details')].entries()) if (open.has(placeOf(part, index))) part.open = true;
  inside.documentElement.scrollTo(...scrolled);
}

/** By what a folded text is found again: the row or heading that it is under, and its number there. */
function placeOf(part: HTMLDetailsElement, index: number): string {
  const row = part.closest('tr');
  if (row === null) return `${index} ${part.firstElementChild?.textContent ?? ''}`;
  return `${row.cells[0]?.textContent ?? ''} ${[...row.querySelectorAll('details')].indexOf(part)}`;
}

const source = listen(`/follow${at}`, {
  page: (html) => {
    exchange(String(html));
    if (!isOver) head.say(job === undefined ? '' : 'Follows it until it ends.', job === undefined ? '' : 'running');
  },
  over: () => {
    isOver = true;
    source.close();
    head.say('');
  },
  problem: (text) => {
    isOver = true;
    source.close();
    head.say(String(text), 'bad');
  },
}, (isLost) => {
  if (isLost && !isOver) head.say(GONE, 'bad');
});
