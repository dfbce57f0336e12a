/** What the labels of nodes say, and the ids below them. Pure. */

/** What a label says, without its markup. */
export function plain(label: string): string {
  return label.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim();
}

/** The id of a node, small, in HTML; undefined where the node has no label, or one that says the same. */
export function idCaption(id: string, label: string | null): string | undefined {
  if (label === null || plain(label).toLowerCase() === id.toLowerCase()) return undefined;
  return `<span class="node-id" style="font: 12px monospace; color: inherit">${escaped(id)}</span>`;
}

export function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
