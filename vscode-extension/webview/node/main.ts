/** The panel of a run: takes the HTML that the extension made, and keeps what the reader opened and where the reader is. */
import './style.css';
import './episode.css';

type Said = 'ready' | 'newest' | 'whole' | 'set' | 'model' | 'case' | { readonly visit: string } | { readonly revision: number } | { readonly copy: string } | { readonly open: string };

declare function acquireVsCodeApi(): { postMessage(message: Said): void };

interface Message {
  /** What is shown; the same again keeps its place. */
  readonly key: string;
  readonly html: string;
}

const root = document.createElement('main');
document.body.append(root);
let shown: string | undefined;
/** The long values that the reader has unfolded. */
let unfolded = new Set<string>();

addEventListener('message', ({ data }: MessageEvent<Message>) => {
  const again = data.key === shown;
  const open = new Map([...root.querySelectorAll('details')].map((part) => [part.dataset['key'], part.open]));
  const scrolled = document.documentElement.scrollTop;
  shown = data.key;
  if (!again) unfolded = new Set();
  root.innerHTML = data.html;
  if (again) {
    for (const part of root.querySelectorAll('details')) part.open = open.get(part.dataset['key']) ?? part.open;
    for (const value of root.querySelectorAll<HTMLElement>('.value.long')) fold(value, !unfolded.has(value.dataset['fold'] ?? ''));
  }
  document.documentElement.scrollTop = again ? scrolled : 0;
});

function fold(value: HTMLElement, folded: boolean): void {
  value.classList.toggle('unfolded', !folded);
  const button = value.querySelector('[data-act="unfold"]');
  if (button !== null) button.textContent = folded ? 'Show All' : 'Show Less';
  button?.setAttribute('aria-expanded', String(!folded));
}

function unfold(value: HTMLElement): void {
  const key = value.dataset['fold'] ?? '';
  if (!unfolded.delete(key)) unfolded.add(key);
  fold(value, !unfolded.has(key));
}

const editor = acquireVsCodeApi();
root.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest<HTMLElement>('button[data-act]') : null;
  const { act, text = '', node = '', revision = '' } = button?.dataset ?? {};
  if (act === 'newest' || act === 'whole' || act === 'set' || act === 'model' || act === 'case') editor.postMessage(act);
  else if (act === 'copy') editor.postMessage({ copy: text });
  else if (act === 'open') editor.postMessage({ open: text });
  else if (act === 'node') editor.postMessage({ visit: node });
  else if (act === 'revision') editor.postMessage({ revision: Number(revision) });
  const value = act === 'unfold' ? button?.closest<HTMLElement>('.value') : null;
  if (value) unfold(value);
});
root.addEventListener('change', ({ target }) => {
  if (target instanceof HTMLSelectElement && target.dataset['act'] === 'visit') editor.postMessage({ visit: target.value });
});
editor.postMessage('ready');
