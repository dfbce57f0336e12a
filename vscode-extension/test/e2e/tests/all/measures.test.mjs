// Figures, printed as ratios to an extension that does nothing. Of times nothing is asserted; that no keystroke is lost is.
import { before } from 'node:test';
import { Preview, assert, describe, finished, it } from '../../support/harness.mjs';

const SIZES = [100, 1000];
const KEYS = 30;
const PAUSE = 60;
const WORD = 'abcdefghijklmnopqrstuvwxyzabcd'.slice(0, KEYS);
const figures = {};

/** A workflow of so many nodes with one mistake, in its last line. */
function workflow(size) {
  const node = (number) => `    N${number}["Custom<br/>(role: solver_${number})"]:::CustomOp`;
  const from = (number) => (number < 7 ? 'PROBLEM' : `N${number - 7}`);
  const numbers = Array.from({ length: size }, (_, number) => number);
  const edges = numbers.map((number) => `    ${from(number)} -->|input| N${number}`);
  return ['flowchart TD', '    PROBLEM([Problem]):::Interface', ...numbers.map(node), ...edges, `    N${size - 1} --> RETURN([Return]):::CustumOp`, ''].join('\n');
}

/** Milliseconds from each keystroke until the editor shows it, in the page's own clock. */
async function typed(w) {
  const { page } = w;
  await page.evaluate(() => {
    window.latencies = [];
    let pressed;
    const lines = document.querySelector('.editor-group-container.active .view-lines');
    window.addEventListener('keydown', () => (pressed = performance.now()), { capture: true });
    new MutationObserver(() => {
      if (pressed === undefined) return;
      const since = pressed;
      pressed = undefined;
      requestAnimationFrame(() => window.latencies.push(performance.now() - since));
    }).observe(lines, { subtree: true, childList: true, characterData: true });
  });
  for (const key of WORD) {
    await page.keyboard.press(key);
    await page.waitForTimeout(PAUSE);
  }
  await w.until(async () => (await w.text()).includes(WORD), 'keystrokes were lost');
  return page.evaluate(() => window.latencies);
}

function quantile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** Open, type, look at memory; with `preview` beside it. */
function measures(profile, preview) {
  describe(
    `Measures: ${profile}`,
    (workbench) => {
      const found = (figures[profile] = {});
      for (const size of SIZES) {
        it(`no keystroke is lost at ${size} nodes`, async () => {
          const w = workbench();
          // The workbench is warm; the extension is at the first size not, and at the second.
          await w.open('warm.txt', 'warm\n');
          const began = Date.now();
          await w.open(`n${size}.mmd`, workflow(size));
          await w.page.locator('.view-line', { hasText: 'flowchart TD' }).first().waitFor();
          found[`open ${size}`] = Date.now() - began;
          if (preview) {
            await w.until(async () => !/^\s*0\s+0\s*$/.test(await w.page.locator('#status\\.problems').innerText()), 'nothing is found');
            found[`diagnostic ${size}`] = Date.now() - began;
            const shown = await Preview.open(w);
            // On a busy machine the first drawing may take longer than the preview gives it.
            const anyway = shown.frame.locator('button', { hasText: 'Draw anyway' });
            const together = shown.frame.locator('button[title^="Draw equal steps as one"][aria-pressed="true"]');
            await w.until(async () => {
              if (await together.isVisible()) await together.click().catch(() => undefined);
              if (await anyway.isVisible()) await anyway.click().catch(() => undefined);
              return (await shown.nodes()).length === size + 2;
            }, 'the preview is not drawn', 180_000);
            found[`picture ${size}`] = Date.now() - began;
          }
          await w.goTo(4, 31);
          const latencies = await typed(w);
          assert.ok(latencies.length > 0);
          found[`key median ${size}`] = quantile(latencies, 0.5);
          found[`key 95% ${size}`] = quantile(latencies, 0.95);
          found[`key longest ${size}`] = Math.max(...latencies);
          found[`extension host MiB ${size}`] = w.server.memory('--type=extensionHost');
          found[`language server MiB ${size}`] = w.server.memory('start_server.py');
        });
      }
      it('ends its server', async () => {
        await workbench().close();
        await finished(profile);
      });
    },
    { profile },
  );
}

measures('empty', false);
measures('measured', true);

describe('Figures', () => {
  before(() => {
    const { empty, measured } = figures;
    console.log('\n| figure | empty extension | Merrow | ratio |\n| --- | ---: | ---: | ---: |');
    for (const [name, value] of Object.entries(measured)) {
      const base = empty[name.replace(/^diagnostic|^picture/, 'open')];
      const ratio = base > 0 ? `${(value / base).toFixed(1)}x` : '';
      console.log(`| ${name} | ${base > 0 ? Math.round(base) : ''} | ${Math.round(value)} | ${ratio} |`);
    }
  });
  it('are printed', () => assert.ok(Object.keys(figures).length > 0));
}, { shared: true });
