import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { previews } from '../preview';
import type { RevisionChoice } from '../preview/panel';
import type { RunDocuments } from '../run/texts/documents';
import type { LiveRun, LiveRuns } from '../run/live';
import { shortName } from '../run/texts/pages';
import type { RunPictures } from '../run/pictures';
import type { RunEvent, Target } from '../run/protocol';
import { sentence, wasLeft } from '../run/texts/rejection';
import type { Runner } from '../run/runner';
import type { Revised, RunServer } from '../run/server';
import { NO_WORKFLOW, nameOf, targetOf } from '../run/targets';
import type { RunTree } from '../run/views/tree';
import { say } from '../say';
import { offerTrust } from '../server/trust';
import { drawingsOf } from './following';
import { byText, effectText, noteOf, type RevisionItem } from './words';

interface Parts {
  readonly context: MerrowContext;
  readonly server: RunServer;
  readonly live: LiveRuns;
  readonly runner: Runner;
  readonly documents: RunDocuments;
  readonly pictures: RunPictures;
  readonly tree: RunTree;
}

/** A run, with one of its revisions where one is meant. */
interface Named {
  readonly run: string;
  readonly revision?: number | undefined;
}

/** Milliseconds that the status bar says what became of a revision. */
const SHOWN = 8000;
const APPLY = 'Apply';
const REFUSE = 'Refuse';
const DIFFERENCE = 'Show Difference';

/** Revisions of runs: the preview follows them, and people ask for them, accept them, go back and decide. */
export function registerRevisions(parts: Parts): vscode.Disposable {
  const { context, live, tree } = parts;
  const command = (id: string, act: (...given: unknown[]) => unknown) => vscode.commands.registerCommand(id, act);
  return vscode.Disposable.from(
    command(Command.applyFileToRun, (given) => told(() => applyFile(parts, given))),
    command(Command.acceptIntoFile, (given) => told(() => accept(parts, given))),
    command(Command.goBack, (given) => told(() => goBack(parts, given))),
    command(Command.showRevision, (given) => told(() => showDifference(parts, given))),
    command(Command.answerRevision, (given) => told(() => decide(parts, given))),
    previews(context).onDidDecide((choice) => void told(() => chosen(parts, choice))),
    live.onDidHappen(({ run, event }) => {
      if (event.revision === undefined) return;
      tree.soon();
      if (event.event === 'revision_applied') void follow(parts, run, event.revision);
      else if (event.event === 'revision_waiting') void told(() => ask(parts, run, event));
      else if (event.event === 'revision_refused' && event.trigger !== 'person') vscode.window.setStatusBarMessage(`$(git-commit) Revision ${event.revision} was refused; the run goes on.`, SHOWN);
    }),
  );
}

/** Do something; what goes wrong is told. */
async function told(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (problem) {
    if (!wasLeft(problem)) void say.error(sentence(problem));
  }
}

/** Draw what a revision made of a run. */
async function follow({ context, server, pictures }: Parts, run: LiveRun, revision: number): Promise<void> {
  try {
    const report = await server.revision(run.progress.run, revision);
    const drawings = drawingsOf(report);
    // Another revision may have come meanwhile.
    if (drawings === undefined || run.progress.revision?.number !== revision) return;
    run.progress.draw(drawings.now, drawings.withGone, report.diff.cancelled ?? []);
    pictures.again(run);
  } catch (problem) {
    context.log.debug('merrow/revision:', problem);
  }
}

/** Have the run that is under way continue as the file is now. */
async function applyFile(parts: Parts, given: unknown): Promise<void> {
  const { context, server, tree } = parts;
  if (!context.trusted()) {
    offerTrust();
    return;
  }
  const named = namedIn(given);
  const summary = named === undefined ? undefined : (tree.known(named.run) ?? (await tree.list()).find(({ run }) => run === named.run));
  const target = summary?.uri ? { uri: vscode.Uri.parse(summary.uri).toString(), diagram: summary.diagram } : await targetOf(context, given);
  if (target === undefined) {
    void say.info(NO_WORKFLOW);
    return;
  }
  const run = named?.run ?? (await unfinished(parts, target));
  if (run === undefined) {
    void say.info(`No run of ${nameOf(target)} is under way, so there is nothing to apply it to.`);
    return;
  }
  await vscode.workspace.openTextDocument(vscode.Uri.parse(target.uri));
  await tellRevised(parts, await server.revise({ run, ...target }), target);
}

/** The run of a workflow that goes on, else its newest one where that ended early. */
async function unfinished({ live, tree }: Parts, { uri, diagram }: Target): Promise<string | undefined> {
  const going = live.of(uri, diagram);
  if (going !== undefined && !going.progress.isOver) return going.progress.run;
  const newest = (await tree.list()).find((one) => one.uri !== null && vscode.Uri.parse(one.uri).toString() === uri && one.diagram === diagram);
  return newest === undefined || newest.status === 'finished' ? undefined : newest.run;
}

async function tellRevised({ runner }: Parts, { run, revision, state, reason = '', diff, resumes }: Revised, target: Target | undefined): Promise<void> {
  if (state === 'refused') {
    void say.warning(`Revision ${revision} is refused; ${resumes ? 'the run stays' : 'the run goes on'} as it was. ${reason}`);
  } else if (state === 'unchanged') {
    void say.info('Nothing differs that the run would notice.');
  } else {
    const effect = effectText(diff);
    const words = `Revision ${revision} is ${state === 'applied' ? 'applied' : 'asked for'}${effect === '' ? '' : ` (${effect})`}.`;
    if (!resumes) {
      vscode.window.setStatusBarMessage(`$(git-commit) ${words}`, SHOWN);
      return;
    }
    const resume = 'Resume';
    if ((await say.info(`${words} Nobody works on the run; it continues so when you resume it.`, resume)) === resume) await runner.resume(run, target);
  }
}

/** Write what a run became into its file; where both changed the same lines, show both beside each other. */
async function accept(parts: Parts, given: unknown): Promise<void> {
  const { server, documents } = parts;
  const named = await meant(parts, given, 'Accept which run into its file?');
  if (named === undefined) return;
  const report = await server.show(named.run);
  const last = named.revision ?? report.revisions?.findLast(({ state }) => state === 'applied')?.revision;
  if (last === undefined) {
    void say.info('No revision of this run was applied, so there is nothing to accept.');
    return;
  }
  if (report.uri === null) {
    void say.info('The workflow of this run lies in no file.');
    return;
  }
  const uri = vscode.Uri.parse(report.uri);
  const document = await vscode.workspace.openTextDocument(uri);
  const { accepted, edits, text, why = '' } = await server.acceptRevision({ run: named.run, revision: last, uri: uri.toString(), diagram: report.diagram });
  if (!accepted) {
    await documents.showBeside(`Revision ${last}`, text, uri);
    void say.warning(`${why} Nothing was written: take what you want from the left side into your file on the right.`);
  } else if (edits === 0) void say.info(`${shortName(report.workflow)} has all of it already.`);
  else {
    // Where it is open already, and not over the preview.
    const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
    await vscode.window.showTextDocument(document, { viewColumn: editor?.viewColumn ?? vscode.ViewColumn.One, preview: false });
    vscode.window.setStatusBarMessage(`$(check) Revision ${last} is in the file; undo takes it out again.`, SHOWN);
  }
}

interface Earlier extends vscode.QuickPickItem {
  readonly revision: number;
}

/** Have a run continue as it was by an earlier revision, or as it began. */
async function goBack(parts: Parts, given: unknown): Promise<void> {
  const { context, server } = parts;
  if (!context.trusted()) {
    offerTrust();
    return;
  }
  const named = await meant(parts, given, 'Go back in which run?');
  if (named === undefined) return;
  const report = await server.show(named.run);
  const applied = (report.revisions ?? []).filter(({ state }) => state === 'applied');
  let { revision } = named;
  if (revision === undefined || revision === applied.at(-1)?.revision) {
    const items: Earlier[] = applied.slice(0, -1).reverse().map((one) => ({ label: `Revision ${one.revision}`, description: [byText(one.trigger), effectText(one.diff)].filter((part) => part !== '').join(' · '), detail: noteOf({ ...one, reason: one.reason ?? '' }).reason.replaceAll('$(', '$ ('), revision: one.revision }));
    items.push({ label: 'The Beginning', description: 'the workflow that the run began with', revision: 0 });
    if (applied.length === 0) {
      void say.info('No revision of this run was applied, so there is nothing to go back from.');
      return;
    }
    const title = `Go Back in the Run of ${shortName(report.workflow)}`;
    revision = (await vscode.window.showQuickPick(items, { title, placeHolder: 'What was finished then is not paid again' }))?.revision;
  }
  if (revision === undefined) return;
  const target = report.uri === null ? undefined : { uri: vscode.Uri.parse(report.uri).toString(), diagram: report.diagram };
  await tellRevised(parts, await server.revise({ run: named.run, revision }), target);
}

/** Show the text of a revision beside that of the run before it. */
async function showDifference({ server, documents }: Parts, given: unknown): Promise<void> {
  const named = namedIn(given);
  if (named?.revision === undefined) return;
  const { revision, text, before, reason, state } = await server.revision(named.run, named.revision);
  if (text === null || before === null) {
    const why = reason === null ? '' : ` ${reason}`;
    void say.info(`Revision ${revision} has no workflow${state === 'refused' ? `: it was refused.${why}` : '.'}`);
    return;
  }
  await documents.showDifference(`Revision ${revision}: before ↔ after`, before, text);
}

/** Ask whether a revision is applied that waits for that. */
async function ask(parts: Parts, run: LiveRun, event: RunEvent): Promise<void> {
  const { number, reason, effect } = noteOf(event);
  const of = run.target.uri === '' ? '' : ` of ${nameOf(run.target)}`;
  const question = `The model wants to revise the run${of}${effect === '' ? '' : ` (${effect})`}. ${reason}`;
  const answer = await say.info(question, APPLY, REFUSE, DIFFERENCE);
  if (answer === DIFFERENCE) await showDifference(parts, { run: event.run, revision: number });
  // The preview and the tree still offer both.
  else if (answer !== undefined && run.progress.revision?.waits === true) await parts.server.decideRevision(event.run, number, answer === APPLY);
}

async function decide(parts: Parts, given: unknown): Promise<void> {
  const waiting = parts.live.running.find(({ progress }) => progress.revision?.waits === true)?.progress;
  const named = namedIn(given) ?? (waiting && { run: waiting.run, revision: waiting.revision?.number });
  if (named?.revision === undefined) {
    void say.info('No revision waits for you.');
    return;
  }
  const title = `Apply revision ${named.revision}?`;
  const answer = await vscode.window.showQuickPick([APPLY, REFUSE, DIFFERENCE], { title });
  if (answer === DIFFERENCE) await showDifference(parts, named);
  else if (answer !== undefined) await parts.server.decideRevision(named.run, named.revision, answer === APPLY);
}

async function chosen(parts: Parts, { run, revision, act }: RevisionChoice): Promise<void> {
  const named = { run, revision };
  switch (act) {
    case 'difference':
      return showDifference(parts, named);
    case 'accept':
      return accept(parts, named);
    case 'back':
      return goBack(parts, named);
    case 'apply':
    case 'refuse':
      return parts.server.decideRevision(run, revision, act === 'apply');
  }
}

/** The run that a command is about: the one it was given, else the one that the preview of the file shows, else the newest one of the file. */
async function meant({ context, pictures, tree }: Parts, given: unknown, title: string): Promise<Named | undefined> {
  const named = namedIn(given);
  if (named !== undefined) return named;
  const target = await targetOf(context, given);
  const shown = target && pictures.of(target.uri);
  if (shown !== undefined) return { run: shown };
  const own = (await tree.list()).filter(({ uri, diagram }) => target !== undefined && uri !== null && vscode.Uri.parse(uri).toString() === target.uri && diagram === target.diagram);
  const newest = own[0];
  if (newest === undefined) void say.info(`${title} There is no run of this workflow.`);
  return newest && { run: newest.run };
}

/** What the tree, the panel and the preview hand over. */
function namedIn(given: unknown): Named | undefined {
  if (typeof given !== 'object' || given === null || given instanceof vscode.Uri) return undefined;
  const item = given as { readonly kind?: unknown; readonly run?: unknown; readonly revision?: unknown; readonly summary?: { readonly run: string } };
  if (item.kind === 'revision') {
    const { run, revision } = given as RevisionItem;
    return { run, revision: revision.revision };
  }
  if (item.summary !== undefined) return { run: item.summary.run };
  if (typeof item.run !== 'string') return undefined;
  return { run: item.run, revision: typeof item.revision === 'number' ? item.revision : undefined };
}
