/** The page of an evaluation: takes the HTML that the extension made, shows only some outcomes, and says what was clicked. */
import './style.css';

interface Rating { readonly item: string; readonly repeat: number; readonly verdict: string | null }
type Said = 'ready' | 'resume' | { readonly run: string } | { readonly rate: Rating };

declare function acquireVsCodeApi(): { postMessage(message: Said): void };

const root = document.createElement('main');
document.body.append(root);
/** The outcomes that are shown; none: all. */
const wanted = new Set<string>();

addEventListener('message', ({ data }: MessageEvent<{ readonly html: string }>) => {
  const scrolled = document.documentElement.scrollTop;
  const focused = focusedVerdict();
  root.innerHTML = data.html;
  filter();
  if (focused !== undefined) root.querySelector<HTMLElement>(focused)?.focus();
  document.documentElement.scrollTop = scrolled;
});

/** What finds the button for a verdict again that has the focus, which a new page would take from it. */
function focusedVerdict(): string | undefined {
  const { act, item = '', repeat = '', verdict = '' } = document.activeElement instanceof HTMLElement ? document.activeElement.dataset : {};
  return act === 'rate' ? `[data-item="${CSS.escape(item)}"][data-repeat="${repeat}"][data-verdict="${verdict}"]` : undefined;
}

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
  else if (act === 'rate' && button !== null) {
    const { item = '', repeat = '0', verdict = '' } = button.dataset;
    // A second click takes it back.
    const isSaid = button.getAttribute('aria-pressed') === 'true';
    editor.postMessage({ rate: { item, repeat: Number(repeat), verdict: isSaid ? null : verdict } });
  }
});
editor.postMessage('ready');
