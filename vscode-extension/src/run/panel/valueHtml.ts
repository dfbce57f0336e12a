/** Values as HTML for the panel: Markdown rendered, JSON and code in monospace, what is long folded, each with buttons. Pure. */
import { codeHtml, escape, markdownHtml } from './markdownHtml';
import { valueText } from '../texts/pages';

/** A value as it is copied and opened: its text, and a file's name that says what it is. */
export interface Text {
  readonly name: string;
  readonly text: string;
}

/** Lines and characters from which a value is folded. */
const LONG_LINES = 24;
const LONG = 2400;
const CODE = /^(?:from [\w.]+ import |import [\w.]+|(?:async )?def \w+\(|class \w+[(:]|#!\/|@\w+)/;

type Kind = 'md' | 'json' | 'py';

/** What a text is: Python code, JSON, or Markdown, which plain words are too. */
function kindOf(value: unknown): Kind {
  if (typeof value !== 'string') return 'json';
  if (CODE.test(value.trimStart())) return 'py';
  return parsed(value) === undefined ? 'md' : 'json';
}

function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface FoundDocument {
  readonly text: string;
  readonly source: string;
  readonly place: string;
}

const FIELDS = ['place', 'row', 'score', 'source', 'store', 'text'];

function isDocument(value: unknown): value is FoundDocument {
  return typeof value === 'object' && value !== null && Object.keys(value).sort().join() === FIELDS.join();
}

/** Documents that were looked up as the passages that they are, each below where it is from; undefined for another value. */
function passagesHtml(value: unknown): string | undefined {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (items.length === 0 || !items.every(isDocument)) return undefined;
  const passage = (one: FoundDocument): string =>
    `<p class="about">${escape([one.source, one.place].filter(Boolean).join(', '))}</p>${codeHtml(valueText(one.text))}`;
  return items.map(passage).join('');
}

/** A value with its buttons, folded where it is long and `folds`. Its text is kept in `texts` under `key`, for the buttons. */
export function valueHtml(key: string, name: string, value: unknown, texts: Map<string, Text>, folds = true): string {
  const kind = kindOf(value);
  const text = kind === 'json' && typeof value === 'string' ? JSON.stringify(parsed(value), undefined, 2) : valueText(value);
  if (text.trim() === '') return '<p class="about">Nothing.</p>';
  // What is copied is the value itself, what is opened is read.
  texts.set(key, { name: `${name}.${kind}`, text: typeof value === 'string' ? value : text });
  const isLong = folds && (text.length > LONG || text.split('\n', LONG_LINES + 1).length > LONG_LINES);
  const body = passagesHtml(value) ?? (kind === 'md' ? markdownHtml(text) : codeHtml(text));
  const named = escape(key);
  const unfold = isLong ? `<button class="quiet" data-act="unfold" aria-expanded="false">Show All</button>` : '';
  const tools = `<div class="tools">${unfold}<button class="quiet" data-act="copy" data-text="${named}">Copy</button><button class="quiet" data-act="open" data-text="${named}">Open as Document</button></div>`;
  return `<div class="value${isLong ? ' long' : ''}" data-fold="${named}"><div class="rendered">${body}</div>${tools}</div>`;
}
