/** The page of an evaluation: takes the HTML that the extension made, shows only some outcomes, and says what was clicked. */
import './style.css';

interface Rating { readonly item: string; readonly repeat: number; readonly verdict: string | null; readonly note?: string }
type Said = 'ready' | 'resume' | { readonly run: string } | { readonly rate: Rating };

declare function acquireVsCodeApi(): { postMessage(message: Said): void };

const root = document.createElement('main');
document.body.append(root);
/** The outcomes that are shown; none: all. */
const wanted = new Set<string>();

addEventListener('message', ({ data }: MessageEvent<{ readonly html: string }>) => {
  const scrolled = document.documentElement.scrollTop;
  const focused = focusedVerdict();
  const typed = document.activeElement instanceof HTMLInputElement ? document.activeElement : undefined;
  const open = [...root.querySelectorAll<HTMLElement>('details[open]')].map(({ dataset }) => detailsOf(dataset));
  root.innerHTML = data.html;
  for (const one of open) root.querySelector(one)?.setAttribute('open', '');
  filter();
  const found = focused === undefined ? null : root.querySelector<HTMLElement>(focused);
  found?.focus();
  if (typed !== undefined && found instanceof HTMLInputElement) {
    found.value = typed.value;
    found.setSelectionRange(typed.selectionStart, typed.selectionEnd);
  }
  document.documentElement.scrollTop = scrolled;
});

/** What finds the button for a verdict, or the note beside it, again that has the focus, which a new page would take from it. */
function focusedVerdict(): string | undefined {
  const { act, item = '', repeat = '', verdict = '' } = document.activeElement instanceof HTMLElement ? document.activeElement.dataset : {};
  return act === 'rate' || act === 'note' ? `[data-act="${act}"][data-item="${CSS.escape(item)}"][data-repeat="${repeat}"][data-verdict="${verdict}"]` : undefined;
}

/** What finds the inputs of an answer again. */
function detailsOf({ item = '', repeat = '' }: DOMStringMap): string {
  return `details[data-item="${CSS.escape(item)}"][data-repeat="${repeat}"]`;
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
root.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.dataset['act'] !== 'note') return;
  const { item = '', repeat = '0', verdict = '' } = target.dataset;
  editor.postMessage({ rate: { item, repeat: Number(repeat), verdict, note: target.value.trim() } });
});
editor.postMessage('ready');
