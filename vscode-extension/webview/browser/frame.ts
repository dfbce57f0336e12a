/** What takes the place of the editor for the preview, before its own script: messages go to the page around the frame. */
import './frame.css';
import type { FromPreview } from '../../src/preview/protocol';

/** The view of each page of its own, while its tab is open. */
const KEPT = `merrow-preview ${parent.location.pathname}${parent.location.search}`;
const dark = matchMedia('(prefers-color-scheme: dark)');

function state(): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

Object.assign(globalThis, {
  acquireVsCodeApi: () => ({
    postMessage: (message: FromPreview) => { parent.postMessage(message, location.origin); },
    getState: state,
    setState: (kept: unknown) => { sessionStorage.setItem(KEPT, JSON.stringify(kept)); },
  }),
});

function paint(): void {
  document.body.dataset['vscodeThemeKind'] = dark.matches ? 'vscode-dark' : 'vscode-light';
  document.body.className = document.body.dataset['vscodeThemeKind'];
}
dark.addEventListener('change', paint);
paint();
