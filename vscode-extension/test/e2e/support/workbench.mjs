// A page with a workbench in it, and what a user does there.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chromium as executable, playwright, shots } from './places.mjs';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** Milliseconds that anything may take to appear. */
export const PATIENCE = 30_000;

let browser;

async function launched() {
  if (browser === undefined) {
    const { chromium } = await import(playwright);
    browser = await chromium.launch({ executablePath: executable(), headless: true, chromiumSandbox: false, args: FLAGS });
  }
  return browser;
}

/** End the browser that all workbenches share. */
export async function closeBrowser() {
  await browser?.close();
  browser = undefined;
}

export class Workbench {
  /** Open a page on a server. `payload`: for the workbench's own channel; `before`: called with the page before it loads. */
  static async open(server, { payload = [], before, viewport = { width: 1280, height: 800 }, colorScheme = 'dark' } = {}) {
    const context = await (await launched()).newContext({ viewport, colorScheme });
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.url });
    const page = await context.newPage();
    const workbench = new Workbench(server, context, page);
    await before?.(page);
    await page.goto(server.address(payload));
    await page.locator('.monaco-workbench').waitFor({ timeout: 2 * PATIENCE });
    return workbench;
  }

  constructor(server, context, page) {
    this.server = server;
    this.context = context;
    this.page = page;
    this.console = [];
    page.setDefaultTimeout(PATIENCE);
    page.on('console', (message) => this.console.push(`${message.type()}: ${message.text()}`));
  }

  async close() {
    await this.context.close();
  }

  /** Load the window again, with the extensions that are installed now. */
  async reload() {
    await this.page.reload();
    await this.page.locator('.monaco-workbench').waitFor({ timeout: 2 * PATIENCE });
  }

  // Files

  file(name) {
    return path.join(this.server.workspace, name);
  }

  write(name, text) {
    mkdirSync(path.dirname(this.file(name)), { recursive: true });
    writeFileSync(this.file(name), text);
  }

  read(name) {
    return readFileSync(this.file(name), 'utf8');
  }

  remove(name) {
    rmSync(this.file(name), { recursive: true, force: true });
  }

  // Commands and editors

  /** Run a command by its full title in the palette, which shows what there was when it was opened. */
  async command(title) {
    const { page } = this;
    const row = page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first();
    await this.until(async () => {
      await page.keyboard.press('F1');
      const input = page.locator('.quick-input-widget input[type=text]').first();
      await input.waitFor({ state: 'visible' });
      await input.fill(`>${title}`);
      if (await row.waitFor({ timeout: 3000 }).then(() => true, () => false)) return true;
      await page.keyboard.press('Escape');
      return false;
    }, `the palette has no ${title}`);
    await row.click();
  }

  /** Whether the palette offers a command. */
  async offers(title) {
    const { page } = this;
    await page.keyboard.press('F1');
    const input = page.locator('.quick-input-widget input[type=text]').first();
    await input.waitFor({ state: 'visible' });
    await input.fill(`>${title}`);
    // Where there is none, the palette proposes similar ones, or says that none matches.
    const rows = page.locator('.quick-input-list .monaco-list-row');
    const others = rows.filter({ hasText: /similar commands|No matching commands/ });
    const found = rows.filter({ hasText: title });
    await found.or(others).first().waitFor();
    const offered = (await found.count()) > 0;
    await page.keyboard.press('Escape');
    return offered;
  }

  /** Answer the quick input that is open. */
  async answer(text) {
    const input = this.page.locator('.quick-input-widget input').first();
    await input.waitFor({ state: 'visible' });
    await input.fill(text);
    await input.press('Enter');
  }

  /** Write a file, open it and give its editor the focus. */
  async open(name, text) {
    if (text !== undefined) this.write(name, text);
    const { page } = this;
    const input = page.locator('.quick-input-widget input[type=text]').first();
    // A key that comes while the focus is on its way between a page and the workbench is lost.
    await this.until(async () => {
      await page.keyboard.press('Control+P');
      return input.waitFor({ state: 'visible', timeout: 3000 }).then(() => true, () => false);
    }, 'the list of files does not open');
    // By its absolute path: a file that was written just now need not be in the search's list. And only once it is the one that Enter takes:
    // the files that were open lately stand there first.
    await input.fill(this.file(name));
    await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: path.basename(name) }).first().waitFor();
    await page.keyboard.press('Enter');
    await page.locator(`.tab.active[aria-label*="${path.basename(name)}"]`).first().waitFor();
    await this.editor().first().waitFor();
  }

  /** All editors closed without saving. */
  async closeEditors() {
    const { page } = this;
    const none = page.locator('.editor-group-container.empty');
    const keep = page.getByRole('button', { name: "Don't Save" });
    await this.until(async () => {
      if ((await none.count()) === 1) return true;
      await page.keyboard.press('Escape');
      await page.keyboard.press('Control+K');
      await page.keyboard.press('Control+W');
      await keep.or(none).first().waitFor({ timeout: 3000 }).catch(() => undefined);
      if (await keep.isVisible()) await keep.click();
      return false;
    }, 'the editors are not closed');
  }

  /** Take an entry of the context menu that is open. A menu that has opened just now takes no click yet. */
  async choose(label) {
    const entry = this.page.locator('.context-view .action-label', { hasText: label });
    await entry.first().waitFor();
    await this.until(async () => {
      await entry.first().click({ timeout: 1000 }).catch(() => undefined);
      return (await entry.count()) === 0;
    }, `the menu does not take ${label}`);
  }

  /** The rows of the tree of runs, which is opened. */
  async runs() {
    const header = this.page.locator('.pane-header', { hasText: 'Merrow Runs' });
    if ((await header.getAttribute('aria-expanded')) === 'false') await header.click();
    return this.page.locator('.pane', { has: header }).locator('.monaco-list-row');
  }

  /** The text editor of the group that is active. */
  editor() {
    return this.page.locator('.editor-group-container.active .monaco-editor[data-uri]');
  }

  /** The lines that are in sight in the active editor, as one text. */
  async text() {
    const lines = await this.page.locator('.editor-group-container.active .view-lines .view-line').evaluateAll((found) =>
      found
        .map((line) => [Number.parseInt(line.style.top, 10), line.textContent.replaceAll('\u00a0', ' ')])
        .sort((one, other) => one[0] - other[0])
        .map(([, words]) => words),
    );
    return lines.join('\n');
  }

  /** Put the cursor into a line, counted from 1, and a column. */
  async goTo(line, column = 1) {
    const { page } = this;
    await page.keyboard.press('Control+1');
    await page.locator('.editor-group-container.active .monaco-editor').first().waitFor();
    await page.keyboard.press('Control+G');
    const input = page.locator('.quick-input-widget input[type=text]').first();
    await input.waitFor({ state: 'visible' });
    await input.fill(`:${line}:${column}`);
    await page.keyboard.press('Enter');
    await page.locator('.quick-input-widget').first().waitFor({ state: 'hidden' });
    await page.locator('.monaco-editor.focused').first().waitFor();
  }

  /** The line and column of the text's cursor, and what is selected, as the status bar says it. */
  async cursor() {
    await this.page.keyboard.press('Control+1');
    const said = this.page.locator('.statusbar-item', { hasText: /^Ln \d+/ });
    await said.waitFor();
    return said.innerText();
  }

  /** Until the file has this text, or what `right` says of it holds. */
  async saved(name, right) {
    const holds = typeof right === 'string' ? (text) => text === right : right;
    await this.until(() => existsSync(this.file(name)) && holds(this.read(name)), `${name} is not saved as expected`);
  }

  /** Until `holds` does; fails with the sentence. Polls: for what no element tells of. */
  async until(holds, sentence, patience = PATIENCE) {
    for (const end = Date.now() + patience; ; ) {
      const answer = await holds();
      if (answer) return answer;
      if (Date.now() > end) throw new Error(sentence);
      await this.page.waitForTimeout(50);
    }
  }

  /** The language server is ready, as the status item of the active editor says. */
  async ready() {
    await this.until(() => this.server.processes('start_server.py').length > 0, 'no language server was started');
  }

  // Webviews

  /** The frame whose document holds an element; a webview's own document is nested frames deep. */
  async frame(selector, patience = PATIENCE) {
    return this.until(
      async () => {
        for (const frame of this.page.frames()) {
          const found = await frame.$(selector).catch(() => null);
          if (found !== null) return frame;
        }
        return undefined;
      },
      `no webview holds ${selector}`,
      patience,
    );
  }

  /** Keep a picture of the page as an artefact, `shots/NAME.png`. */
  async shot(name) {
    mkdirSync(shots, { recursive: true });
    await this.page.screenshot({ path: path.join(shots, `${name}.png`) });
  }

  /** The notifications in sight. */
  toasts() {
    return this.page.locator('.notification-toast');
  }
}
