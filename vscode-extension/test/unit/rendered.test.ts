import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markdownHtml } from '../../src/run/panel/markdownHtml';
import { valueHtml, type Text } from '../../src/run/panel/valueHtml';

/** The tags that a page may have. */
const TAG = /<\/?(?:p|h[3-6]|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|pre|code|strong|em|br|hr|span)(?: class="(?:about|code)")?(?: tabindex="0")?>/g;

test('Markdown becomes headings, lists, quotations, tables, code and emphasis', () => {
  assert.equal(markdownHtml('# One\n\nTwo *three* **four `five`**\nsix'), '<h3>One</h3>\n<p>Two <em>three</em> <strong>four <code>five</code></strong><br>six</p>');
  assert.equal(markdownHtml('- a\n- b\n  - c\n\n1. d\n2. e'), '<ul><li>a</li><li><p>b</p>\n<ul><li>c</li></ul></li></ul>\n<ol><li>d</li><li>e</li></ol>');
  assert.equal(markdownHtml('> said\n> he'), '<blockquote><p>said<br>he</p></blockquote>');
  assert.equal(markdownHtml('a | b\n--|--\n1 | `x`'), '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>x</code></td></tr></tbody></table>');
  assert.equal(markdownHtml('```python\nif a < b:\n    *x*\n```\nafter'), '<pre class="code" tabindex="0"><code>if a &lt; b:\n    *x*</code></pre>\n<p>after</p>');
  assert.equal(markdownHtml('~~~\nnever closed'), '<pre class="code" tabindex="0"><code>never closed</code></pre>');
  assert.equal(markdownHtml('2 * 3 * 4, snake_case_name, \\*not\\*'), '<p>2 * 3 * 4, snake_case_name, *not*</p>');
  assert.equal(markdownHtml('Dear Ines,  \nwe send it.'), '<p>Dear Ines,<br>we send it.</p>');
});

test('links and pictures are words with their address', () => {
  assert.equal(markdownHtml('[here](command:a.b) ![bad](http://x/y.png)'), '<p>here <span class="about">(command:a.b)</span> bad <span class="about">(http://x/y.png)</span></p>');
});

/** Pieces of which hostile texts are made. */
const PIECES = ['<script>', '<img src=x onerror=y>', '</code>', '"', "'", '&lt;', '`', '```', '~~~', '**', '*', '_', '[', '](', ')', '![', '|', '\n', '\n\n', '  \n', '> ', '- ', '1. ', '# ', '---', '\\', 'javascript:', 'a', ' ', '    ', '\t', '<', '>', '\u0000', '\u2028', '|--|--|'];

test('no text gets a tag or an attribute of its own, whatever it is made of', () => {
  let state = 12345;
  const random = (most: number) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * most);
  };
  for (let round = 0; round < 3000; round += 1) {
    const text = Array.from({ length: random(40) }, () => PIECES[random(PIECES.length)] ?? '').join('');
    const rest = markdownHtml(text).replaceAll(TAG, '');
    assert.ok(!/[<>"]/.test(rest), `${JSON.stringify(text)} gives ${rest}`);
  }
});

test('no text takes long', () => {
  const shapes = ['*', '**a ', '_a ', '`', '` ', '[', '[a](', '![', '> ', '- ', '  - ', '|', '\\', ' ', '<', '1. a\n', '- a\n\n', '```\n', '|-|\n', '*a', 'a*', ' \n'];
  for (const shape of shapes) {
    const began = performance.now();
    markdownHtml(shape.repeat(99_000 / shape.length));
    assert.ok(performance.now() - began < 10_000, JSON.stringify(shape));
  }
});

test('documents that were looked up are passages below where they are from', () => {
  const texts = new Map<string, Text>();
  const found = { text: '<b>Press</b> it.', source: 'manual & more', place: 'p. 4', store: 'manual', row: 1, score: 0.5 };
  const html = valueHtml('d', 'FIND documents', [found, { ...found, source: '', text: 'Other.' }], texts);
  assert.ok(html.includes('<p class="about">manual &amp; more, p. 4</p>'));
  assert.ok(html.includes('&lt;b&gt;Press&lt;/b&gt; it.'));
  assert.ok(html.includes('<p class="about">p. 4</p>'));
  assert.deepEqual(JSON.parse(texts.get('d')?.text ?? ''), [found, { ...found, source: '', text: 'Other.' }]);
  assert.ok(!valueHtml('e', 'x', [{ text: 'a' }], texts).includes('about'));
  assert.ok(!valueHtml('f', 'x', [], texts).includes('about'));
});

test('values are Markdown, JSON or code; what is copied is the value itself', () => {
  const texts = new Map<string, Text>();
  assert.ok(valueHtml('a', 'VOTE answer', '**Yes**', texts).includes('<strong>Yes</strong>'));
  assert.deepEqual(texts.get('a'), { name: 'VOTE answer.md', text: '**Yes**' });
  assert.ok(valueHtml('b', 'x', '{"a":[1]}', texts).includes('{\n  &quot;a&quot;: [\n    1'));
  assert.deepEqual(texts.get('b'), { name: 'x.json', text: '{"a":[1]}' });
  assert.ok(valueHtml('c', 'x', 'def solve(*args):\n    return **kwargs', texts).includes('<code>def solve(*args)'));
  assert.equal(texts.get('c')?.name, 'x.py');
  assert.deepEqual([valueHtml('d', 'x', { ok: true }, texts).includes('&quot;ok&quot;: true'), texts.get('d')?.text], [true, '{\n  "ok": true\n}']);
  assert.equal(valueHtml('e', 'x', ' \n', texts), '<p class="about">Nothing.</p>');
  assert.equal(texts.has('e'), false);
});

test('long values are folded, with a button', () => {
  const texts = new Map<string, Text>();
  const long = valueHtml('k"', 'x', 'line\n\n'.repeat(30), texts);
  assert.ok(long.includes('class="value long" data-fold="k&quot;"') && long.includes('data-act="unfold"'));
  assert.ok(!valueHtml('k', 'x', 'short', texts).includes('unfold'));
});
