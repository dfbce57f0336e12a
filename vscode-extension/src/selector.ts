import type { DocumentFilter } from 'vscode';

/** Where a text that a user writes lies; not the other side of a comparison, nor a page that some extension shows. */
const schemes = ['file', 'untitled', 'vscode-vfs'];

/** The documents that Merrow looks after, whatever other extension has named their language. */
export const selector: DocumentFilter[] = schemes.flatMap((scheme) => [
  { scheme, language: 'mermaid' },
  { scheme, language: 'markdown' },
  { scheme, pattern: '**/*.{mmd,mermaid}' },
  { scheme, pattern: '**/merrow.toml' },
  { scheme, pattern: '**/*.cases.yaml' },
]);
