// Diagrams of somebody who means harm: whatever they say, no script of theirs runs, nothing leaves the page, no command is executed,
// and the workbench stays what it was.
import { readFileSync } from 'node:fs';
import { Preview, assert, describe, it } from '../support/harness.mjs';
import { Trap, Watch } from '../support/trap.mjs';

const trap = await Trap.start();
const T = trap.url;
const RUN = (where) => `globalThis.pwned='${where}';fetch('${T}/script-${where}')`;
const COMMAND = 'command:workbench.action.closeActiveEditor';

/** Texts by what they try; each is drawn, or declined with a sentence. `PING` is a node to see it by. */
const DIAGRAMS = {
  'HTML in labels': `flowchart TD
    PING["ok"] --> A["<img src=x onerror=${RUN('img')}><img src='${T}/img-label'>"]
    A --> B["<script>${RUN('script')}</script><iframe src='${T}/iframe'></iframe><object data='${T}/object'></object><embed src='${T}/embed'>"]
    B --> C["<svg onload=${RUN('svg')}><image href='${T}/svg-image'/></svg><link rel=stylesheet href='${T}/link'><meta http-equiv=refresh content='0;url=${T}/meta'>"]
    C --> D["<form action='${T}/form'><input autofocus onfocus=${RUN('focus')}><button>go</button></form><base href='${T}/base/'>"]
    D --> E["<video src='${T}/video' autoplay></video><audio src='${T}/audio'></audio><picture><source srcset='${T}/srcset'><img srcset='${T}/srcset2'></picture>"]
    E --> F["<div style='background:url(${T}/style-bg);position:fixed;inset:0'>x</div><math><mtext><style><img src onerror=${RUN('mxss')}></style></mtext></math>"]
    F --> G["<details open ontoggle=${RUN('toggle')}>x</details><marquee onstart=${RUN('marquee')}>x</marquee>"]
`,
  'entity tricks': `flowchart TD
    PING["ok"] --> A["#lt;img src=x onerror=${RUN('entity')}#gt;"]
    A --> B["&lt;img src=x onerror=${RUN('entity2')}&gt;#60;img src=${T}/entity#62;"]
    B --> C["&#x3c;script&#x3e;${RUN('entity3')}&#x3c;/script&#x3e; #quot;#35;lt;b#35;gt;"]
`,
  'clicks and links': `flowchart TD
    PING["ok"] --> A["A"]
    A --> B["B"] --> C["C"] --> D["D"] --> E["<a href='${T}/label-link' id='inner'>inner</a>"] --> F["<a href='${COMMAND}' id='inner2'>inner2</a>"]
    click A href "javascript:${RUN('js')}"
    click B href "${T}/click" _self
    click C callback "x"
    click C call ${'callback'}("x")
    click D href "${COMMAND}"
`,
  'top frame links': `flowchart TD
    PING["ok"] --> A["A"] --> B["<a href='${T}/top' target='_top'>B</a>"]
    click A href "${T}/top-click" _top
`,
  'styles': `flowchart TD
    PING["ok"] --> A["A"]:::evil --> B["B"]
    classDef evil fill:url(${T}/classdef),background:url(${T}/classdef2),stroke:red
    style B fill:#fff,background-image:url("${T}/style"),filter:url(${T}/filter#x),cursor:url(${T}/cursor)
    linkStyle 0 stroke:red,marker-end:url(${T}/marker#x)
    classDef PING fill:#fff}*{background:url(${T}/breakout)
`,
  'the init directive': `%%{init: {"securityLevel": "loose", "htmlLabels": true, "secure": [], "themeCSS": "@import url(${T}/themecss); * { background: url(${T}/themecss2) } .toolbar, body > * { display: none !important }", "fontFamily": "x; } * { background: url(${T}/font) } @font-face { font-family: x; src: url(${T}/fontface) }", "altFontFamily": "x;} body{background:url(${T}/alt)}", "themeVariables": { "primaryColor": "url(${T}/variable)", "fontFamily": "x;}*{background:url(${T}/variable2)}" }, "flowchart": { "htmlLabels": true, "defaultRenderer": "elk" }, "maxTextSize": 1, "dompurifyConfig": { "ADD_TAGS": ["script", "iframe"], "ADD_ATTR": ["onerror", "onload"] } }}%%
flowchart TD
    PING["ok"] --> A["<img src=x onerror=${RUN('init')}>"]
    click A call alert("x")
`,
  'front matter': `---
title: "<img src=x onerror=${RUN('title')}><script>${RUN('title2')}</script>"
config:
  securityLevel: loose
  secure: []
  themeCSS: "* { background: url(${T}/front) }"
  fontFamily: "x; } * { background: url(${T}/front-font) }"
  dompurifyConfig:
    ADD_TAGS: [iframe, script]
    FORCE_BODY: true
  look: handDrawn
  layout: elk
---
flowchart TD
    PING["ok"] --> A["<iframe srcdoc='<script>parent.pwned=1</script>' src='${T}/front-iframe'></iframe>"]
`,
  'foreign objects and Markdown strings': `flowchart TD
    PING["ok"] --> A["\`**bold** ![x](${T}/md-image) [link](javascript:${RUN('md')}) <img src=x onerror=${RUN('md2')}>\`"]
    A --> B["<foreignObject><body onload=${RUN('fo')}><img src='${T}/fo'></body></foreignObject>"]
    B --> C["</p></div></foreignObject></g></svg><img src=x onerror=${RUN('out')}><style>*{background:url(${T}/out)}</style>"]
    subgraph S["<img src='${T}/subgraph' onerror=${RUN('subgraph')}>"]
      C -->|"<img src='${T}/edge' onerror=${RUN('edge')}>"| D["D"]
    end
`,
  'images and icons': `flowchart TD
    PING["ok"] --> A@{ img: "${T}/shape.png", label: "A", pos: "t", w: 60, h: 60, constraint: "on" }
    A --> B@{ icon: "fa:${T}/icon", form: "square", label: "B" }
    B --> C["fa:fa-user <i class='fa fa-x' style='background:url(${T}/fa)'></i>"]
    C --> D@{ img: "javascript:${RUN('imgshape')}", label: "D" }
    D --> E@{ img: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='${RUN('datasvg')}'><image href='${T}/nested'/></svg>", label: "E" }
`,
};

async function untouched(w, watch, what) {
  assert.deepEqual(await watch.found(), [], what);
  assert.deepEqual(trap.visits, [], what);
  assert.equal(await w.page.locator('.monaco-dialog-box').count(), 0, what);
}

describe('Hostile diagrams', (workbench) => {
  it('are drawn or declined in their frame, and nothing gets out', async () => {
    const w = workbench();
    const watch = new Watch(w);
    await w.open('hostile.mmd', 'flowchart TD\n    PING["ok"] --> FIRST["first"]\n');
    const preview = await Preview.open(w);
    await preview.shows('PING', 'FIRST');
    const declined = {};
    for (const [what, text] of Object.entries(DIAGRAMS)) {
      const mark = `M${Object.keys(DIAGRAMS).indexOf(what)}`;
      // A harmless text in between: what is said then is about this one.
      w.write('hostile.mmd', `flowchart TD\n    N${mark} --> B\n`);
      await preview.node(`N${mark}`).waitFor();
      await w.until(async () => (await preview.notice().textContent()) === '', `the notice before ${what} stays`);
      w.write('hostile.mmd', text.replace('PING["ok"]', `${mark}["ok"] --> PING["ok"]`));
      await w.until(async () => (await preview.node(mark).count()) > 0 || /Line \d|can't be drawn/.test(await preview.notice().textContent()), `${what} is neither drawn nor declined`);
      const notice = await preview.notice().textContent();
      if (notice !== '') declined[what] = notice;
      await w.shot(`hostile-${what.replaceAll(/\W+/g, '-')}`);
      await untouched(w, watch, what);
      // The tools of the preview are neither hidden nor covered.
      const toolbar = preview.frame.locator('.toolbar');
      assert.equal(await toolbar.isVisible(), true, what);
      await toolbar.locator('button:visible').first().click({ trial: true });
      assert.deepEqual(await preview.frame.locator('.picture [onerror], .picture [onload], .picture script, .picture iframe, .picture object, .picture embed, .picture link, .picture meta, .picture base').count(), 0, what);
    }
    // What Mermaid itself can't read is said with its line, and what it would have to load is declined; all else is drawn.
    assert.deepEqual(Object.keys(declined), ['styles', 'images and icons']);
    assert.match(declined['styles'], /^Line 3: /);
    assert.match(declined['images and icons'], /the preview loads none/);
    // What was said before is still what the editor has.
    assert.equal(readFileSync(w.file('hostile.mmd'), 'utf8').includes('shape.png'), true);
  });

  it('whose nodes are links choose the node, and go nowhere', async () => {
    const w = workbench();
    const watch = new Watch(w);
    for (const what of ['clicks and links', 'top frame links']) {
      await w.open('links.mmd', DIAGRAMS[what]);
      const preview = await Preview.open(w);
      await preview.node('PING').waitFor();
      for (const id of await preview.nodes()) {
        await preview.node(id).locator('.nodeLabel').first().click();
        await preview.frame.locator(`g[data-node="${id}"] > .marks > .here`).waitFor();
      }
      for (const link of await preview.frame.locator('.picture a').all()) await link.click({ timeout: 3000 }).catch(() => undefined);
      await untouched(w, watch, what);
      assert.equal(await w.page.locator('.tab', { hasText: 'links.mmd' }).count() > 0, true, 'a command was executed');
      await w.closeEditors();
    }
  });
}, { shared: true });

/** Nodes in layers, each linked to all of the next. */
function mesh(layers, width) {
  const lines = [];
  for (let layer = 0; layer + 1 < layers; layer += 1) {
    for (let from = 0; from < width; from += 1) for (let to = 0; to < width; to += 1) lines.push(`    L${layer}x${from} --> L${layer + 1}x${to}`);
  }
  return `flowchart TD\n${lines.join('\n')}\n`;
}

function nested(depth) {
  const open = Array.from({ length: depth }, (_, level) => `    subgraph S${level}`);
  return `flowchart TD\n    PING --> INNER\n${open.join('\n')}\n    INNER[inner]\n${open.map(() => '    end').join('\n')}\n`;
}

describe('Huge diagrams', (workbench) => {
  it('are drawn when asked; a drawing that takes too long is ended, and typing goes on', async () => {
    const w = workbench();
    const { page } = w;
    await w.open('huge.mmd', 'flowchart TD\n    A --> B\n');
    const preview = await Preview.open(w);
    await preview.shows('A', 'B');
    const anyway = preview.notice().getByRole('button', { name: 'Draw anyway' });

    // By its size it is not begun.
    w.write('huge.mmd', mesh(3, 46));
    await anyway.waitFor();
    assert.match(await preview.notice().textContent(), /^The flowchart has 4,370 nodes, edges and subgraphs; above 4,000, drawing it may take minutes\. This is the last picture/);
    await preview.shows('A', 'B');
    await w.shot('preview-too-large');

    // By its time it is ended. The page is given little of it: the limit for a drawing that was asked for is a multiple.
    await preview.frame.evaluate(() => (document.body.dataset.seconds = '0.1'));
    await anyway.click();
    await preview.notice().filter({ hasText: /^Drawing took longer than 1\.5 seconds and was stopped\. This is the last picture/ }).waitFor();
    assert.equal(await anyway.count(), 0);
    assert.equal(await preview.frame.locator('.drawing-frame').count(), 0);
    await w.shot('preview-too-long');

    // The editor takes words, and the next diagram is drawn by a new frame.
    await preview.frame.evaluate(() => (document.body.dataset.seconds = '20'));
    await w.goTo(2, 1);
    await page.keyboard.type('%% still here ');
    await w.until(async () => (await w.text()).includes('%% still here'), 'typing is held up');
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('flowchart TD\n    C --> D\n');
    await preview.shows('C', 'D');
    await preview.notice().waitFor({ state: 'hidden' });
  });

  it('that could not be drawn in time are drawn once somebody insists', async () => {
    const w = workbench();
    await w.open('slow.mmd', 'flowchart TD\n    A --> B\n');
    const preview = await Preview.open(w);
    await preview.shows('A', 'B');
    await preview.frame.evaluate(() => (document.body.dataset.seconds = '0.001'));
    w.write('slow.mmd', 'flowchart TD\n    A --> C\n');
    const anyway = preview.notice().getByRole('button', { name: 'Draw anyway' });
    await anyway.waitFor();
    await preview.shows('A', 'B');
    await preview.frame.evaluate(() => (document.body.dataset.seconds = '20'));
    await anyway.click();
    await preview.shows('A', 'C');
    await preview.notice().waitFor({ state: 'hidden' });
  });

  it('with subgraphs or labels that are nested deeply are drawn or declined with a sentence', async () => {
    const w = workbench();
    await w.open('deep.mmd', 'flowchart TD\n    A --> B\n');
    const preview = await Preview.open(w);
    const deep = `flowchart TD\n    PING --> INNER["${'<b>'.repeat(2000)}words${'</b>'.repeat(2000)}"]\n`;
    for (const [what, text] of Object.entries({ subgraphs: nested(30), 'many subgraphs': nested(1500), labels: deep })) {
      // What must be drawn has time for it, on a busy machine too.
      await preview.frame.evaluate((seconds) => (document.body.dataset.seconds = seconds), what === 'subgraphs' ? '60' : '4');
      w.write('deep.mmd', `flowchart TD\n    N${what.length} --> B\n`);
      await preview.shows(`N${what.length}`, 'B');
      w.write('deep.mmd', text);
      await w.until(async () => (await preview.node('PING').count()) > 0 || /^(?:Line \d+: |Drawing took|The flowchart)/.test(await preview.notice().textContent()), `${what} are neither drawn nor declined`);
      await w.shot(`preview-deep-${what.replaceAll(' ', '-')}`);
      if (what === 'subgraphs') await preview.node('INNER').waitFor();
    }
  });
}, { shared: true });

describe('Labels', (workbench) => {
  it('have words and their looks, nothing to type into, press or open, and no names that mean something to the preview', async () => {
    const w = workbench();
    const label = [
      "<form action='/x'><input value='typed' autofocus><button autofocus>press</button><select><option>choose</option></select><textarea>write</textarea></form>",
      '<fieldset><legend>told</legend></fieldset><details open><summary>opened</summary>inside</details><dialog open>said</dialog><meter value=1>m</meter><progress></progress>',
      "<label for=x>labelled</label><span contenteditable='true' tabindex='0' accesskey='a' data-node='PING' data-about='x' data-vscode-context='{}' id='x'><i>slanted</i></span>",
      "<b style='color:red'>bold</b><map><area href='/y'></map>",
    ].join('');
    await w.open('labels.mmd', `flowchart TD\n    PING --> A["${label.replaceAll('"', "'")}"]\n    A -->|"<button>edge</button>"| B\n    subgraph S["<button>group</button>"]\n    B\n    end\n`);
    const preview = await Preview.open(w);
    await preview.shows('PING', 'A', 'B');
    await w.shot('preview-labels');
    const tags = 'form, input, button, select, option, textarea, fieldset, legend, details, summary, dialog, meter, progress, label, map, area, [contenteditable], [tabindex]:not(g), [accesskey], [data-vscode-context]:not(g), foreignObject [data-node], foreignObject [data-about], foreignObject [id]';
    assert.deepEqual(await preview.frame.locator('.picture').locator(tags).evaluateAll((found) => found.map((one) => one.outerHTML)), []);
    const words = await preview.node('A').textContent();
    for (const word of ['press', 'told', 'opened', 'inside', 'said', 'labelled', 'slanted', 'bold']) assert.ok(words.includes(word), `${word} is not in ${words}`);
    assert.equal(await preview.node('A').locator('b, i').count(), 2);
    assert.equal(await preview.frame.locator('.picture', { hasText: 'edge' }).filter({ hasText: 'group' }).count(), 1);
  });
}, { shared: true });
