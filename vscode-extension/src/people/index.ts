import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { Command } from '../contributed';
import { execute } from '../jobs/execute';
import { plain } from '../plain';
import type { LiveRuns } from '../run/live';
import { sentence } from '../run/texts/rejection';
import { say } from '../say';
import { intercept } from '../server/interceptors';
import { ConsentDialog } from '../tools/consent';
import type { Consent } from '../tools/protocol';
import { fillIn } from './filling';
import { fieldsOf } from './form';
import type { Answer, OpenQuestion, Question } from './protocol';
import { asksText, countText, inLine, isLong, untilText, wholeText } from './words';

const SCHEME = 'merrow-question';
/** Milliseconds between looks at what other processes ask. */
const LOOK = 60_000;
/** Milliseconds in which changes are put together. */
const PAUSE = 300;
const ANSWER = 'Answer…';
const CANCEL: Answer = { action: 'cancel' };

/** Questions of runs to people: a form for each that the server asks, and how many are open in the status bar. */
export class People implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('merrow.questions', vscode.StatusBarAlignment.Left, 9);
  private readonly disposables: { dispose(): unknown }[];
  private readonly texts = new Map<string, string>();
  /** The questions that the user wants to answer: these open their form at once. */
  private readonly wanted = new Set<string>();
  private readonly consents = new ConsentDialog();
  private readonly clock: NodeJS.Timeout;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly context: MerrowContext,
    live: LiveRuns,
  ) {
    this.item.name = 'Merrow Questions';
    this.item.command = Command.answerQuestion;
    this.disposables = [
      this.item,
      this.consents,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, { provideTextDocumentContent: ({ path }) => this.texts.get(path) ?? '' }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => { if (uri.scheme === SCHEME) this.texts.delete(uri.path); }),
      vscode.commands.registerCommand(Command.answerQuestion, (given: unknown) => this.answer(given)),
      intercept('merrow.answer', (given) => this.answer(given)),
      context.onDidChangeClient((client) => {
        client?.onRequest('merrow/ask', (asked: Question | Consent, token: vscode.CancellationToken) => this.ask(asked, token));
        this.soon();
      }),
      live.onDidHappen(({ event }) => {
        if (event.node === null || event.event === 'node_asked' || event.event === 'node_answered') this.soon();
      }),
    ];
    context.client()?.onRequest('merrow/ask', (asked: Question | Consent, token: vscode.CancellationToken) => this.ask(asked, token));
    this.clock = setInterval(() => { this.soon(); }, LOOK);
    this.soon();
  }

  dispose(): void {
    clearInterval(this.clock);
    clearTimeout(this.timer);
    for (const part of this.disposables) part.dispose();
  }

  /** Answer the question of a lens, of a run in the tree, or one that the user chooses. */
  async answer(given: unknown): Promise<void> {
    try {
      const { run, node } = named(given);
      if (run !== undefined && node !== undefined) {
        await this.begin(run, node);
        return;
      }
      const open = (await this.open()).filter((question) => run === undefined || question.run === run);
      if (open.length === 0) void say.info(run === undefined ? 'No run waits for an answer.' : 'This run does not wait for an answer.');
      const [first] = open;
      const chosen = open.length === 1 ? first : await choose(open);
      if (chosen !== undefined) await this.begin(chosen.run, chosen.visit);
    } catch (problem) {
      void say.error(sentence(problem));
    } finally {
      this.soon();
    }
  }

  private async begin(run: string, visit: string): Promise<void> {
    const key = keyOf({ run, visit });
    this.wanted.add(key);
    try {
      await execute(this.context, 'merrow.answer', { run, node: visit });
    } finally {
      this.wanted.delete(key);
    }
  }

  /** The server's request: what the person does with a question, or with what it wants their consent to. */
  private async ask(asked: Question | Consent, token: vscode.CancellationToken): Promise<Answer> {
    if (asked.kind === 'consent') return this.consents.ask(asked, token);
    const question = asked;
    this.soon();
    const fields = fieldsOf(question.schema);
    if (fields === undefined) return CANCEL;
    if (!this.wanted.has(keyOf(question))) {
      const buttons = quick(question, fields);
      const closed = new Promise<undefined>((resolve) => { token.onCancellationRequested(() => { resolve(undefined); }); });
      const pressed = await Promise.race([say.info(asksText(question), ...buttons.keys(), ANSWER), closed]);
      if (pressed === undefined || token.isCancellationRequested) return CANCEL;
      const content = buttons.get(pressed);
      if (content !== undefined) return { action: 'accept', content };
    }
    if (isLong(question)) await this.show(question);
    return fillIn(fields, asksText(question), token);
  }

  /** All of a question, beside what the user looks at. */
  private async show(question: Question): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${encodeURIComponent(question.run)}/${encodeURIComponent(question.visit)}/Question` });
    this.texts.set(uri.path, wholeText(question, Date.now() / 1000));
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true, viewColumn: vscode.ViewColumn.Beside });
  }

  private open(): Promise<OpenQuestion[]> {
    return execute(this.context, 'merrow.waiting', {});
  }

  private soon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.count();
    }, PAUSE);
  }

  private async count(): Promise<void> {
    // Whoever has no workflow open does not start the server by this.
    if (this.context.client() === undefined) return;
    try {
      const open = await this.open();
      this.item.text = countText(open.length);
      this.item.tooltip = plain(open.slice(0, 10).map(asksText).join('\n'));
      if (open.length > 0) this.item.show();
      else this.item.hide();
    } catch {
      this.item.hide(); // Without a journal nothing is known to be asked.
    }
  }
}

/** The buttons that answer a question at once: of an approval, or a choice of up to three, that has no more to read than a line. */
function quick(question: Question, fields: ReturnType<typeof fieldsOf> & object): Map<string, Readonly<Record<string, unknown>>> {
  const [field] = fields;
  if (field === undefined || isLong({ ...question, shown: [] })) return new Map();
  if (question.kind === 'approval') return new Map([['Approve', { [field.name]: true }], ['Reject', { [field.name]: false }]]);
  if (question.kind !== 'choice' || field.words.length > 3) return new Map();
  const labels = field.labels.map((label) => inLine(label, 30));
  if (new Set([...labels, ANSWER]).size <= labels.length) return new Map();
  return new Map(field.words.map((word, place) => [labels[place] ?? word, { [field.name]: word }]));
}

async function choose(open: readonly OpenQuestion[]): Promise<OpenQuestion | undefined> {
  const now = Date.now() / 1000;
  const choices = open.map((question) => ({
    label: plain(asksText(question)),
    description: untilText(question.deadline, now),
    detail: plain(`${inLine(question.from)}, run ${question.run}`),
    question,
  }));
  return (await vscode.window.showQuickPick(choices, { title: 'Questions of Runs', placeHolder: 'Choose a question to answer', matchOnDetail: true }))?.question;
}

function keyOf({ run, visit }: Pick<OpenQuestion, 'run' | 'visit'>): string {
  return `${run}\n${visit}`;
}

/** What a lens, an item of the tree or a caller means. */
function named(given: unknown): { readonly run?: string; readonly node?: string } {
  if (typeof given !== 'object' || given === null) return {};
  const { run, node, summary } = given as { run?: unknown; node?: unknown; summary?: { run?: unknown } };
  const meant = run ?? summary?.run;
  return { ...(typeof meant === 'string' ? { run: meant } : {}), ...(typeof node === 'string' ? { node } : {}) };
}
