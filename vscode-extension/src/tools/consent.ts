import * as vscode from 'vscode';
import type { Answer } from '../people/protocol';
import { say } from '../say';
import { isShort, modalDetail, wholePage } from './consentText';
import type { Consent } from './protocol';

const SCHEME = 'merrow-consent';
const CANCEL: Answer = { action: 'cancel' };
const AGREED: Answer = { action: 'accept', content: { answer: true } };
const happened = new vscode.EventEmitter<undefined>();

/** Fired when the user has answered whether they agree to something. */
export const onDidDecide = happened.event;

/**
 * Asks the user whether they agree: in a dialog that shows all of it, or, where that is long, in a document beside a notification that stays.
 */
export class ConsentDialog implements vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly provider: vscode.Disposable;
  private count = 0;

  constructor() {
    this.provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, { provideTextDocumentContent: ({ path }) => this.texts.get(path) ?? '' });
  }

  dispose(): void {
    this.provider.dispose();
  }

  async ask(consent: Consent, token: vscode.CancellationToken): Promise<Answer> {
    const pressed = isShort(consent) ? await say.warning(consent.title, { modal: true, detail: modalDetail(consent) }, consent.button) : await this.askBeside(consent);
    const answer = pressed === consent.button && !token.isCancellationRequested ? AGREED : CANCEL;
    // The server keeps it once it has the answer.
    setTimeout(() => { happened.fire(undefined); }, 300);
    return answer;
  }

  private async askBeside(consent: Consent): Promise<string | undefined> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${(this.count += 1)}/What You Agree To` });
    this.texts.set(uri.path, wholePage(consent));
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: true });
    try {
      return await say.warning(`${consent.title} Read all of it in the editor. ${consent.question}`, consent.button, 'Not Now');
    } finally {
      this.texts.delete(uri.path);
    }
  }
}
