import * as vscode from 'vscode';
import type { MerrowContext } from '../context';
import { agreed } from '../jobs/consent';
import { execute } from '../jobs/execute';
import type { Graph } from '../preview/protocol';
import { sentence, wasLeft } from '../run/texts/rejection';
import { chosenModel } from '../run/server';
import { NO_WORKFLOW, targetOf } from '../run/targets';
import type { Proposal } from './proposal';
import { suggested, validText, type Suggestions } from './suggestion';
import { say } from '../say';

/** What suggestions may cost, before any model is asked. */
interface Forecast {
  readonly endpoint: string;
  readonly mayCost: boolean;
  readonly text: string;
  readonly notices: readonly string[];
}

type Show = (context: MerrowContext, title: string, proposals: readonly Proposal[]) => Promise<boolean>;

const TITLE = 'Suggestions of the model';
const SUGGEST = 'merrow.suggest';
/** What `merrow.suggest` may be asked besides the workflow. */
const ASKED = ['range', 'node', 'goal', 'n', 'seed', 'optimizerModel', 'judgeModel', 'model', 'baseUrl'] as const;

/** Have a model suggest improvements of the workflow that `given` names, else of the one that is looked at: shown, one to be applied. */
export async function suggestImprovements(context: MerrowContext, given: unknown, show: Show): Promise<void> {
  try {
    const target = await targetOf(context, given);
    if (target === undefined) {
      void say.info(NO_WORKFLOW);
      return;
    }
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(target.uri));
    const { version } = document;
    const asked = { ...chosenModel(), ...target, ...partOf(given), version };
    const { endpoint, mayCost, text, notices } = await execute<Forecast>(context, SUGGEST, { ...asked, dryRun: true });
    if (!(await agreed(context, { endpoint, asks: mayCost, details: [text, ...notices] }, 'Ask the model for suggestions?', 'Ask the Model'))) return;
    const answer = await withProgress(context, { ...asked, preview: true, agreed: true });
    if (answer === undefined) return;
    for (const notice of answer.notices) void say.warning(notice);
    if (answer.suggestions.length === 0) {
      void say.info(`No suggestion passed the checks. ${validText(answer.valid)}`);
      return;
    }
    if (document.version !== version) throw new Error('The text changed meanwhile; ask again.');
    vscode.window.setStatusBarMessage(`$(sparkle) ${validText(answer.valid)}`, 8000);
    const client = await context.readyClient();
    const graph = await client.sendRequest<Graph | null>('merrow/graph', { textDocument: { uri: target.uri }, diagram: target.diagram });
    const proposals = answer.suggestions.map((one) =>
      suggested(one, answer.run, target.uri, version, () =>
        graph === null ? Promise.reject(new Error('The diagram is not there any more.')) : Promise.resolve({ before: graph.text, after: one.diagramText }),
      ),
    );
    await show(context, TITLE, proposals);
  } catch (problem) {
    if (!wasLeft(problem)) void say.error(sentence(problem));
  }
}

/** The answer, undefined where the user cancels. */
async function withProgress(context: MerrowContext, asked: object): Promise<Suggestions | undefined> {
  const options = { location: vscode.ProgressLocation.Notification, title: 'Asking the model for suggestions', cancellable: true };
  return vscode.window.withProgress(options, async (_, token) => {
    try {
      return await execute<Suggestions>(context, SUGGEST, asked, { token });
    } catch (problem) {
      if (token.isCancellationRequested) return undefined;
      throw problem;
    }
  });
}

/** What is asked: of which place of the text or prompt of a node, and what a lens asks again. */
function partOf(given: unknown): object {
  if (typeof given !== 'object' || given === null || given instanceof vscode.Uri) return {};
  const said = given as Readonly<Record<string, unknown>>;
  return Object.fromEntries(ASKED.filter((name) => said[name] !== undefined).map((name) => [name, said[name]]));
}
