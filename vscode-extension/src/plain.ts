/**
 * Foreign text as plain text. The editor turns `[words](command:...)` in notifications, prompts and status items into links that run
 * commands; file names, labels and the answers of endpoints must not. Pure.
 */
export function plain(text: string): string {
  return text.replaceAll('](', '] (');
}
