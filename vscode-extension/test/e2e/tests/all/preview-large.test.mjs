// Wide and large drawings: readable at first, moved and searched, drawn soon and changed at once.
import { Preview, assert, describe, it } from '../../support/harness.mjs';

const WIDE = `flowchart LR
    PROBLEM([Problem]) --> N0
${Array.from({ length: 30 }, (_, number) => `    N${number}["Custom<br/>(role: solver_${number})"] --> ${number === 29 ? 'RETURN' : `N${number + 1}`}\n`).join('')}    RETURN([Answer])
`;
const TASKS = ['read_the_order', 'check_the_stock', 'look_up_the_customer', 'draft_an_answer', 'check_the_facts', 'shorten_it', 'translate_it'];

/** A workflow of so many nodes, seven beside each other. */
function large(size) {
  const steps = Array.from({ length: size - 2 }, (_, number) => number);
  return [
    'flowchart TD',
    '    PROBLEM([Letters of a day]):::Interface',
    ...steps.map((number) => `    STEP_${number}["Custom<br/>(role: ${TASKS[number % 7]}_${number})"]:::CustomOp`),
    '    RETURN([Answers]):::Interface',
    ...steps.map((number) => `    ${number < 7 ? 'PROBLEM' : `STEP_${number - 7}`} -->|input| STEP_${number}`),
    `    STEP_${size - 3} --> RETURN`,
    '    classDef Interface fill:#e2e2f2,stroke:#6a6ab2',
    '    classDef CustomOp fill:#d0e1f9,stroke:#4378a2',
    '',
  ].join('\n');
}

const scaleOf = (view) => Number(/scale\(([\d.]+)\)/.exec(view)[1]);
const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

/** Whether all of an element is inside of the viewport. */
async function inSight(preview, id) {
  const [node, port] = [await preview.node(id).boundingBox(), await preview.frame.locator('.viewport').boundingBox()];
  return node !== null && node.x >= port.x - 1 && node.y >= port.y - 1 && node.x + node.width <= port.x + port.width + 1 && node.y + node.height <= port.y + port.height + 1;
}

/** Which drawing is shown: another one has another id. */
const drawing = (preview) => preview.frame.locator('.picture:not(.building) svg').getAttribute('id');

describe('A wide drawing', (workbench) => {
  it('can be read at first, and follows the cursor', async () => {
    const w = workbench();
    await w.open('wide.mmd', WIDE);
    const preview = await Preview.open(w);
    assert.ok(scaleOf(await preview.view()) >= 0.75);
    const letters = await preview.frame.locator('g[data-node="N0"] .nodeLabel').evaluate((label) => (Number.parseFloat(getComputedStyle(label).fontSize) * label.getBoundingClientRect().height) / label.offsetHeight);
    assert.ok(letters >= 10, `letters are ${letters} pixels high`);
    assert.ok(await inSight(preview, 'PROBLEM'), 'the beginning is out of sight');
    await w.shot('preview-wide');
    for (const [line, id] of [[30, 'N27'], [12, 'N9'], [3, 'N0']]) {
      await w.goTo(line, 6);
      await w.until(() => inSight(preview, id), `${id}, where the cursor is, is not in sight`);
    }
    await preview.frame.locator('button[title^="Fit all"]').click();
    for (const id of ['PROBLEM', 'N15', 'RETURN']) await w.until(() => inSight(preview, id), `${id} is not in sight of a drawing that is fitted`);
    assert.ok(scaleOf(await preview.view()) < 0.3);
    await preview.frame.locator('button[title^="Actual size"]').click();
    assert.equal(scaleOf(await preview.view()), 1);
  });

  it('is moved by dragging, and enlarged where the pointer is', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('wide.mmd', WIDE);
    const preview = await Preview.open(w);
    const before = await preview.node('N0').boundingBox();
    const port = await preview.frame.locator('.viewport').boundingBox();
    await page.mouse.move(port.x + port.width / 2, port.y + port.height - 40);
    await page.mouse.down();
    await page.mouse.move(port.x + port.width / 2 - 30, port.y + port.height - 60);
    await page.mouse.move(port.x + port.width / 2 - 60, port.y + port.height - 90);
    await page.mouse.up();
    const after = await preview.node('N0').boundingBox();
    assert.deepEqual([Math.round(after.x - before.x), Math.round(after.y - before.y)], [-60, -50]);
    const [x, y] = middle(after);
    const scale = scaleOf(await preview.view());
    await page.mouse.move(x, y);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -120);
    await page.keyboard.up('Control');
    await w.until(async () => scaleOf(await preview.view()) > scale, 'the wheel does not enlarge');
    const [nowX, nowY] = middle(await preview.node('N0').boundingBox());
    assert.ok(Math.hypot(nowX - x, nowY - y) < 3, 'what was at the pointer is elsewhere');
  });

  it('has its buttons in a row of their own', async () => {
    const w = workbench();
    await w.open('wide.mmd', `---\ntitle: Thirty solvers\n---\n${WIDE}`);
    const preview = await Preview.open(w);
    const box = (selector) => preview.frame.locator(selector).first().boundingBox();
    const [toolbar, port, title] = [await box('.toolbar'), await box('.viewport'), await box('.flowchartTitleText')];
    assert.ok(toolbar.y + toolbar.height <= port.y + 1, 'the buttons lie over the drawing');
    assert.ok(title.y >= toolbar.y + toolbar.height, 'the buttons lie over the title');
    for (const name of await preview.frame.locator('.toolbar button').evaluateAll((found) => found.map((one) => [one.getAttribute('aria-label'), one.tabIndex]))) {
      assert.ok(name[0] !== null && name[0] !== '' && name[1] === 0, `${name[0]} can't be reached by keys`);
    }
  });
}, { shared: true });

describe('A large drawing', (workbench) => {
  it('is drawn soon, and changes at once where only looks change', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('large.mmd', large(200));
    await w.until(async () => !/^\s*$/.test(await w.text()), 'the text is not shown');
    const began = Date.now();
    const preview = await Preview.open(w);
    await w.until(async () => (await preview.nodes()).length === 200, 'the preview is not drawn');
    const figures = { 'from the command to the first drawing': Date.now() - began };
    await preview.frame.locator('.minimap').waitFor();
    await w.shot('preview-200');

    /** Milliseconds from when the browser has a key to the frame that shows what it changes, both by the browser's clock. */
    const seen = async (key, what, holds) => {
      const pressed = page.evaluate(() => new Promise((resolve) => {
        addEventListener('keydown', () => { resolve(Date.now()); }, { capture: true, once: true });
      }));
      const shown = preview.frame.waitForFunction(holds.text, holds.given, { polling: 'raf' });
      await Promise.all([page.evaluate(() => undefined), preview.frame.evaluate(() => undefined)]); // both wait by now
      await page.keyboard.type(key);
      figures[what] = (await (await shown).jsonValue()) - (await pressed);
    };
    const says = (id, words) => ({
      text: ([node, wanted]) => document.querySelector(`.picture:not(.building) g[data-node="${node}"]`)?.textContent.includes(wanted) && Date.now(),
      given: [id, words],
    });
    // The role of STEP_3, at its end: `..._3` becomes `..._34`.
    const text = large(200).split('\n');
    const line = text.findIndex((one) => one.includes('STEP_3['));
    await w.goTo(line + 1, text[line].indexOf(')') + 1);
    await preview.frame.locator('g[data-node="STEP_3"] > .marks > .here').waitFor();
    const first = await drawing(preview);
    await seen('4', 'from a key in a label to its letter', says('STEP_3', 'draft_an_answer_34'));
    assert.equal(await drawing(preview), first, 'all was drawn again for one label');
    await preview.frame.locator('g[data-node="STEP_3"] > .marks > .here').waitFor();
    // The label is wider: when nobody types, all is laid out for it.
    await w.until(async () => (await drawing(preview)) !== first, 'nothing is laid out for the wider label');
    const second = await drawing(preview);

    // A class: #d0e1f9 becomes #d0e1f2, and no node is moved for it.
    const last = text.findIndex((one) => one.includes('classDef CustomOp'));
    await w.goTo(last + 1, text[last].indexOf(',') + 1);
    const place = await preview.node('STEP_190').getAttribute('transform');
    await page.keyboard.press('Backspace');
    await seen('2', 'from a key in a class to its colour', {
      text: (colour) => getComputedStyle(document.querySelector('g[data-node="STEP_190"] > rect')).fill === colour && Date.now(),
      given: 'rgb(208, 225, 242)',
    });
    assert.equal(await drawing(preview), second, 'all was drawn again for a colour');
    assert.equal(await preview.node('STEP_190').getAttribute('transform'), place);

    // An edge more: the old drawing stays until the new one is there.
    await w.goTo(text.length, 1);
    await page.keyboard.type('    STEP_3 --> EXTR');
    await preview.frame.locator('g[data-node="EXTR"]').waitFor({ state: 'attached' });
    await seen('A', 'from a key that adds a node to the new drawing', says('EXTRA', 'EXTRA'));
    console.log('\n| 200 nodes | milliseconds |\n| --- | ---: |');
    for (const [what, value] of Object.entries(figures)) console.log(`| ${what} | ${value} |`);
  });

  it('is searched by id, label and operator', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('large.mmd', large(200));
    const preview = await Preview.open(w);
    await w.until(async () => (await preview.nodes()).length === 200, 'the preview is not drawn');
    const input = preview.frame.locator('.search input');
    await preview.frame.locator('.viewport').focus();
    await w.until(async () => {
      await page.keyboard.press('Control+F');
      return input.isVisible();
    }, 'Ctrl+F opens no search');
    const count = preview.frame.locator('.search .count');
    await input.fill('translate_it_146');
    await w.until(async () => (await count.innerText()) === '1 of 1', 'one node is not counted');
    await w.until(() => inSight(preview, 'STEP_146'), 'what was found is not in sight');
    await preview.frame.locator('g[data-node="STEP_146"] > .marks > .found.now').waitFor();
    await input.fill('custom translate');
    await w.until(async () => /^\d+ of 28$/.test(await count.innerText()), 'all nodes of a role are not counted');
    const at = Number.parseInt(await count.innerText(), 10);
    await input.press('Enter');
    await w.until(async () => Number.parseInt(await count.innerText(), 10) === (at % 28) + 1, 'Enter does not go on');
    await input.press('Shift+Enter');
    await w.until(async () => Number.parseInt(await count.innerText(), 10) === at, 'Shift+Enter does not go back');
    await w.shot('preview-search');
    await input.fill('nothing like it');
    await w.until(async () => (await count.innerText()) === 'No node', 'it is not said that there is none');
    await input.fill('STEP_60');
    await w.until(async () => (await count.innerText()) === '1 of 1', 'the id is not found');
    await input.press('Escape');
    await preview.frame.locator('.search').waitFor({ state: 'hidden' });
    assert.equal(await preview.frame.evaluate(() => document.activeElement?.dataset.node), 'STEP_60');
    assert.equal(await preview.frame.locator('.found').count(), 0);
  });

  it('has a minimap, which moves it', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('few.mmd', large(100));
    let preview = await Preview.open(w);
    await w.until(async () => (await preview.nodes()).length === 100, 'the preview is not drawn');
    assert.ok(!(await preview.frame.locator('.minimap').isVisible()), 'a hundred nodes have a minimap');
    await w.closeEditors();
    await w.open('many.mmd', large(101));
    preview = await Preview.open(w);
    await w.until(async () => (await preview.nodes()).length === 101, 'the preview is not drawn');
    const canvas = preview.frame.locator('.minimap canvas');
    const box = await canvas.boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height - 2);
    /** How far the frame around what is in sight is from the upper and the lower edge. */
    const rooms = async () => {
      const [sight, all] = [await preview.frame.locator('.minimap .sight').boundingBox(), await canvas.boundingBox()];
      return [sight.y - all.y, all.y + all.height - sight.y - sight.height];
    };
    await w.until(async () => (await rooms())[1] < 3, 'a click does not go to the end');
    assert.ok((await rooms())[0] > 20, 'the frame is not where the view is');
    await page.mouse.move(box.x + box.width / 2, box.y + box.height - 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.move(box.x + box.width / 2, box.y + 2);
    await page.mouse.up();
    await w.until(() => inSight(preview, 'PROBLEM'), 'a drag does not go to the beginning');
    assert.ok((await rooms())[0] < 3, 'the frame is not where the view is');
  });
}, { shared: true });
