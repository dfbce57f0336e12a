import type * as vscode from 'vscode';
import type { Answer } from './decide';

const prefix = 'merrow.apiKey:';
const originsKey = 'merrow.origins';
const answersKey = 'merrow.endpointAnswers';

type Answers = Readonly<Record<string, Readonly<Record<string, Answer>>>>;

/** Keys by origin in VS Code's secret storage, and the user's answers about the endpoints of workspaces. */
export class AccessStore {
  constructor(
    private readonly secrets: Pick<vscode.SecretStorage, 'get' | 'store' | 'delete'>,
    private readonly state: Pick<vscode.Memento, 'get' | 'update'>,
  ) {}

  /** The origins that a key is stored for. */
  origins(): readonly string[] {
    return this.state.get<readonly string[]>(originsKey, []);
  }

  async setKey(origin: string, key: string): Promise<void> {
    // In this order: whoever hears of the new secret must find it.
    await this.state.update(originsKey, [...new Set([...this.origins(), origin])]);
    await this.secrets.store(prefix + origin, key);
  }

  async clearKey(origin: string): Promise<void> {
    await this.secrets.delete(prefix + origin);
    await this.state.update(
      originsKey,
      this.origins().filter((known) => known !== origin),
    );
  }

  /** All stored keys by origin. */
  async keys(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const origin of this.origins()) {
      const key = await this.secrets.get(prefix + origin);
      if (key !== undefined) found.set(origin, key);
    }
    return found;
  }

  /** What the user said about an origin in a workspace; answers in one workspace mean nothing in another. */
  answer(workspace: string, origin: string): Answer | undefined {
    const answers = this.state.get<Answers>(answersKey, {})[workspace] ?? {};
    return Object.hasOwn(answers, origin) ? answers[origin] : undefined;
  }

  async setAnswer(workspace: string, origin: string, answer: Answer): Promise<void> {
    const answers = this.state.get<Answers>(answersKey, {});
    await this.state.update(answersKey, { ...answers, [workspace]: { ...answers[workspace], [origin]: answer } });
  }

  /** Ask again about everything. */
  async forgetAnswers(): Promise<void> {
    await this.state.update(answersKey, undefined);
  }

  /** Whether a change of a secret is about one of ours. */
  static owns(secret: string): boolean {
    return secret.startsWith(prefix);
  }
}
