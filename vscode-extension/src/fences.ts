const fence = /^[\t >]*(?:(?:[-*+]|\d{1,9}[.)])[\t ]+)*(?:`{3,}|~{3,}|:{3,})[\t ]*\{?[\t ]*\.?(?:mermaid|mmd)\b/im;

/** Whether a Markdown text may hold a mermaid diagram. May say yes too often (inside another fence), never no too often. */
export function hasMermaidFence(text: string): boolean {
  return fence.test(text);
}
