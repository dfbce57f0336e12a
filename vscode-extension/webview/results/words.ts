/** Cells and rows in words. Pure. */
import { costText, dollars, secondsText } from '../../src/run/texts/figures';
import type { Cell, Column, ResultRow, WholeRow } from '../../src/results/protocol';

/** What a cell shows. */
export function cellText({ kind }: Pick<Column, 'kind'>, cell: Cell | undefined): string {
  if (cell === undefined || cell === null) return kind === 'cost' ? 'unknown' : '';
  if (typeof cell === 'string') return cell.replaceAll(/\s+/g, ' ').trim();
  if (kind === 'cost') return dollars(cell);
  if (kind === 'seconds') return secondsText(cell);
  return kind === 'score' ? cell.toFixed(3) : String(cell);
}

/** How a cell is marked: an answer that is not right, or the verdict of the row. */
export function markOf(column: Column, row: ResultRow): 'wrong' | 'verdict' | '' {
  if (column.kind === 'verdict') return 'verdict';
  if (column.kind !== 'answer') return '';
  const side = column.name.split(' ', 1)[0] ?? '';
  const name = side === 'before' || side === 'after' ? `${side} ${column.field}` : column.field;
  return (name === '' ? row.verdict === 'wrong' : row.wrong.includes(name)) ? 'wrong' : '';
}

/** Whether a row says why it has no answer, where it has none. */
export function givesReason({ reason, verdict }: ResultRow): boolean {
  return reason !== '' && verdict !== 'right' && verdict !== 'answered';
}

/** Letters of a column's width, at least, and its share of what is left. */
export function widthOf({ kind, title }: Column, isWide: boolean): { readonly least: number; readonly share: number } {
  const head = Math.min(24, title.length + 5);
  switch (kind) {
    case 'item':
      return { least: Math.max(12, head), share: 0 };
    case 'input':
      return { least: isWide ? 28 : 20, share: 3 };
    case 'answer':
      return { least: Math.max(14, head), share: 2 };
    case 'expected':
      return { least: 16, share: 2 };
    case 'text':
      return { least: 30, share: 4 };
    case 'verdict':
      return { least: 16, share: 0 };
    case 'cost':
    case 'seconds':
    case 'number':
    case 'score':
      return { least: Math.max(10, head), share: 0 };
  }
}

/** A status in words, with the part that it is worth where that is neither nothing nor all. */
export function statusText({ status, value }: Pick<WholeRow, 'status' | 'value'>): string {
  return value !== null && value > 0 && value < 1 ? `${status} ${value.toFixed(2)}` : status;
}

/** What an answer took, in words. */
export function tookText({ usage, seconds }: Pick<WholeRow, 'usage' | 'seconds'>): string {
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  return [costText(usage), `${tokens.toLocaleString('en')} tokens`, `${usage.calls} ${usage.calls === 1 ? 'call' : 'calls'}`, secondsText(seconds)].join(' · ');
}

/** How many rows are shown of how many. */
export function countText(total: number, all: number): string {
  const rows = `${all.toLocaleString('en')} ${all === 1 ? 'row' : 'rows'}`;
  return total === all ? rows : `${total.toLocaleString('en')} of ${rows}`;
}
