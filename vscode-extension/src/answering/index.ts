import * as vscode from 'vscode';
import { address, hosted, offline } from '../access/origin';
import { Command, Setting } from '../contributed';
import type { MerrowContext } from '../context';
import { hasMermaidFence } from '../fences';
import { plain } from '../plain';
import { previews } from '../preview';
import type { NodeView } from '../run/panel/nodeView';
import { sentence } from '../run/texts/rejection';
import { chosenModel } from '../run/server';
import { say } from '../say';
import { selector } from '../selector';
import { store } from './settings';
import { barText, barTooltip, doctorPage, whoAnswers, type Answering } from './words';

/** Milliseconds in which changes are put together. */
const PAUSE = 300;

/** Who answers runs: in the status bar while a workflow is looked at, and a choice of another. */
export class WhoAnswers implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('merrow.model', vscode.StatusBarAlignment.Left, 9);
  private readonly disposables: { dispose(): unknown }[];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly context: MerrowContext,
    private readonly panel: NodeView,
  ) {
    this.item.name = 'Merrow Model';
    this.item.command = Command.chooseModel;
    const soon = () => { this.soon(); };
    this.disposables = [
      this.item,
      vscode.commands.registerCommand(Command.chooseModel, () => this.choose()),
      context.onDidChangeClient(soon),
      vscode.window.onDidChangeActiveTextEditor(soon),
      previews(context).onDidActivate(soon),
      vscode.workspace.onDidSaveTextDocument(soon),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(`merrow.${Setting.model}`)) soon();
      }),
    ];
    soon();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const part of this.disposables) part.dispose();
  }

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.show(), PAUSE);
  }

  private async show(): Promise<void> {
    const uri = this.workflow();
    const answering = uri === undefined || !this.context.trusted() ? undefined : await this.ask(uri).catch(() => undefined);
    if (answering === undefined) {
      this.item.hide();
      return;
    }
    this.item.text = plain(barText(answering));
    this.item.tooltip = plain(barTooltip(answering));
    this.item.show();
  }

  /** The workflow that is looked at. */
  private workflow(): vscode.Uri | undefined {
    const document = vscode.window.activeTextEditor?.document;
    if (document === undefined) return previews(this.context).shown()?.uri;
    if (vscode.languages.match(selector, document) === 0) return undefined;
    return document.languageId !== 'markdown' || hasMermaidFence(document.getText()) ? document.uri : undefined;
  }

  /** Who would answer; undefined while no server runs. */
  private async ask(uri: vscode.Uri | undefined): Promise<Answering | undefined> {
    const client = this.context.client();
    const where = uri === undefined ? {} : { uri: client?.code2ProtocolConverter.asUri(uri) };
    return client?.sendRequest<Answering>('merrow/answering', { ...where, ...chosenModel() });
  }

  private async choose(): Promise<void> {
    if (!this.context.trusted()) {
      void say.info('Models and endpoints can be chosen once you trust this workspace.');
      return;
    }
    try {
      await this.context.readyClient();
      const now = await this.ask(this.workflow());
      const settings = vscode.workspace.getConfiguration('merrow');
      const own = (name: string) => settings.get<string>(name, '').trim();
      const choices = [
        { label: '$(search) Use a Model That Is Served...', description: 'of your endpoint, or found on this machine', act: () => vscode.commands.executeCommand(Command.findModels) },
        { label: '$(hubot) Set Model...', description: own(Setting.model) || 'as the workflow says', act: () => setModel(own(Setting.model)) },
        { label: '$(globe) Set Endpoint...', description: own(Setting.endpoint) || 'as the environment says', act: () => setEndpoint(own(Setting.endpoint)) },
        { label: '$(beaker) Use the Embedded Model', description: 'free, without a key or the network', act: () => store(Setting.endpoint, offline.url) },
        { label: '$(key) Set API Key...', description: now?.key === true ? 'one is set' : 'none is sent', act: () => vscode.commands.executeCommand(Command.setApiKey) },
        { label: '$(pulse) Run the Doctor', description: 'what is installed, and whether the endpoint answers', act: () => this.doctor() },
      ];
      const placeHolder = now === undefined ? '' : plain(`Runs are answered by ${whoAnswers(now)}`);
      const chosen = await vscode.window.showQuickPick(choices, { title: 'Merrow: Model and Endpoint', placeHolder });
      await chosen?.act();
    } catch (problem) {
      void say.error(sentence(problem));
    }
  }

  private async doctor(): Promise<void> {
    const options = { location: vscode.ProgressLocation.Window, title: 'Looking at the endpoint' };
    const client = await this.context.readyClient();
    const report = await vscode.window.withProgress(options, () => client.sendRequest<Parameters<typeof doctorPage>[0]>('workspace/executeCommand', { command: 'merrow.doctor' }));
    await this.panel.showPage('Doctor', doctorPage(report));
    const [found] = report['endpoint']?.found ?? [];
    if (found === undefined) return;
    const use = 'Use This Model';
    const [only = '', ...others] = found.models;
    const names = others.length > 0 ? `${only} and ${others.length} more` : only || 'no model yet';
    const chosen = await say.info(`A model server answers at ${found.url}: ${names}.`, use);
    if (chosen !== use) return;
    const given = only !== '' && others.length === 0 ? [found.url, only] : [];
    await vscode.commands.executeCommand(given.length > 0 ? Command.useFoundModel : Command.findModels, ...given);
  }
}

async function setModel(before: string): Promise<void> {
  const prompt = 'The model that answers in place of the workflow’s; nodes that name their own keep it. Empty: as the workflow says.';
  const model = await vscode.window.showInputBox({ title: 'Merrow: Set Model', prompt, value: before, placeHolder: 'gpt-4o-mini', ignoreFocusOut: true });
  if (model !== undefined) await store(Setting.model, model.trim());
}

async function setEndpoint(before: string): Promise<void> {
  const endpoint = await vscode.window.showInputBox({
    title: 'Merrow: Set Endpoint',
    prompt: 'The address of an endpoint that speaks the OpenAI protocol. Empty: as the environment says.',
    value: before === offline.url ? '' : before,
    placeHolder: `http://localhost:11434/v1, or ${hosted}`,
    ignoreFocusOut: true,
    validateInput: (value) => {
      const found = value.trim() === '' || value.trim() === offline.url ? undefined : address(value);
      return found !== undefined && 'problem' in found ? `This can't be the endpoint: ${found.problem}` : undefined;
    },
  });
  if (endpoint !== undefined) await store(Setting.endpoint, endpoint.trim());
}
