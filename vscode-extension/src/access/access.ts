import * as vscode from 'vscode';
import { Setting } from '../contributed';
import { decide, type Answer, type Decision } from './decide';
import { AccessStore } from './store';
import { say } from '../say';

/** The model access of this window: reads what bears on it and asks the user what only the user can say. */
export class Access {
  readonly store: AccessStore;
  private asking = new Set<string>();

  /** `changed` is called when the decision may have become another one. */
  constructor(
    extension: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly changed: () => void,
  ) {
    this.store = new AccessStore(extension.secrets, extension.globalState);
    extension.subscriptions.push(
      extension.secrets.onDidChange(({ key }) => {
        if (AccessStore.owns(key)) changed();
      }),
    );
  }

  /** What holds now. */
  async decision(): Promise<Decision> {
    const setting = vscode.workspace.getConfiguration('merrow').inspect<string>(Setting.endpoint);
    const keys = await this.store.keys();
    const workspace = workspaceIdentity();
    return decide({
      trusted: vscode.workspace.isTrusted,
      environment: { key: nonEmpty(process.env['OPENAI_API_KEY']), endpoint: nonEmpty(process.env['OPENAI_BASE_URL']) },
      userEndpoint: nonEmpty(setting?.globalValue),
      workspaceEndpoint: nonEmpty(setting?.workspaceFolderValue) ?? nonEmpty(setting?.workspaceValue),
      answer: (origin) => this.store.answer(workspace, origin),
      storedKey: (origin) => keys.get(origin),
    });
  }

  /** Tell what was left out, and ask about an endpoint that the workspace chose. Does not wait for the answer. */
  raise(decision: Decision): void {
    for (const problem of decision.problems) this.log.warn(problem);
    if (decision.ask !== undefined) void this.ask(decision.ask);
  }

  private async ask(origin: string): Promise<void> {
    if (this.asking.has(origin)) return;
    this.asking.add(origin);
    const allow = 'Allow';
    const refuse = "Don't Allow";
    const answer = await say.warning(
      `This workspace wants to send model requests to ${origin}. Prompts and inputs of its workflows would go there; your API key ` +
        'goes only to the endpoint that you set it for.',
      allow,
      refuse,
    );
    this.asking.delete(origin);
    const meaning: Answer | undefined = answer === allow ? 'granted' : answer === refuse ? 'refused' : undefined;
    if (meaning === undefined) return;
    await this.store.setAnswer(workspaceIdentity(), origin, meaning);
    this.log.info(`The endpoint ${origin} of this workspace was ${meaning}.`);
    this.changed();
  }
}

/** What an answer is remembered for: the workspace file, or the folders that are open. */
function workspaceIdentity(): string {
  const { workspaceFile, workspaceFolders } = vscode.workspace;
  return workspaceFile?.toString() ?? (workspaceFolders ?? []).map(({ uri }) => uri.toString()).join(' ');
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value;
}
