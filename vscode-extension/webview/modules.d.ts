// A module that webview/onlyFlowcharts.mjs makes: mermaid's layout.
declare module 'merrow:dagre' {
  export function render(data: unknown, ...rest: unknown[]): Promise<void>;
}

declare module '*.css';
