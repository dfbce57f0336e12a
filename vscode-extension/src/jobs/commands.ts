import * as vscode from 'vscode';
import { Command } from '../contributed';
import { told } from '../run/attempt';
import { say } from '../say';
import type { JobDoor } from './door';
import { idsOf, kindOf, type JobItem } from './item';

/** Jobs of a kind that are offered for choice. */
export const MOST = 100;

/** The commands that all kinds of job have: to show one, go on with it, stop it, and delete some. */
export function registerJobs(doors: readonly JobDoor[]): vscode.Disposable {
  const meant = (given: unknown) => doors.find(({ kind }) => kind === kindOf(given));
  const about = (command: string, act: (door: JobDoor, id: string) => Promise<void>) => vscode.commands.registerCommand(command, (given: unknown) => told(async () => {
    const door = meant(given);
    const [id] = door === undefined ? [] : idsOf(door.kind, given);
    if (door !== undefined && id !== undefined) await act(door, id);
  }));
  return vscode.Disposable.from(
    vscode.commands.registerCommand(Command.openJob, (given: unknown) => told(async () => {
      const door = meant(given);
      const [id] = door === undefined ? [] : idsOf(door.kind, given);
      if (door !== undefined && id !== undefined) await door.show(id);
      else await showChosen(doors);
    })),
    about(Command.resumeJob, (door, id) => door.goOn(id)),
    about(Command.stopJob, (door, id) => door.stop(id)),
    vscode.commands.registerCommand(Command.deleteJobs, (given: unknown, all: unknown) => told(() => deleteAll(doors, given, all))),
  );
}

/** Show what came of a job that the user chooses, of all kinds. */
async function showChosen(doors: readonly JobDoor[]): Promise<void> {
  const now = Date.now() / 1000;
  const choices = await Promise.all(doors.map(async (door) => ({ door, items: await door.items(MOST, now) })));
  const offered = choices.filter(({ items }) => items.length > 0).flatMap(({ door, items }) => [
    { label: door.label, kind: vscode.QuickPickItemKind.Separator },
    ...items.map((item) => ({ ...choiceOf(item), door })),
  ]);
  if (offered.length === 0) {
    void say.info('There are no results yet. Make some with “Merrow: Evaluate This Workflow” or “Merrow: Optimize This Workflow”.');
    return;
  }
  const chosen = await vscode.window.showQuickPick<vscode.QuickPickItem & { door?: JobDoor; id?: string }>(offered, { title: 'Show which results?', matchOnDetail: true, matchOnDescription: true });
  if (chosen?.door !== undefined && chosen.id !== undefined) await chosen.door.show(chosen.id);
}

function choiceOf({ label, description, id }: JobItem) {
  return { label, description, detail: id, id };
}

/** The id of a job of one kind that the user chooses, of those that are `meant`; `none` is said where there are none. */
export async function pick(door: JobDoor, title: string, none: string, meant: (item: JobItem) => boolean = () => true): Promise<string | undefined> {
  const found = (await door.items(MOST, Date.now() / 1000)).filter(meant);
  if (found.length === 0) {
    void say.info(none);
    return undefined;
  }
  return (await vscode.window.showQuickPick(found.map(choiceOf), { title, matchOnDetail: true, matchOnDescription: true }))?.id;
}

/** Take jobs out of the journal, once the user says so. */
async function deleteAll(doors: readonly JobDoor[], given: unknown, all: unknown): Promise<void> {
  const meant = doors.flatMap((door) => idsOf(door.kind, given, all).map((id) => ({ door, id })));
  const [first] = meant;
  if (first === undefined) return;
  const what = meant.length === 1 ? `the ${first.door.kind} ${first.id}` : `${meant.length} entries`;
  const goes = [...new Set(meant.map(({ door }) => door.goes))].join(' ');
  if ((await say.warning(`Delete ${what}?`, { modal: true, detail: `${goes} This can’t be undone.` }, 'Delete')) !== 'Delete') return;
  for (const { door, id } of meant) await door.delete(id);
}
