import * as vscode from 'vscode';
import { Setting, defaults } from '../contributed';
import type { MerrowContext } from '../context';
import { canReachModels } from './access';
import { askFor } from './asking';
import { costSentence, mayCost } from './consent';
import { offline } from './figures';
import { InputMemory, inputsOf, known, missing, type Given, type Input } from './inputs';
import type { RunDocuments } from './documents';
import type { Plan, Target } from './protocol';
import type { RunServer, TypedGraph } from './server';
import { say } from '../say';

const AGREED = 'merrow.agreedRuns';
/** Answers that are remembered. */
const MOST_AGREED = 500;

/** What has to be settled before a run: the values of its inputs, and whether it may cost what it may. */
export class Starting {
  readonly memory: InputMemory;
  private readonly state: vscode.Memento;

  constructor(
    private readonly context: MerrowContext,
    private readonly server: RunServer,
    private readonly documents: RunDocuments,
  ) {
    this.state = context.extension.workspaceState;
    this.memory = new InputMemory(this.state);
  }

  /** The values of the inputs, asked for where they are not known or `again` is set; undefined where the user leaves. */
  async values(target: Target, graph: TypedGraph, again: boolean): Promise<Record<string, string> | undefined> {
    const inputs = inputsOf(graph);
    const given = known(inputs, this.memory.of(target));
    const wanted = missing(inputs, given, again);
    const title = `Run ${nameOf(target)}`;
    for (const [index, input] of wanted.entries()) {
      const value = await askFor(input, given[input.name], title, index + 1, wanted.length);
      if (value === undefined) return undefined;
      given[input.name] = value;
    }
    if (wanted.length > 0) await this.memory.remember(target, given);
    return read(given);
  }

  /** The value of one input that the server asks for; undefined where the user leaves. */
  async value(target: Target, input: Input, last: Given | undefined): Promise<string | undefined> {
    const value = await askFor(input, last ?? this.memory.of(target)[input.name], `Run ${nameOf(target)}`, 1, 1);
    if (value === undefined) return undefined;
    await this.memory.remember(target, { [input.name]: value });
    return (await read({ [input.name]: value }))[input.name];
  }

  /**
   * Whether the run may go on: what reaches its endpoint is there, and the user agreed to what it may cost. That is asked once a
   * workflow, and not where nothing is paid.
   */
  async agreed(target: Target, inputs: Readonly<Record<string, string>>): Promise<boolean> {
    const plan = await this.server.dryRun({ ...target, inputs });
    if (plan.endpoint !== offline && !(await canReachModels(this.context))) return false;
    const asks = vscode.workspace.getConfiguration('merrow').get(Setting.confirmRuns, defaults.confirmRuns);
    if (!asks || !mayCost(plan)) return true;
    const key = `${target.uri}#${target.diagram} ${plan.endpoint}`;
    const agreed = this.state.get<readonly string[]>(AGREED, []);
    if (agreed.includes(key)) return true;
    if (!(await this.asked(target, plan))) return false;
    await this.state.update(AGREED, [...agreed.slice(-MOST_AGREED), key]);
    return true;
  }

  private async asked(target: Target, plan: Plan): Promise<boolean> {
    const run = 'Run';
    const dryRun = 'Dry Run';
    const detail = `${costSentence(plan)}\n\nYou are asked once for each workflow and endpoint. The setting merrow.${Setting.confirmRuns} switches this off.`;
    const answer = await say.info(`Run ${nameOf(target)}?`, { modal: true, detail }, run, dryRun);
    if (answer === dryRun) await this.documents.showPlan(plan);
    return answer === run;
  }
}

/** The texts of values; a file is read now. Rejects with a sentence where one can't be. */
async function read(given: Readonly<Record<string, Given>>): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if ('text' in value) {
      texts[name] = value.text;
      continue;
    }
    const uri = vscode.Uri.parse(value.file);
    try {
      const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
      texts[name] = open?.getText() ?? new TextDecoder('utf-8', { fatal: true }).decode(await vscode.workspace.fs.readFile(uri));
    } catch {
      throw new Error(`The file ${uri.fsPath} for the input ${name} can't be read as text. Run with other inputs to choose another.`);
    }
  }
  return texts;
}

/** A workflow's name for people. */
export function nameOf({ uri, diagram }: Target): string {
  const path = vscode.Uri.parse(uri).path;
  const name = path.slice(path.lastIndexOf('/') + 1);
  return /\.(?:md|markdown)$/i.test(name) ? `${name}#${diagram}` : name;
}
