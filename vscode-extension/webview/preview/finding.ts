/** Which nodes a search finds. Pure. */
import type { GraphNode } from '../../src/preview/protocol';
import { plain } from '../drawing/captions';

/** The ids of the nodes whose id, label or operator has all the words, in the order of the text; none without words. */
export function found(nodes: readonly Pick<GraphNode, 'id' | 'label' | 'operator'>[], words: string): string[] {
  const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== '');
  if (wanted.length === 0) return [];
  return nodes
    .filter(({ id, label, operator }) => {
      const text = [id, plain(label ?? ''), operator ?? ''].join('\n').toLowerCase();
      return wanted.every((word) => text.includes(word));
    })
    .map(({ id }) => id);
}

/** What follows `current` among `ids` by `step` (1 or -1), around the end; the first, or the last, where it is not among them. */
export function following(ids: readonly string[], current: string | undefined, step: 1 | -1): string | undefined {
  const at = current === undefined ? -1 : ids.indexOf(current);
  if (at < 0) return step === 1 ? ids[0] : ids.at(-1);
  return ids[(at + step + ids.length) % ids.length];
}
