import type { DocumentFilter } from 'vscode';

/** The documents that Merrow looks after, whatever other extension has named their language. */
export const selector: DocumentFilter[] = [
  { language: 'mermaid' },
  { language: 'markdown' },
  { pattern: '**/*.{mmd,mermaid}' },
];
