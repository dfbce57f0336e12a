import * as vscode from 'vscode';
import { store } from '../answering/settings';
import { Setting, defaults } from '../contributed';
import type { MerrowContext } from '../context';
import { canReachModels } from './access';
import { askFor } from './asking';
import { costSentence, mayCost } from './consent';
import { offline } from './texts/figures';
import { InputMemory, inputsOf, known, missing, type Given, type Input, type Typed } from './inputs';
import { SetFiles } from '../inputs/sets';
import { plain } from '../plain';
import { stem } from './texts/documents';
import type { NodeView } from './panel/nodeView';
import { planPage } from './texts/pages';
import type { Plan, Target } from './protocol';
import type { RunServer, TypedGraph } from './server';
import { say } from '../say';
import { nameOf } from './targets';
import type { InputSet } from '../inputs/setsText';

const AGREED = 'merrow.agreedRuns';
/** Answers that are remembered. */
const MOST_AGREED = 500;
/** Characters of a set that are shown. */
const MOST_SHOWN = 80;
/** Choices beside the sets. */
const TYPED = Symbol('typed');
const EDIT = Symbol('edit');

/** What has to be settled before a run: the values of its inputs, and whether it may cost what it may. */
export class Starting {
  readonly memory: InputMemory;
  readonly sets: SetFiles;
  private readonly state: vscode.Memento;

  constructor(
    private readonly context: MerrowContext,
    private readonly server: RunServer,
    private readonly panel: NodeView,
  ) {
    this.state = context.extension.workspaceState;
    this.memory = new InputMemory(this.state);
    this.sets = new SetFiles(context);
  }

  /**
   * The values of the inputs: of the named set that is meant, else asked for where they are not known or `again` is set, of the sets where
   * there are any. Undefined where the user leaves.
   */
  async values(target: Target, graph: TypedGraph, again: boolean, meant?: string): Promise<Record<string, string> | undefined> {
    const inputs = inputsOf(graph);
    let given = known(inputs, this.memory.of(target));
    let wanted = missing(inputs, given, again);
    const sets = wanted.length > 0 || meant !== undefined ? await this.sets.read(target) : [];
    const set = meant ?? (sets.length > 0 && wanted.length > 0 ? await this.pickSet(target, sets) : TYPED);
    if (set === undefined) return undefined;
    if (set === EDIT) {
      await this.edit(target, inputs);
      return undefined;
    }
    const own = set === TYPED ? undefined : sets.find(({ name }) => name === set);
    if (meant !== undefined && own === undefined) throw new Error(`There is no input set ${meant} beside ${nameOf(target)}.`);
    if (own !== undefined) {
      // What the set does not say has its default, or is asked for.
      given = Object.fromEntries(inputs.filter(({ name }) => Object.hasOwn(own.inputs, name)).map(({ name }) => [name, { set: own.name }]));
      wanted = missing(inputs, given, false);
    }
    const title = `Run ${nameOf(target)}`;
    for (const [index, input] of wanted.entries()) {
      const value = await askFor(input, given[input.name], title, index + 1, wanted.length);
      if (value === undefined) return undefined;
      given[input.name] = value;
    }
    if (wanted.length > 0 || own !== undefined) await this.memory.remember(target, given);
    return this.read(target, given);
  }

  /** The value of one input that the server asks for; undefined where the user leaves. */
  async value(target: Target, input: Input, last: Given | undefined): Promise<string | undefined> {
    const value = await askFor(input, last ?? this.memory.of(target)[input.name], `Run ${nameOf(target)}`, 1, 1);
    if (value === undefined) return undefined;
    await this.memory.remember(target, { [input.name]: value });
    return (await this.read(target, { [input.name]: value }))[input.name];
  }

  /** Open the sets of a workflow's inputs as a document. */
  async edit(target: Target, inputs: readonly Input[]): Promise<void> {
    await this.sets.edit(target, inputs, this.memory.of(target));
  }

  /** Have the user choose among the sets, typing, and editing the sets; undefined where the user leaves. */
  private async pickSet(target: Target, sets: readonly InputSet[]): Promise<string | typeof TYPED | typeof EDIT | undefined> {
    const items: (vscode.QuickPickItem & { readonly value: string | typeof TYPED | typeof EDIT })[] = [
      ...sets.map(({ name, inputs }) => ({ label: `$(symbol-array) ${name.replaceAll('$(', '$ (')}`, description: begins(inputs), value: name })),
      { label: '$(keyboard) Type the Values...', value: TYPED },
      { label: '$(edit) Edit the Input Sets...', value: EDIT },
    ];
    const placeHolder = 'The inputs to run with';
    return (await vscode.window.showQuickPick(items, { title: `Run ${nameOf(target)}`, placeHolder, ignoreFocusOut: true, matchOnDescription: true }))?.value;
  }

  /** The texts of values; files and sets are read now. Rejects with a sentence where one can't be. */
  private async read(target: Target, given: Readonly<Record<string, Given>>): Promise<Record<string, string>> {
    const found: Record<string, Typed> = {};
    for (const [name, value] of Object.entries(given)) found[name] = 'set' in value ? await this.sets.value(target, value.set, name) : value;
    return read(found);
  }

  /**
   * Whether the run may go on: what reaches its endpoint is there, which serves the models, and the user agreed to what it may
   * cost. That is asked once a workflow, and not where nothing is paid.
   */
  async agreed(target: Target, inputs: Readonly<Record<string, string>>): Promise<boolean> {
    const plan = await this.servedPlan(target, inputs);
    if (plan === undefined) return false;
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

  /** What a run may do, with models that its endpoint serves, or that the user wants to ask anyway; undefined where the user leaves. */
  private async servedPlan(target: Target, inputs: Readonly<Record<string, string>>): Promise<Plan | undefined> {
    for (;;) {
      const plan = await this.server.dryRun({ ...target, inputs });
      const { findings = [], served = [] } = plan;
      if (findings.length === 0) return plan;
      const use = served.length === 1 ? 'Use This Model' : 'Use This Model...';
      const anyway = 'Run Anyway';
      const detail = `${findings.join('\n')}\n\nThe model is used in place of the workflow's, until you choose another; nodes that name their own keep it.`;
      const answer = await say.warning(`${nameOf(target)} asks for a model that is not served. Use ${named(served)}?`, { modal: true, detail }, use, anyway);
      if (answer === anyway) return plan;
      if (answer !== use) return undefined;
      const model = served.length === 1 ? served[0] : await vscode.window.showQuickPick(served.map(plain), { title: 'Merrow: Use This Model', ignoreFocusOut: true });
      if (model === undefined) return undefined;
      await store(Setting.model, model);
    }
  }

  private async asked(target: Target, plan: Plan): Promise<boolean> {
    const run = 'Run';
    const dryRun = 'Dry Run';
    const detail = `${costSentence(plan)}\n\nYou are asked once for each workflow and endpoint. The setting merrow.${Setting.confirmRuns} switches this off.`;
    const answer = await say.info(`Run ${nameOf(target)}?`, { modal: true, detail }, run, dryRun);
    if (answer === dryRun) await this.panel.showPage(`Dry run of ${stem(plan.workflow)}`, planPage(plan));
    return answer === run;
  }
}

/** The models that are served, as a question names them. */
function named(served: readonly string[]): string {
  const [only = ''] = served;
  return served.length === 1 ? only : 'one that is';
}

/** What a set gives, in a line. */
function begins(inputs: InputSet['inputs']): string {
  const words = Object.values(inputs).map((value) => ('file' in value ? value.file : value.text)).join(' · ').replaceAll(/\s+/g, ' ');
  return words.length > MOST_SHOWN ? `${words.slice(0, MOST_SHOWN)}…` : words;
}

/** The texts of typed values and of files. */
async function read(given: Readonly<Record<string, Typed>>): Promise<Record<string, string>> {
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
