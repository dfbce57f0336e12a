/** What the pages of `merrow view` share. All that comes from files, runs and models is only ever text here. */

/** Below what everything is: the token. */
export const root = document.body.dataset['root'] ?? '';

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The line above a page: what it shows, how that stands, and the way to all jobs. */
export class Head {
  readonly element: HTMLElement;
  private readonly state = element('span', { class: 'state', role: 'status' });

  constructor(title: string, isList = false) {
    this.element = element('header', {}, element('h1', {}, title), this.state);
    if (!isList) this.element.append(element('a', { href: `${root}/` }, 'All jobs'));
  }

  say(text: string, how: '' | 'bad' | 'running' = ''): void {
    this.state.textContent = text;
    this.state.className = `state ${how}`;
  }

  add(child: Node): void {
    this.state.after(child);
  }
}

/** Events of the server. `lost` is called when it does not answer, and again with false when it does. */
export function listen(path: string, handlers: Readonly<Record<string, (data: unknown) => void>>, lost: (isLost: boolean) => void): EventSource {
  const source = new EventSource(root + path);
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, (event: MessageEvent<string>) => { handle(JSON.parse(event.data) as unknown); });
  }
  source.addEventListener('open', () => { lost(false); });
  source.addEventListener('error', () => { lost(true); });
  return source;
}

export const GONE = 'Merrow does not answer any more; the page continues when it does.';
