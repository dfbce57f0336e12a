import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Engine } from '../../../webview/drawing/engine';
import { touchedEdges } from '../../../webview/proposal/edges';
import { Pane } from '../../../webview/proposal/pane';

/** As much of an element as a pane needs. */
class Shape {
  hidden = false;
  innerHTML = '';
  textContent = '';
  clientWidth = 400;
  clientHeight = 300;
  readonly dataset = {};
  readonly style: Record<string, string> = {};
  readonly classList = { add: () => undefined, remove: () => undefined };
  readonly children: (Shape | string)[] = [];
  private parent: Shape | undefined;
  readonly setAttribute = () => undefined;
  readonly removeAttribute = () => undefined;
  readonly addEventListener = () => undefined;
  querySelector(): null {
    return null;
  }
  querySelectorAll(): never[] {
    return [];
  }
  append(...more: (Shape | string)[]): void {
    for (const one of more) if (one instanceof Shape) one.parent = this;
    this.children.push(...more);
    this.textContent += more.filter((one) => typeof one === 'string').join('');
  }
  remove(): void {
    const siblings = this.parent?.children ?? [];
    siblings.splice(siblings.indexOf(this), 1);
  }
}

Object.assign(globalThis, {
  document: { createElement: () => new Shape() },
  ResizeObserver: class {
    readonly observe = () => undefined;
  },
});

const REQUEST = { text: 'flowchart TD\n A --> B', theme: {} as never, edgeWords: {}, captions: 'ids', styles: {}, portable: false } as const;
const NOTHING = { added: [], removed: [], changed: [] };

/** A drawing frame that draws what has an arrow, and refuses all else as Mermaid does. */
const ENGINE = {
  draw: ({ text }: { text: string }) =>
    text.includes('-->') ? Promise.resolve({ number: 1, frame: '', parts: [], width: 10, height: 10 }) : Promise.reject(new Error('Parse error on line 2')),
} as unknown as Engine;

function parts(pane: Pane): { pictures: number; note: Shape } {
  const [, viewport, note] = (pane.element as unknown as Shape).children as [Shape, Shape, Shape];
  return { pictures: (viewport.children[0] as Shape).children.length, note };
}

test('a text that Mermaid refuses is said not to be drawable, and no earlier diagram stays', async () => {
  const pane = new Pane('After', 'After the change');
  await pane.draw(ENGINE, REQUEST, NOTHING, () => true);
  assert.equal(parts(pane).pictures, 1);
  assert.ok(parts(pane).note.hidden);

  await pane.draw(ENGINE, { ...REQUEST, text: 'flowchart TD\n A ==' }, NOTHING, () => true);
  assert.equal(parts(pane).note.textContent, "The diagram can't be drawn: Parse error on line 2");
  assert.ok(!parts(pane).note.hidden);
  assert.equal(parts(pane).pictures, 0);
  assert.equal(pane.size, undefined);

  await pane.draw(ENGINE, REQUEST, NOTHING, () => true);
  assert.ok(parts(pane).note.hidden);
});

test('edges are added, removed or say something else, as the two drawings tell', () => {
  const before = new Map([['L_A_B_0', ''], ['L_B_C_0', 'yes'], ['L_C_D_0', 'input']]);
  const after = new Map([['L_A_X_0', ''], ['L_X_B_0', ''], ['L_B_C_0', 'no'], ['L_C_D_0', 'input']]);
  assert.deepEqual(touchedEdges(before, after), { added: ['L_A_X_0', 'L_X_B_0'], removed: ['L_A_B_0'], changed: ['L_B_C_0'] });
  assert.deepEqual(touchedEdges(after, after), { added: [], removed: [], changed: [] });
});
