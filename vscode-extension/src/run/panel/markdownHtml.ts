/**
 * Markdown of models as HTML for the panel: headings, lists, quotations, tables, fences, emphasis, code. Pure, and linear in the text.
 *
 * All words are escaped before a tag is put around them, and the tags are those of this file without any attribute but `class`: raw HTML stays
 * words, a link is its words with its address behind them, a picture is its description. So no text can run, load or lead to anything.
 */

/** Characters from which a text is shown as it is: a reader of so much wants the document. */
const MOST = 100_000;
/** Quotations and lists in one another. */
const DEEPEST = 6;

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}|\t|$)/;
const QUOTE = /^ {0,3}> ?/;
const DELIMITER = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

export function markdownHtml(text: string): string {
  return text.length > MOST ? `<pre tabindex="0">${escape(text)}</pre>` : blocks(text.replaceAll(/\r\n?/g, '\n').split('\n'), 0);
}

function blocks(lines: readonly string[], depth: number): string {
  const parts: string[] = [];
  let paragraph: string[] = [];
  const close = () => {
    if (paragraph.length > 0) parts.push(`<p>${spans(paragraph.join('\n').trimEnd())}</p>`);
    paragraph = [];
  };
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (fence !== null && !(fence[2] ?? '').includes('`')) {
      close();
      const end = endOfFence(lines, at + 1, fence[1] ?? '```');
      parts.push(codeHtml(lines.slice(at + 1, end).join('\n')));
      at = end + 1;
    } else if (line.trim() === '') {
      close();
      at += 1;
    } else if (heading !== null) {
      close();
      // The panel's own headings are the first two levels.
      const level = Math.min(6, (heading[1] ?? '').length + 2);
      parts.push(`<h${level}>${spans(heading[2] ?? '')}</h${level}>`);
      at += 1;
    } else if (RULE.test(line)) {
      close();
      parts.push('<hr>');
      at += 1;
    } else if (depth < DEEPEST && QUOTE.test(line)) {
      close();
      const end = whileTrue(lines, at, (one) => QUOTE.test(one));
      parts.push(`<blockquote>${blocks(lines.slice(at, end).map((one) => one.replace(QUOTE, '')), depth + 1)}</blockquote>`);
      at = end;
    } else if (depth < DEEPEST && ITEM.test(line) && (paragraph.length === 0 || !/^ *\d/.test(line))) {
      close();
      const [html, end] = list(lines, at, depth);
      parts.push(html);
      at = end;
    } else if (paragraph.length === 0 && line.includes('|') && DELIMITER.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-')) {
      const end = whileTrue(lines, at + 2, (one) => one.includes('|') && one.trim() !== '');
      parts.push(table(lines.slice(at, end)));
      at = end;
    } else {
      paragraph.push(line.trimStart());
      at += 1;
    }
  }
  close();
  return parts.join('\n');
}

function whileTrue(lines: readonly string[], from: number, holds: (line: string) => boolean): number {
  let end = from;
  while (end < lines.length && holds(lines[end] ?? '')) end += 1;
  return end;
}

function endOfFence(lines: readonly string[], from: number, mark: string): number {
  const closing = new RegExp(`^ {0,3}${mark.startsWith('~') ? '~' : '`'}{${mark.length},}[ \\t]*$`);
  return whileTrue(lines, from, (line) => !closing.test(line));
}

/** The list that begins at a line, and the line behind it. */
function list(lines: readonly string[], from: number, depth: number): [string, number] {
  const kind = kindOf(lines[from] ?? '');
  const items: string[] = [];
  let at = from;
  while (at < lines.length && kindOf(lines[at] ?? '') === kind && !RULE.test(lines[at] ?? '')) {
    const mark = ITEM.exec(lines[at] ?? '')?.[0] ?? '';
    const indent = mark.trim() === mark ? mark.length + 1 : mark.length;
    const own = [(lines[at] ?? '').slice(mark.length)];
    at += 1;
    while (at < lines.length) {
      const line = lines[at] ?? '';
      const isIn = /^[ \t]*$/.test(line) ? leads(lines, at, indent) : indented(line, Math.min(indent, 2)) || (own.at(-1)?.trim() !== '' && kindOf(line) === '' && !FENCE.test(line) && !HEADING.test(line));
      if (!isIn) break;
      own.push(line.slice(Math.min(indent, line.length - line.trimStart().length)));
      at += 1;
    }
    const html = blocks(own, depth + 1);
    // An item of one line is no paragraph.
    items.push(`<li>${html.startsWith('<p>') && html.indexOf('</p>') === html.length - 4 ? html.slice(3, -4) : html}</li>`);
    // Items may stand apart.
    const next = whileTrue(lines, at, (line) => line.trim() === '');
    if (kindOf(lines[next] ?? '') === kind) at = next;
  }
  return [`<${kind}>${items.join('')}</${kind}>`, at];
}

function kindOf(line: string): '' | 'ul' | 'ol' {
  const mark = ITEM.exec(line)?.[2];
  return mark === undefined ? '' : /\d/.test(mark) ? 'ol' : 'ul';
}

/** Whether the next line with words belongs to the item too. */
function leads(lines: readonly string[], at: number, indent: number): boolean {
  const next = lines[at + 1] ?? '';
  return next.trim() !== '' && indented(next, Math.min(indent, 2));
}

function indented(line: string, by: number): boolean {
  return line.startsWith('\t') || line.length - line.trimStart().length >= by;
}

function table(lines: readonly string[]): string {
  const [head = '', , ...rows] = lines;
  const row = (line: string, cell: string) => `<tr>${cells(line).map((words) => `<${cell}>${spans(words)}</${cell}>`).join('')}</tr>`;
  return `<table><thead>${row(head, 'th')}</thead><tbody>${rows.map((line) => row(line, 'td')).join('')}</tbody></table>`;
}

function cells(line: string): string[] {
  return line
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

export function codeHtml(text: string): string {
  return `<pre class="code" tabindex="0"><code>${escape(text)}</code></pre>`;
}

/** Code, emphasis, links and pictures in words, ends of lines, which models mean as such. Each pattern looks ahead a bounded way, so that no text takes long. */
const SPAN = /(`{1,3})(?!`)([^\n]{1,600}?)(?<!`)\1(?!`)|\*\*(?=\S)([^\n*]{1,600}?)(?<=\S)\*\*|(?<![\w*])\*(?=[^\s*])([^\n*]{1,600}?)(?<=[^\s*])\*(?![\w*])|(?<![\w_])_(?=[^\s_])([^\n_]{1,600}?)(?<=[^\s_])_(?![\w_])|!?\[([^\][\n]{1,300})\]\(([^()\s]{1,600})\)|\\([\\`*_{}[\]()#+.!|>~-])|(?: {2,20}|\\)?\n/g;

function spans(text: string): string {
  let html = '';
  let end = 0;
  for (const found of text.matchAll(SPAN)) {
    html += escape(text.slice(end, found.index));
    end = found.index + found[0].length;
    const [, , code, strong, star, low, words, address, escaped] = found;
    if (code !== undefined) html += `<code>${escape(code)}</code>`;
    else if (strong !== undefined) html += `<strong>${spans(strong)}</strong>`;
    else if (star !== undefined || low !== undefined) html += `<em>${spans(star ?? low ?? '')}</em>`;
    else if (words !== undefined) html += `${escape(words)} <span class="about">(${escape(address ?? '')})</span>`;
    else html += escaped === undefined ? '<br>' : escape(escaped);
  }
  return html + escape(text.slice(end));
}

export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
}
