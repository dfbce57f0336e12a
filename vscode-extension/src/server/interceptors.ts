import { Disposable } from 'vscode';

/** What the extension does in the place of a command of the server, when it is executed in the editor. */
type Answer = (...given: readonly unknown[]) => unknown;

const answers = new Map<string, Answer>();

/** Answer a command of the server in the extension. Requests that go to the server itself are not touched. */
export function intercept(command: string, answer: Answer): Disposable {
  answers.set(command, answer);
  return new Disposable(() => {
    answers.delete(command);
  });
}

export function interceptor(command: string): Answer | undefined {
  return answers.get(command);
}
