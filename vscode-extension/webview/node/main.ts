/** The panel of a run's node: takes the HTML that the extension made, and keeps what the reader opened and where the reader is. */
import './style.css';

declare function acquireVsCodeApi(): { postMessage(message: 'ready' | 'newest' | 'set' | { readonly visit: string }): void };

interface Message {
  /** What is shown; the same again keeps its place. */
  readonly key: string;
  readonly html: string;
}

const root = document.createElement('main');
document.body.append(root);
let shown: string | undefined;

addEventListener('message', ({ data }: MessageEvent<Message>) => {
  const again = data.key === shown;
  const open = new Map([...root.querySelectorAll('details')].map((part) => [part.dataset['key'], part.open]));
  const scrolled = document.documentElement.scrollTop;
  shown = data.key;
  root.innerHTML = data.html;
  if (again) {
    for (const part of root.querySelectorAll('details')) part.open = open.get(part.dataset['key']) ?? part.open;
  }
  document.documentElement.scrollTop = again ? scrolled : 0;
});
const editor = acquireVsCodeApi();
root.addEventListener('click', ({ target }) => {
  if (target instanceof Element && target.closest('[data-act="newest"]') !== null) editor.postMessage('newest');
  if (target instanceof Element && target.closest('[data-act="set"]') !== null) editor.postMessage('set');
});
root.addEventListener('change', ({ target }) => {
  if (target instanceof HTMLSelectElement && target.dataset['act'] === 'visit') editor.postMessage({ visit: target.value });
});
editor.postMessage('ready');
