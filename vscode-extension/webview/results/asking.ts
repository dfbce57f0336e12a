/** What is asked of the extension, and the answers by their turns. */
import type { FromResults, ToResults } from '../../src/results/protocol';

type Answer = Exclude<ToResults, 'changed'>;
type Asked = { readonly page: Extract<FromResults, { page: unknown }>['page']; readonly head: boolean } | { readonly key: string };

export class Asking {
  private turn = 0;
  private readonly waiting = new Map<number, (answer: Answer) => void>();

  constructor(private readonly post: (message: FromResults) => void) {}

  /** The answer to a question. */
  ask(asked: Asked): Promise<Answer> {
    const turn = (this.turn += 1);
    return new Promise((resolve) => {
      this.waiting.set(turn, resolve);
      this.post({ turn, ...asked });
    });
  }

  answered(answer: Answer): void {
    this.waiting.get(answer.turn)?.(answer);
    this.waiting.delete(answer.turn);
  }
}
