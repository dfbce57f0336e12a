import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countProblem, fieldsOf, problemOf, valueOf, type Field } from '../../src/people/form';
import { asksText, countText, inLine, isLong, untilText, visible, wholeText } from '../../src/people/words';
import type { Question } from '../../src/people/protocol';
import { Progress } from '../../src/run/progress';
import { itemText } from '../../src/run/views/itemText';
import { runItem } from '../../src/run/views/treeModel';
import type { RunEvent, RunSummary } from '../../src/run/protocol';

const FORM = {
  type: 'object',
  properties: {
    note: { title: 'Note', type: 'string', maxLength: 1000 },
    city: { title: 'City', type: 'string', minLength: 1, maxLength: 5 },
    nights: { title: 'Nights', type: 'integer', minimum: 1, maximum: 9 },
    quick: { title: 'Quick', type: 'boolean' },
    mood: { title: 'Mood', type: 'string', oneOf: [{ const: 'g', title: 'Good' }, { const: 'b', title: 'Bad' }] },
    tags: { title: 'Tags', type: 'array', items: { type: 'string', enum: ['x', 'y', 'z'] }, minItems: 1, maxItems: 2 },
  },
  required: ['city', 'nights', 'quick', 'mood', 'tags'],
};

function fields(): Record<string, Field> {
  return Object.fromEntries((fieldsOf(FORM) ?? []).map((field) => [field.name, field]));
}

function field(name: string): Field {
  const found = fields()[name];
  assert.ok(found);
  return found;
}

const QUESTION: Question = { run: 'r1', node: 'LOOK', path: 'L[2]', visit: 'L[2]/LOOK', question: 'Is it good?', kind: 'approval', asked: 0, deadline: null, from: '/w/flow.mmd', uri: null, schema: FORM, shown: [], problems: [] };

describe('the form of a question', () => {
  it('has the fields of its schema, the note last', () => {
    assert.deepEqual(Object.values(fields()).map(({ name, kind }) => [name, kind]), [['city', 'text'], ['nights', 'integer'], ['quick', 'bool'], ['mood', 'word'], ['tags', 'words'], ['note', 'text']]);
    assert.deepEqual([field('mood').words, field('mood').labels], [['g', 'b'], ['Good', 'Bad']]);
    assert.deepEqual(field('tags').words, ['x', 'y', 'z']);
  });

  it('is none where something is not flat', () => {
    const nested = { type: 'object', properties: { a: { type: 'object' } } };
    for (const schema of [null, 3, {}, { properties: {} }, { properties: { a: 4 } }, nested, { properties: { a: { type: 'array', items: { type: 'string' } } } }]) assert.equal(fieldsOf(schema), undefined);
  });

  it('says what does not fit', () => {
    assert.deepEqual(['', '  ', 'Bern', 'Geneva'].map((text) => problemOf(field('city'), text)), ['Enter a text.', 'Enter a text.', undefined, 'Enter at most 5 characters; this has 6.']);
    assert.equal(problemOf(field('city'), '😀😀😀😀😀'), undefined);
    const number = 'Enter a whole number.';
    assert.deepEqual(['', 'x', '1.5', '0', '10', '3'].map((text) => problemOf(field('nights'), text)), [number, number, number, 'Enter a whole number of at least 1.', 'Enter a whole number of at most 9.', undefined]);
    assert.equal(problemOf(field('note'), ''), undefined);
    assert.deepEqual([0, 1, 2, 3].map((count) => countProblem(field('tags'), count)), ['Choose at least 1.', undefined, undefined, 'Choose at most 2.']);
    const [mail] = fieldsOf({ properties: { m: { type: 'string', format: 'email' } }, required: ['m'] }) ?? [];
    assert.ok(mail);
    assert.deepEqual([problemOf(mail, 'a@b.example'), problemOf(mail, 'a b')], [undefined, 'Enter an e-mail address.']);
  });

  it('gives values of the types of the fields', () => {
    assert.deepEqual([valueOf(field('nights'), ' 3 '), valueOf(field('city'), ' Bern'), valueOf(field('note'), '')], [3, ' Bern', undefined]);
  });
});

describe('a question in words', () => {
  it('has an end, and nothing in it hides', () => {
    const loud = `\u001b[31m\u202e${'x'.repeat(1_000_000)}`;
    assert.ok(asksText({ visit: loud, question: loud }).length < 300);
    assert.equal(visible('a\u202eb\u001b\tc\nd'), 'a\ufffdb\ufffd\tc\nd');
    assert.equal(inLine('a\n  b'), 'a b');
    const whole = wholeText({ ...QUESTION, question: loud, shown: [{ title: loud, text: loud }] }, 0);
    assert.deepEqual(['\u001b', '\u202e'].filter((character) => whole.includes(character)), []);
  });

  it('says how many are open and until when', () => {
    assert.deepEqual([countText(1), countText(2)], ['$(comment-unresolved) 1 question', '$(comment-unresolved) 2 questions']);
    assert.deepEqual([null, 100, 90, 3_700, 100_000, 300_000].map((deadline) => untilText(deadline, 100)), ['', 'its deadline has passed', 'its deadline has passed', '60 minutes left', '27 hours left', '3 days left']);
  });

  it('is read in a document where it has more than a line', () => {
    assert.equal(isLong(QUESTION), false);
    assert.equal(isLong({ ...QUESTION, shown: [{ title: 'Input', text: 'x' }] }), true);
    assert.equal(isLong({ ...QUESTION, problems: ['No.'] }), true);
    assert.match(wholeText({ ...QUESTION, problems: ['No.'], shown: [{ title: 'Input', text: 'a draft' }] }, 0), /LOOK of flow\.mmd \(run r1\) asks a person:\n\nIs it good\?\n\nAn earlier answer was not accepted: No\.\n\n--- Input ---\na draft/);
  });
});

describe('a run that asks a person', () => {
  const event = (name: string, more: Partial<RunEvent> = {}): RunEvent => ({ schema: 2, number: 1, event: name, run: 'r1', node: null, path: '', at: 0, ...more });

  it('waits until the answer is there', () => {
    const progress = new Progress('r1', ['LOOK', 'END']);
    progress.take(event('node_started', { node: 'LOOK' }));
    progress.take(event('node_asked', { node: 'LOOK', question: 'Is it\n good?' }));
    assert.deepEqual(progress.states(0).get('LOOK'), { state: 'asking', detail: 'Is it good?' });
    progress.take(event('run_waiting'));
    assert.deepEqual([progress.status, progress.states(0).get('LOOK')?.state, progress.done], ['waiting', 'asking', 0]);
    assert.match(itemText(progress, 0).text, /^\$\(comment-unresolved\) Merrow waiting 0\/2/);
    const again = new Progress('r1', ['LOOK']);
    again.take(event('node_asked', { node: 'LOOK', question: 'Q' }));
    again.take(event('node_answered', { node: 'LOOK' }));
    assert.equal(again.states(0).get('LOOK')?.state, 'running');
    again.take(event('node_asked', { node: 'LOOK', question: 'Q' }));
    again.take(event('run_cancelled'));
    assert.equal(again.states(0).get('LOOK')?.state, 'cancelled');
  });

  it('can be answered in the tree', () => {
    const summary = { run: 'r1', workflow: '/w/flow.mmd', uri: null, diagram: 1, status: 'waiting', started: 0, seconds: null, usage: { prompt_tokens: 0, completion_tokens: 0, calls: 0, cost_usd: 0 }, error: null, parent: null, here: false } satisfies RunSummary;
    const item = runItem(summary, 0);
    assert.deepEqual([item.context, item.icon.name, item.description], ['run.waiting', 'comment-unresolved', 'waiting']);
  });
});
