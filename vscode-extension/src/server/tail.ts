/** The last lines of a stream of text. */
export class Tail {
  private lines: string[] = [''];

  constructor(private readonly most: number) {}

  add(text: string): void {
    const [first = '', ...others] = text.split(/\r?\n/);
    this.lines.push((this.lines.pop() ?? '') + first, ...others);
    this.lines = this.lines.slice(-this.most - 1).map((line) => line.slice(-500));
  }

  /** The last line with something in it. */
  get last(): string {
    return this.lines.findLast((line) => line.trim() !== '')?.trim() ?? '';
  }
}
