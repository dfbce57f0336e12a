import * as vscode from 'vscode';
import { Command } from '../contributed';
import type { MerrowContext } from '../context';
import { jobDoor, jobParts, type JobParts } from '../jobs/door';
import type { Manner } from '../jobs/execute';
import { follow } from '../jobs/follow';
import { fileName, statusText } from '../jobs/item';
import { MOST } from '../jobs/commands';
import type { ResultPanels } from '../results/panels';
import { attempt } from '../run/attempt';
import { NO_WORKFLOW, nameOf, targetOf } from '../run/targets';
import { say } from '../say';
import type { Batch } from './protocol';
import type { BatchServer } from './server';
import type { EvaluationStart } from './starting';
import { batchItem } from './words';

/** Running workflows on every row of a data set: the command, progress, results. */
export function registerBatches(context: MerrowContext, start: EvaluationStart, server: BatchServer, results: ResultPanels): JobParts {
  const watch = async (name: string, begin: (manner: Manner) => Promise<Batch>) => {
    const ended = await follow(`Running ${name} on every row`, begin);
    await results.show({ kind: 'batch', id: ended.batch });
    if (ended.status === 'finished') return;
    const on = 'Continue';
    const reason = ended.error === null ? '' : ` ${ended.error}`;
    // Whoever waits for the answer need not know of the message.
    void say.warning(`The batch was ${statusText(ended.status)}; its file has what is finished.${reason}`, on).then((chosen) => {
      if (chosen === on) void resume(ended.batch);
    });
  };
  const resume = (id: string) => attempt(context, async () => {
    const known = (await server.list(MOST)).find(({ batch }) => batch === id);
    await watch(known === undefined ? id : fileName(known.workflow), (manner) => server.resume(id, manner));
  });
  const door = jobDoor(server, {
    label: 'Batches',
    picture: 'table',
    goes: 'Runs go from the journal; the file with the answers stays, and so does what models answered in the cache.',
    item: batchItem,
    show: (id) => results.show({ kind: 'batch', id }),
    goOn: resume,
  });
  return jobParts(
    door,
    server,
    server.onDidChange(() => { results.changed('batch'); }),
    vscode.commands.registerCommand(Command.runOnEveryRow, (given: unknown) => attempt(context, async () => {
      const target = await targetOf(context, given);
      if (target === undefined) {
        void say.info(NO_WORKFLOW);
        return;
      }
      const rows = await start.rows(target, server);
      if (rows !== undefined) await watch(nameOf(target), (manner) => server.begin({ ...target, ...rows }, manner));
    })),
  );
}
