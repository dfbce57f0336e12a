// From a line of the text that Mermaid's grammar sees back to a line of the input.
//
// Before it parses, Mermaid drops front matter, directives, comment lines and leading white space, and closes up the white
// space between a "}" and the end of its line. All of this only removes characters, so what is left is a list of kept
// stretches of the input.

const FRONT_MATTER = /^([^\S\n]*)---\s*\n([^]*?)\n\1---\s*\n/;
const DIRECTIVE = /%%\{\s*(?:\w+\s*:|\w+)\s*(?:\w+|(?:(?!\}%%).|\n)*)?\s*(?:\}%%)?/g;
const COMMENT_LINE = /^\s*%%(?!\{)[^\n]+\n?/gm;
const LEADING_SPACE = /^\s+/g;
const SPACE_AFTER_BRACE = /(?<=\})\s+(?=\n)/g;

const lineOf = (text, offset) => text.slice(0, offset).split('\n').length;

export class SourceMap {
  constructor(input) {
    this.input = input.replace(/\r\n?/g, '\n');
    this.kept = [[0, this.input.length]];
    const fence = FRONT_MATTER.exec(this.input);
    if (fence) this.#drop([[0, fence[0].length]]);
    for (const pattern of [DIRECTIVE, COMMENT_LINE, LEADING_SPACE]) this.#dropMatches(pattern);
    this.input += '\n';
    this.kept.push([this.input.length - 1, this.input.length]);
    this.#dropMatches(SPACE_AFTER_BRACE);
  }

  /** The line of the input on which line `number` of the grammar's text starts; both count from 1. */
  inputLine(number) {
    const text = this.#text();
    const lastLine = lineOf(this.input, this.input.trimEnd().length);
    const content = this.input.replace(/\n+$/, '');
    const total = Math.max(lastLine, lineOf(content, content.length));
    let offset = 0;
    for (let line = 1; line < number; line += 1) {
      const lineBreak = text.indexOf('\n', offset);
      if (lineBreak < 0) return total;
      offset = lineBreak + 1;
    }
    return Math.min(total, lineOf(this.input, this.#origin(offset)));
  }

  #text() {
    return this.kept.map(([start, end]) => this.input.slice(start, end)).join('');
  }

  #origin(offset) {
    let left = offset;
    for (const [start, end] of this.kept) {
      if (left < end - start) return start + left;
      left -= end - start;
    }
    return this.input.length;
  }

  #dropMatches(pattern) {
    this.#drop(Array.from(this.#text().matchAll(pattern), (match) => [match.index, match.index + match[0].length]));
  }

  /** Drop ranges, in order, given as offsets of the text kept so far. */
  #drop(ranges) {
    const remaining = [];
    let position = 0;
    let next = 0;
    for (const [start, end] of this.kept) {
      let from = start;
      const last = position + end - start;
      while (next < ranges.length && ranges[next][0] < last) {
        const [cut, stop] = ranges[next];
        const cutAt = start + Math.max(0, cut - position);
        if (cutAt > from) remaining.push([from, cutAt]);
        from = Math.max(from, Math.min(end, start + stop - position));
        if (stop > last) break;
        next += 1;
      }
      if (from < end) remaining.push([from, end]);
      position = last;
    }
    this.kept = remaining;
  }
}
