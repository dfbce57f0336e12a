/**
 * Foreign text as plain text. The editor turns `[words](command:...)` in notifications, prompts and status items into links that run
 * commands; file names, labels and the answers of endpoints must not. Pure.
 */
export function plain(text: string): string {
  return text.replaceAll('](', '] (');
}

/** The same of a sentence in which names stand in backticks, as in Markdown: where nothing is drawn as code, they are quoted. Pure. */
export function plainSentence(text: string): string {
  return plain(text.replaceAll(/`([^`\n]+)`/g, '“$1”'));
}

/** The same of what a dialog gets beside its message: options, which may have a text of their own, and buttons. Pure. */
export function plainOptions(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('detail' in given) || typeof given.detail !== 'string') return given;
  return { ...given, detail: plainSentence(given.detail) };
}
