import * as vscode from 'vscode';
import { told } from '../run/attempt';
import { ageText } from '../run/texts/figures';
import { say } from '../say';
import { fileName, idsOf } from './item';
import type { Job, JobKind } from './protocol';
import type { AnyJobServer } from './server';

/** Jobs that are offered for choice. */
const MOST = 100;

/** What is called how, and done how, for the jobs of a kind. */
interface Doors<One> {
  /** The extension's commands. */
  readonly open: string;
  readonly resume: string;
  readonly stop: string;
  readonly delete: string;
  /** What several are called. */
  readonly several: string;
  /** What one came to, in words. */
  readonly came: (job: One) => string;
  /** Where there are none. */
  readonly none: string;
  /** What goes, and what stays, where some are deleted. */
  readonly goes: string;
  readonly show: (id: string) => Promise<void>;
  readonly goOn: (id: string) => Promise<void>;
}

/** The commands that all kinds of job have: to open one, go on with it, stop it, and delete some. */
export function jobCommands<Kind extends JobKind, One extends Job<Kind>>(server: AnyJobServer<Kind, One>, doors: Doors<One>): vscode.Disposable {
  const about = (id: string, act: (id: string) => Promise<void>) => vscode.commands.registerCommand(id, (given: unknown) => told(async () => {
    const [named] = idsOf(server.kind, given);
    if (named !== undefined) await act(named);
  }));
  return vscode.Disposable.from(
    chosen(server, doors, doors.open, `Show which ${server.kind}?`, doors.show),
    about(doors.resume, doors.goOn),
    about(doors.stop, (id) => server.cancel(id)),
    vscode.commands.registerCommand(doors.delete, (given: unknown, all: unknown) => told(() => deleteAll(server, doors, idsOf(server.kind, given, all)))),
  );
}

/** A command about the job that it is given, else about one that the user chooses. */
export function chosen<Kind extends JobKind, One extends Job<Kind>>(server: AnyJobServer<Kind, One>, words: Pick<Doors<One>, 'came' | 'none'>, command: string, title: string, act: (id: string) => Promise<void>): vscode.Disposable {
  return vscode.commands.registerCommand(command, (given: unknown) => told(async () => {
    const id = idsOf(server.kind, given)[0] ?? (await pick(server, words, title));
    if (id !== undefined) await act(id);
  }));
}

/** The id of one that the user chooses, of those that are `meant`. */
export async function pick<Kind extends JobKind, One extends Job<Kind>>(server: AnyJobServer<Kind, One>, { came, none }: Pick<Doors<One>, 'came' | 'none'>, title: string, meant: (job: One) => boolean = () => true): Promise<string | undefined> {
  const now = Date.now() / 1000;
  const found = (await server.list(MOST)).filter(meant);
  if (found.length === 0) {
    void say.info(none);
    return undefined;
  }
  const items = found.map((one) => ({
    label: `${fileName(one.workflow)}: ${came(one)}`,
    description: `${fileName(one.dataset)} · ${ageText(one.started, now)}`,
    detail: one[server.kind],
  }));
  return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true, matchOnDescription: true }))?.detail;
}

/** Take jobs out of the journal, once the user says so. */
async function deleteAll<Kind extends JobKind, One extends Job<Kind>>(server: AnyJobServer<Kind, One>, { several, goes }: Doors<One>, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const what = ids.length === 1 ? `the ${server.kind} ${ids[0] ?? ''}` : `${ids.length} ${several}`;
  if ((await say.warning(`Delete ${what}?`, { modal: true, detail: `${goes} This can’t be undone.` }, 'Delete')) !== 'Delete') return;
  for (const id of ids) await server.delete(id);
}
