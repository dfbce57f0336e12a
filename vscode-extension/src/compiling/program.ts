/** A node of a workflow: its lines in the program, and where it is in the workflow's document. */
export interface ProgramNode {
  readonly id: string;
  readonly lines: readonly number[];
  readonly range: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
}

/** The answer to `merrow.compile`. */
export interface Program {
  readonly text: string;
  readonly name: string;
  readonly nodes: readonly ProgramNode[];
}

/** The node that a line is about, of the program or of the workflow. */
export function nodeAt(program: Program, line: number, inProgram: boolean): ProgramNode | undefined {
  return program.nodes.find((node) =>
    inProgram ? node.lines.includes(line) : node.range.start.line <= line && line <= node.range.end.line,
  );
}

/** The line of a node: in the program the one of its function, which is the last; in the workflow the first. */
export function lineOf(program: Program, node: ProgramNode | undefined, inProgram: boolean): number | undefined {
  if (node === undefined) return undefined;
  return inProgram ? node.lines[node.lines.length - 1] : node.range.start.line;
}
