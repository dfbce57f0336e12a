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
/** Milliseconds that anything may take to appear, however busy the machine is. */
export const PATIENCE = 180_000;
/** Milliseconds after which what a user can do again without harm is done again. */
export const SOON = 20_000;

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

/** Runs in each page: what the workbench itself, not a webview, still moves for those who want less motion, such as bars of progress. */
function standStill() {
  if (globalThis.top !== globalThis.self) return;
  const style = document.createElement('style');
  style.textContent = '*, ::before, ::after { animation-duration: 0s !important; animation-iteration-count: 1 !important; transition-duration: 0s !important; }';
  const add = () => document.head.append(style);
  if (document.head === null) document.addEventListener('DOMContentLoaded', add);
  else add();
}

export class Workbench {
  /** Open a page on a server. `payload`: for the workbench's own channel; `before`: called with the page before it loads. */
  static async open(server, { payload = [], before, viewport = { width: 1280, height: 800 }, colorScheme = 'dark' } = {}) {
    // Nothing moves: without a graphics card, each frame of an animation takes the time of those who wait for the tests.
    const context = await (await launched()).newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
    await context.addInitScript(standStill);
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

  /** Run a command by its title in the palette, which shows what there was when it was opened. */
  async command(title) {
    const { page } = this;
    const words = `>${title}`;
    const input = this.quickInput();
    const rows = page.locator('.quick-input-list .monaco-list-row', { hasText: title });
    const exact = rows.filter({ has: page.locator('.label-name', { hasText: new RegExp(`^\\s*${escaped(title)}\\s*$`) }) });
    await this.again(async () => {
      await page.keyboard.press('F1');
      await input.waitFor({ state: 'visible', timeout: SOON });
      await input.fill(words, { timeout: SOON });
      await rows.first().waitFor({ timeout: SOON });
      await this.still(rows);
      // Others have the title in theirs, and those that were run lately stand first.
      await ((await exact.count()) > 0 ? exact : rows).first().click({ timeout: SOON });
      // A click on a list that is drawn again at that moment is lost: the palette stays as it is.
      await this.until(async () => !(await input.isVisible()) || (await input.inputValue()) !== words, 'the click is lost', SOON);
    }, `the palette does not run ${title}`);
  }

  /**
   * Run a command until the quick input asks what has the words `asked`; answer with `text`, where one is given. Only for commands that
   * do nothing before they are answered, and nothing where the question is left.
   */
  async commandAnswered(title, asked, text) {
    const question = this.page.locator('.quick-input-widget', { hasText: asked });
    await this.again(async () => {
      await this.command(title);
      await question.waitFor({ timeout: SOON });
    }, `${title} does not ask ${asked}`);
    if (text !== undefined) await this.answer(text);
  }

  /** Whether the palette offers a command. */
  async offers(title) {
    const { page } = this;
    const input = this.quickInput();
    await this.again(async () => {
      await page.keyboard.press('F1');
      await input.waitFor({ state: 'visible', timeout: SOON });
      await input.fill(`>${title}`, { timeout: SOON });
    }, 'the palette does not open');
    // Where there is none, the palette proposes similar ones, or says that none matches.
    const rows = page.locator('.quick-input-list .monaco-list-row');
    const others = rows.filter({ hasText: /similar commands|No matching commands/ });
    const found = rows.filter({ hasText: title });
    await found.or(others).first().waitFor();
    const offered = (await found.count()) > 0;
    await page.keyboard.press('Escape');
    return offered;
  }

  /** The text field of the palette, the list of files and the like. */
  quickInput() {
    return this.page.locator('.quick-input-widget input[type=text]').first();
  }

  /** Answer the quick input that is open. */
  async answer(text) {
    const input = this.page.locator('.quick-input-widget input').first();
    await input.waitFor({ state: 'visible' });
    await input.fill(text);
    await input.press('Enter');
  }

  /** Answer the list that asks this, however slow it is in coming and in taking words, with the first choice that has these words. */
  async pick(asked, choice) {
    const box = this.page.locator('.quick-input-widget');
    const input = box.locator(`input[placeholder^="${asked}"]`);
    await input.waitFor();
    await this.until(async () => {
      if (!(await input.isVisible())) return true;
      await input.fill(choice, { timeout: 2000 }).catch(() => undefined);
      await box.locator('.monaco-list-row', { hasText: choice }).first().click({ timeout: 2000 }).catch(() => undefined);
      return !(await input.isVisible());
    }, `the question “${asked}” takes no answer`);
  }

  /** Answer the list that asks this, of which several may be chosen, with exactly the choices that have these labels. */
  async pickSeveral(asked, labels) {
    const box = this.page.locator('.quick-input-widget');
    const input = box.locator(`input[placeholder^="${asked}"]`);
    await input.waitFor();
    const rows = box.locator('.monaco-list-row');
    await this.still(rows);
    for (const row of await rows.all()) {
      const label = (await row.locator('.label-name').first().innerText()).trim();
      const wanted = String(labels.includes(label));
      await this.until(async () => {
        if ((await row.getAttribute('aria-checked')) === wanted) return true;
        // What is said of a row that the mouse was over lies above others.
        await this.page.mouse.move(2, 2);
        await row.click({ timeout: 2000 }).catch(() => undefined);
        await this.still(rows);
        return (await row.getAttribute('aria-checked')) === wanted;
      }, `${label} is not as it should be`);
    }
    await this.page.keyboard.press('Enter');
    await input.waitFor({ state: 'hidden' });
  }

  /** Answer the box that asks this with a text; undefined leaves what is in it. */
  async type(asked, text) {
    const question = this.page.locator('.quick-input-widget', { hasText: asked });
    await question.waitFor();
    if (text === undefined) await this.page.keyboard.press('Enter');
    else await this.answer(text);
    await question.waitFor({ state: 'hidden' });
  }

  /** Write a file, open it and give its editor the focus. */
  async open(name, text) {
    if (text !== undefined) this.write(name, text);
    const { page } = this;
    const input = this.quickInput();
    const file = page.locator('.quick-input-list .monaco-list-row.focused', { hasText: path.basename(name) });
    await this.again(async () => {
      await page.keyboard.press('Control+P');
      await input.waitFor({ state: 'visible', timeout: SOON });
      // By its absolute path: a file that was written just now need not be in the search's list. And only once it is the one that Enter
      // takes: the files that were open lately stand there first.
      await input.fill(this.file(name), { timeout: SOON });
      await file.first().waitFor({ timeout: SOON });
    }, `the list of files does not have ${name}`);
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
  async choose(label, patience = PATIENCE) {
    const entry = this.page.locator('.context-view .action-label', { hasText: label });
    await entry.first().waitFor({ timeout: patience });
    await this.until(async () => {
      await entry.first().click({ timeout: 1000 }).catch(() => undefined);
      return (await entry.count()) === 0;
    }, `the menu does not take ${label}`, patience);
  }

  /** The rows of the tree of runs, which is opened. */
  async runs() {
    const pane = this.page.locator('.part.sidebar .pane', { has: this.page.locator('.pane-header', { hasText: 'Merrow Runs' }) });
    const header = pane.locator('.pane-header');
    // A suite before this one in the same window may have left another view in its place.
    if (!(await header.isVisible())) await this.command('View: Show Explorer');
    if ((await header.getAttribute('aria-expanded')) === 'false') await header.click();
    // The other views leave it a few rows; a row out of sight is not in the page.
    const others = this.page.locator('.part.sidebar .pane-header[aria-expanded="true"]').filter({ hasNotText: 'Merrow Runs' });
    while ((await others.count()) > 0) await others.first().click();
    return pane.locator('.monaco-list-row');
  }

  /**
   * The rows below the group `name` of the tree of runs, whose other groups are folded: other files of the same window leave runs and
   * evaluations, which would count as its own, and push them out of sight.
   */
  async runsOf(name) {
    const rows = await this.runs();
    const groups = rows.and(this.page.locator('[aria-level="1"]'));
    const own = groups.filter({ hasText: name });
    await this.until(async () => {
      if ((await own.count()) !== 1) return false;
      const wrong = groups.and(this.page.locator('[aria-expanded="true"]')).filter({ hasNotText: name }).or(own.and(this.page.locator('[aria-expanded="false"]')));
      if ((await wrong.count()) === 0) return true;
      await wrong.first().locator('.monaco-tl-twistie').click({ timeout: 1000 }).catch(() => undefined);
      return false;
    }, `the tree of runs does not open ${name} alone`);
    return rows.and(this.page.locator('[aria-level="2"]'));
  }

  /** Choose two rows and an entry of their menu, until `outcome` appears: a click on a tree that is drawn again at that moment is lost. */
  async chooseForBoth(one, other, label, outcome) {
    await this.again(async () => {
      await one.click({ timeout: SOON });
      await other.click({ modifiers: ['ControlOrMeta'], timeout: SOON });
      for (const row of [one, other]) await row.and(this.page.locator('.selected')).waitFor({ timeout: SOON });
      await other.click({ button: 'right', timeout: SOON });
      await this.choose(label, SOON);
      await outcome.first().waitFor({ timeout: SOON });
    }, `${label} shows nothing`);
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
    const input = this.quickInput();
    await this.again(async () => {
      await page.keyboard.press('Control+1');
      await page.locator('.editor-group-container.active .monaco-editor').first().waitFor({ timeout: SOON });
      await page.keyboard.press('Control+G');
      await input.waitFor({ state: 'visible', timeout: SOON });
      await input.fill(`:${line}:${column}`, { timeout: SOON });
      await input.press('Enter', { timeout: SOON });
      await page.locator('.quick-input-widget').first().waitFor({ state: 'hidden', timeout: SOON });
    }, `the cursor does not go to line ${line}`);
    await page.locator('.monaco-editor.focused').first().waitFor();
  }

  /** The line and column of the text's cursor, and what is selected, as the status bar says it. */
  async cursor() {
    const said = this.page.locator('.statusbar-item', { hasText: /^Ln \d+/ });
    return this.again(async () => {
      await this.page.keyboard.press('Control+1');
      return said.innerText({ timeout: SOON });
    }, 'the status bar does not say where the cursor is');
  }

  /**
   * A code lens with these words, in sight. The workbench scrolls a file that is opened again to where it was; where its lenses were not
   * drawn yet when it was closed, they are above that.
   */
  async lens(words = '') {
    const lens = this.page.locator('.codelens-decoration a', { hasText: words }).first();
    // The first one of a window also waits for the start of the server.
    await this.until(async () => {
      if (await lens.waitFor({ timeout: 3000 }).then(() => true, () => false)) return true;
      await this.page.keyboard.press('Control+ArrowUp');
      return false;
    }, `there is no code lens with the words ${words}`, 2 * PATIENCE);
    return lens;
  }

  /** Save the text on the left until the file has this text, or what `right` says of it holds: a key that comes while the focus moves is lost. */
  async save(name, right) {
    const { keyboard } = this.page;
    const holds = typeof right === 'string' ? (text) => text === right : right;
    await this.until(async () => {
      await keyboard.press('Control+1');
      await keyboard.press('Control+S');
      await this.page.waitForTimeout(200);
      return existsSync(this.file(name)) && holds(this.read(name));
    }, `${name} is not saved as expected`);
  }

  /**
   * Write text as one input into the editor on the left, at a line counted from 1 and a column, until the editor shows that line as
   * `line`: keys that come while the focus moves are lost, some of them or all.
   */
  async insert(place, column, text, line) {
    const shown = this.page.locator('.editor-group-container .view-line').filter({ hasText: line });
    await this.until(async () => {
      await this.goTo(place, column);
      await this.page.keyboard.insertText(text);
      return shown.first().waitFor({ timeout: 3000 }).then(() => true, () => false);
    }, `the editor does not take ${text}`);
  }

  /** Undo in the text on the left until its file, saved, has this text. Only where nothing was changed before what is undone. */
  async undo(name, text) {
    const { keyboard } = this.page;
    await this.until(async () => {
      await keyboard.press('Control+1');
      await keyboard.press('Control+Z');
      await keyboard.press('Control+S');
      await this.page.waitForTimeout(200);
      return this.read(name) === text;
    }, `${name} is not as it was before`);
  }

  /** Until `holds` does; fails with the sentence. Polls, less often what takes longer: for what no element tells of. */
  async until(holds, sentence, patience = PATIENCE) {
    for (let end = Date.now() + patience, pause = 50; ; pause = Math.min(1.2 * pause, 300)) {
      const answer = await holds();
      if (answer) return answer;
      if (Date.now() > end) throw new Error(`${sentence}. ${await this.#inSight()}`);
      await this.page.waitForTimeout(pause);
    }
  }

  /**
   * Until `steps` go through, which all give up SOON. For steps with the quick input: a key that comes while the focus is on its way
   * between a page and the workbench is lost, and the quick input closes when a page that was opened before takes the focus late.
   */
  async again(steps, sentence) {
    for (const end = Date.now() + PATIENCE; ; ) {
      try {
        return await steps();
      } catch (cause) {
        if (Date.now() > end) throw new Error(`${sentence}. ${await this.#inSight()}`, { cause });
        await this.page.keyboard.press('Escape');
      }
    }
  }

  /** What can be seen, in a sentence: where no picture can be looked at, the message of a failed test tells what was there instead. */
  async #inSight() {
    const words = async (where, selector) => (await where.$$eval(selector, (found) => found.filter((one) => one.checkVisibility()).map((one) => one.innerText.trim())).catch(() => []));
    const pages = await Promise.all(this.page.frames().slice(1).map((frame) => words(frame, 'body')));
    const parts = {
      editor: await words(this.page, '.tab.active .label-name'),
      panel: await words(this.page, '.panel .composite.title'),
      dialog: await words(this.page, '.monaco-dialog-box'),
      question: await words(this.page, '.quick-input-widget'),
      notifications: await words(this.page, '.notification-list-item'),
      pages: pages.flat().filter((text) => text !== ''),
    };
    const short = (texts) => texts.map((text) => `"${text.replaceAll(/\s+/g, ' ').slice(0, 80)}"`).join(', ');
    const seen = Object.entries(parts).filter(([, texts]) => texts.length > 0).map(([name, texts]) => `${name} ${short(texts)}`);
    return `In sight: ${seen.join('; ') || 'nothing'}; ${this.page.frames().length - 1} frames of webviews`;
  }

  /** Until these rows of a list are the same at two looks. */
  async still(rows) {
    let last;
    await this.until(async () => {
      const before = last;
      last = (await rows.allInnerTexts()).join('\n');
      return last === before;
    }, 'the list does not come to rest', SOON);
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
        await this.header(); // opens the panel of runs again where it stays empty
        return undefined;
      },
      `no webview holds ${selector}`,
      patience,
    );
  }

  /** The id of the run that the panel shows; empty where it shows none. */
  async shownRun() {
    return /\brun (\S+)/.exec((await this.header())?.words ?? '')?.[1] ?? '';
  }

  /**
   * The frame of the panel of runs, once it says that a run has finished: one whose header has these words, and not the run with the id
   * `before`.
   */
  async runEnded(words, before = '') {
    return this.until(
      async () => {
        const header = await this.header();
        const run = /\brun (\S+)/.exec(header?.words ?? '')?.[1] ?? '';
        return run !== '' && run !== before && header.words.includes(words) && header.words.includes('finished') ? header.frame : undefined;
      },
      `the panel does not say that a run of ${words} has finished`,
      2 * PATIENCE,
    );
  }

  /** The head of the panel of runs, as words, with its frame. */
  async header() {
    for (const frame of this.page.frames()) {
      const words = await frame.$eval('main > header', (header) => header.textContent).catch(() => undefined);
      if (words !== undefined) {
        this.#empty = undefined;
        return { frame, words };
      }
    }
    await this.#reopenEmptyPanel();
    return undefined;
  }

  /** Since when the panel of runs is looked for a page in vain, in milliseconds. */
  #empty;

  /** A webview whose page did not load on a busy machine stays empty until its panel is opened again: done each time that it was empty for long. */
  async #reopenEmptyPanel() {
    if (await this.page.locator('.panel .composite.title', { hasText: 'Merrow Run' }).isVisible()) this.#empty ??= Date.now();
    else this.#empty = undefined;
    if (this.#empty === undefined || Date.now() < this.#empty + 2 * SOON) return;
    this.#empty = undefined;
    await this.command('View: Hide Panel');
    await this.command('View: Toggle Panel Visibility');
  }

  /** Keep a picture of the page as an artefact, `shots/NAME.png`. */
  async shot(name) {
    mkdirSync(shots, { recursive: true });
    await this.page.screenshot({ path: path.join(shots, `${name}.png`) });
  }

  /** The notifications in sight. They go after ten seconds, most of them: what a test needs of one it asks `notification` for. */
  toasts() {
    return this.page.locator('.notification-toast');
  }

  /** A notification with these words, which is looked up in the list of notifications where it is out of sight by now. */
  async notification(words) {
    const found = this.page.locator('.notification-list-item:visible', { hasText: words }).first();
    const comes = (timeout) => found.waitFor({ timeout }).then(() => true, () => false);
    await this.until(async () => {
      if (await comes(SOON)) return true;
      await this.command('Notifications: Show Notifications');
      return comes(3000);
    }, `no notification has the words ${words}`);
    return found;
  }

  /** Click a button of a notification until the notification is gone. */
  async answerNotification(words, button) {
    await this.again(async () => {
      const found = await this.notification(words);
      await found.getByRole('button', { name: button }).click({ timeout: SOON });
      await found.waitFor({ state: 'hidden', timeout: SOON });
    }, `the notification ${words} does not take ${button}`);
  }
}

function escaped(words) {
  return words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
