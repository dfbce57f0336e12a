/** The page of an evaluation: takes the HTML that the extension made, shows only some outcomes, and says what was clicked. */
import './style.css';

type Said = 'ready' | 'resume' | { readonly run: string };

declare function acquireVsCodeApi(): { postMessage(message: Said): void };

const root = document.createElement('main');
document.body.append(root);
/** The outcomes that are shown; none: all. */
const wanted = new Set<string>();

addEventListener('message', ({ data }: MessageEvent<{ readonly html: string }>) => {
  const scrolled = document.documentElement.scrollTop;
  root.innerHTML = data.html;
  filter();
  document.documentElement.scrollTop = scrolled;
});

function filter(): void {
  for (const button of root.querySelectorAll<HTMLElement>('button[data-filter]')) button.setAttribute('aria-pressed', String(wanted.has(button.dataset['filter'] ?? '')));
  for (const row of root.querySelectorAll<HTMLElement>('tr[data-status]')) row.hidden = wanted.size > 0 && !wanted.has(row.dataset['status'] ?? '');
}

const editor = acquireVsCodeApi();
root.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest<HTMLElement>('button') : null;
  const { act, run = '', filter: outcome } = button?.dataset ?? {};
  if (outcome !== undefined) {
    if (!wanted.delete(outcome)) wanted.add(outcome);
    filter();
  } else if (act === 'resume') editor.postMessage('resume');
  else if (act === 'run') editor.postMessage({ run });
});
editor.postMessage('ready');
