import { type Engine, Superseded, TooLong } from '../drawing/engine';
import type { DrawRequest, Theme } from '../drawing/protocol';
import { currentTheme, editorTheme } from '../drawing/editorTheme';
import type { BoxRun, FromPreview, Graph, NodeRun, Part, ToPreview } from '../../src/preview/protocol';
import { Aside } from './aside';
import { Banner } from './banner';
import { element } from './dom';
import { Follower } from './follower';
import { Hints } from './hints';
import { answerExport } from './exporting';
import { Keyboard } from './keyboard';
import { Legend } from './legend';
import { tooLarge } from './limits';
import { Marks } from './marks';
import { Memories } from './memories';
import { Minimap } from './minimap';
import { palette } from './palette';
import { Picture } from './picture';
import { Search } from './search';
import { Showing } from './showing';
import { Stage, type View } from './stage';
import { Toolbar } from './toolbar';
import { Tooltip } from './tooltip';
import { brokenWords, whyNot } from './undrawn';
import { nodeWords, notWorkflow, publishedStyles, spoken, typeWords } from './words';

/** Milliseconds that a drawing waits at most for the text to be left alone, after what changes at once was shown. */
const QUIET = 1500;

type Keep = (part: { view?: View; types?: boolean; memory?: boolean; unfolded?: boolean }) => void;

/** The page as a whole: one picture, what is drawn over it, and the way from messages to both. */
export class Preview {
  private readonly world = element('div', { class: 'world' });
  private readonly viewport = element('div', { class: 'viewport', tabindex: '0', role: 'group', 'aria-label': 'Flowchart' }, this.world);
  private readonly notice = element('div', { class: 'notice', role: 'status', hidden: '' });
  private readonly aside = new Aside((act) => { this.post({ type: 'drawn as', act }); });
  private readonly placeholder = element('div', { class: 'placeholder' }, 'Drawing…');
  private readonly tooltip = new Tooltip();
  private readonly hints: Hints;
  private readonly legend = new Legend();
  private readonly banner: Banner;
  private readonly marks = new Marks();
  private readonly memories = new Memories();
  private readonly search: Search;
  private readonly minimap: Minimap;
  private readonly stage: Stage;
  private readonly toolbar: Toolbar;
  private readonly keyboard: Keyboard;
  private readonly follower: Follower;
  private readonly showing = new Showing();
  private picture: Picture | undefined;
  private cursor: Part | undefined;
  /** Whether the view is one from before the window was loaded again. */
  private readonly kept: boolean;
  private theme: Theme = currentTheme();
  /** What is drawn, or being drawn; the same is not drawn twice. */
  private drawn = '';
  private version = 0;
  /** The number of the diagram that is drawn however large it is, because the user said so. */
  private insisted: number | undefined;
  /** The text that took too long to draw, and what is said of it: it is not tried again. */
  private givenUp: { readonly text: string; readonly why: string; readonly declined: boolean } | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly post: (message: FromPreview) => void,
    private readonly keep: Keep,
    view: View | undefined,
    private types = false,
    memory = false,
    unfolded = false,
  ) {
    this.showing.unfolded = unfolded;
    const actions = {
      zoom: (factor: number) => { this.stage.zoom(factor); },
      actualSize: () => { this.stage.zoom(1 / this.stage.scale); },
      fit: () => { this.stage.fit(); },
      types: () => { this.toggleTypes(); },
      memory: () => { this.toggleMemory(); },
      folding: () => { this.toggleFolding(); },
      follow: () => { this.comeBack(); },
      find: () => { this.search.open(); },
      pan: (dx: number, dy: number) => { this.stage.pan(dx, dy); },
      save: (format: 'svg' | 'png') => { this.post({ type: 'command', command: format === 'svg' ? 'exportSvg' : 'exportPng' }); },
      focused: (id: string) => { this.hints.node(id, this.picture); },
      focusedEdge: (id: string) => { this.hints.edge(id, this.picture); },
      edgesOf: (id: string) => this.showing.edgesOf(id),
      chosen: (part: Part, open: boolean) => { this.choose(part, open); },
      leave: () => { this.tooltip.hide(); },
    };
    this.toolbar = new Toolbar(actions);
    this.banner = new Banner((act, revision) => { this.post({ type: 'revision', act, revision }); });
    this.follower = new Follower((offered) => { this.toolbar.showFollow(offered); });
    this.stage = new Stage(
      this.viewport,
      this.world,
      (now) => {
        this.toolbar.showScale(now.scale);
        this.tooltip.hide();
        this.minimap.follow();
        this.keep({ view: now });
      },
      () => { this.follower.leave(); },
      () => { this.lookAt(this.follower.current); },
    );
    this.minimap = new Minimap(this.stage);
    this.hints = new Hints(this.tooltip, this.showing, this.stage, this.marks);
    this.search = new Search({
      show: (ids, now) => {
        const at = now === undefined ? undefined : this.showing.node(now);
        this.marks.showFound([...new Set(ids.map((id) => this.showing.node(id)))], at);
        const node = at === undefined ? undefined : this.picture?.node(at);
        if (node !== undefined) this.stage.reveal(node);
      },
      closed: (now) => { this.leaveSearch(now); },
    });
    this.keyboard = new Keyboard(this.viewport, actions);
    this.toolbar.showTypes(this.types);
    this.toolbar.showMemory((this.memories.on = memory));
    this.kept = view !== undefined;
    if (view !== undefined) this.stage.restore(view);
    document.body.append(
      this.toolbar.element,
      this.search.element,
      this.banner.element,
      element('main', {}, this.viewport, this.placeholder, this.minimap.element, this.notice),
      element('footer', {}, this.legend.element, this.aside.element),
      this.tooltip.element,
    );
    this.paint();
    this.listen();
  }

  async receive(message: ToPreview): Promise<void> {
    switch (message.type) {
      case 'graph':
        this.showing.whole = message.graph;
        this.toolbar.showDiagram(message.graph.diagram, message.graph.diagrams);
        this.aside.show(notWorkflow(message.graph), message.graph.asDrawn === true);
        return this.draw();
      case 'cursor':
        this.cursor = message.part ?? undefined;
        this.follow(message.reveal);
        return;
      case 'run':
        this.tellRun(new Map(message.states), new Map(message.boxes), message.isOver);
        this.banner.show(message.revision, message.isOver);
        this.mark();
        this.lookAt(this.follower.take(message.run, this.showing.run, message.isOver, this.showing.ends));
        return;
      case 'notice':
        if (this.picture === undefined) this.placeholder.textContent = message.text;
        else this.say(message.text);
        return;
      case 'types':
        this.toggleTypes();
        return;
      case 'memory':
        this.toggleMemory();
        return;
      case 'export':
        { this.post(await answerExport(this.engine, message, this.showing.whole, (graph) => this.edgeWords(graph, false))); return; }
    }
  }

  private tellRun(states: ReadonlyMap<string, NodeRun>, boxes: ReadonlyMap<string, BoxRun>, isOver: boolean): void {
    this.showing.take(states, boxes, isOver);
    this.legend.show(states, boxes);
  }

  private listen(): void {
    this.hints.listen(this.viewport, () => this.picture);
    this.viewport.addEventListener('click', (event) => {
      event.preventDefault(); // a node may be a link
      const part = this.picture?.partAt(event.target);
      if (part === undefined) {
        this.viewport.focus({ preventScroll: true });
        return;
      }
      if (part.kind === 'node') this.keyboard.select(part.id);
      this.choose(part, event.detail > 1);
    });
    addEventListener('keydown', (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== 'f') return;
      event.preventDefault();
      this.search.open();
    });
    const restyle = () => {
      this.paint();
      const theme = currentTheme();
      if (JSON.stringify(theme) === JSON.stringify(this.theme)) return;
      this.theme = theme;
      void this.draw();
    };
    new MutationObserver(restyle).observe(document.documentElement, { attributes: true, attributeFilter: ['style'] });
    new MutationObserver(restyle).observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-kind'] });
  }

  /** Give the page the colours of the editor's theme. */
  private paint(): void {
    for (const [name, value] of Object.entries(palette(editorTheme()))) document.body.style.setProperty(name, value);
    this.minimap.draw(this.graph?.nodes ?? [], this.showing.run);
  }

  private leaveSearch(now: string | undefined): void {
    const at = now === undefined ? undefined : this.showing.node(now);
    if (at === undefined || this.picture?.node(at) === undefined) this.viewport.focus({ preventScroll: true });
    else {
      this.keyboard.select(at);
      this.keyboard.focus();
    }
  }

  private choose(part: Part, open: boolean): void {
    if (part.kind === 'node' && this.showing.open(part.id)) {
      // All of many steps at once could not be read.
      this.stage.readable();
      this.tooltip.hide();
      void this.draw();
      return;
    }
    this.cursor = part;
    this.marks.show(part);
    this.post({ type: 'select', part, open });
  }

  private get graph(): Graph | undefined {
    return this.showing.graph;
  }

  /** Bring a step into sight, where the picture is larger than the viewport. */
  private lookAt(id: string | undefined): void {
    const node = id === undefined ? undefined : this.picture?.node(id);
    if (node !== undefined) this.stage.reveal(node);
  }

  /** Follow the run again, at a size that can be read. */
  private comeBack(): void {
    const step = this.follower.comeBack();
    this.stage.readable();
    this.lookAt(step);
  }

  private toggleFolding(): void {
    this.showing.toggle();
    this.keep({ unfolded: this.showing.unfolded });
    void this.draw();
  }

  private follow(reveal: boolean): void {
    const here = this.showing.part(this.cursor);
    const shown = this.marks.show(here);
    if (shown === undefined) return;
    if (here?.kind === 'node') this.keyboard.select(here.id);
    if (reveal) this.stage.reveal(shown);
  }

  private toggleTypes(): void {
    this.types = !this.types;
    this.toolbar.showTypes(this.types);
    this.keep({ types: this.types });
    void this.draw();
  }

  private toggleMemory(): void {
    this.toolbar.showMemory(this.memories.toggle(this.picture, this.graph));
    this.keep({ memory: this.memories.on });
  }

  private edgeWords(graph: Graph, html: boolean): Record<string, string> {
    if (!this.types) return {};
    return Object.fromEntries(graph.edges.flatMap((edge) => {
      const words = typeWords(edge, html);
      return words === undefined ? [] : [[edge.id, words]];
    }));
  }

  private async draw(): Promise<void> {
    this.toolbar.showFolding(this.showing.fold());
    const { graph, whole, hidden, folds } = this.showing;
    if (graph === undefined || whole === undefined) return;
    const impossible = whyNot(graph);
    if (impossible !== undefined) {
      this.cannot(impossible);
      return;
    }
    const insisted = this.insisted === graph.diagram;
    const large = insisted ? undefined : tooLarge(graph);
    if (large !== undefined) {
      this.cannot(large, true);
      return;
    }
    const styles = publishedStyles(graph, this.theme.highContrast);
    const words = nodeWords(graph, folds, whole.nodes);
    const request = { text: graph.text, theme: this.theme, edgeWords: this.edgeWords(graph, true), ...words, hidden, styles, portable: false };
    const key = JSON.stringify(request);
    if (key === this.drawn) {
      if (this.picture !== undefined) this.say(undefined);
      this.mark();
      return;
    }
    if (graph.text === this.givenUp?.text) {
      this.cannot(this.givenUp.why, this.givenUp.declined);
      return;
    }
    this.drawn = key;
    const version = (this.version += 1);
    const since = performance.now();
    try {
      if (!insisted && (await this.changed(request, graph, version, since))) return;
      const drawing = await this.engine.draw(request, insisted);
      const picture = await Picture.build(drawing, this.world, () => version === this.version);
      if (picture === undefined) return;
      // Meanwhile it was said why nothing is drawn: this picture is of a text before.
      if (this.drawn === '') {
        picture.root.remove();
        return;
      }
      this.exchange(picture);
      this.say(undefined);
      this.post({ type: 'drawn', version: graph.version, milliseconds: performance.now() - since });
    } catch (problem) {
      if (problem instanceof Superseded) return;
      if (version !== this.version) return;
      if (problem instanceof TooLong) {
        this.insisted = undefined;
        this.givenUp = { text: graph.text, why: `${problem.message}.`, declined: !insisted };
        this.cannot(this.givenUp.why, this.givenUp.declined);
      } else this.cannot(brokenWords(graph, problem instanceof Error ? problem.message : String(problem)));
    }
  }

  /**
   * Show in the picture what differs in the looks of nodes; whether there is nothing left to draw. Where there is, the text is left alone
   * for as long as half a drawing takes: whoever types on gets the next change at once.
   */
  private async changed(request: DrawRequest, graph: Graph, version: number, since: number): Promise<boolean> {
    const picture = this.picture;
    if (picture === undefined) return false;
    const change = await this.engine.change(request, () => picture.number);
    if (change !== null && picture === this.picture) {
      // The frame goes on from what it said, also where another text has come meanwhile.
      const ids = change.nodes.map(({ id }) => id);
      picture.apply(change);
      this.marks.forget(ids);
      this.keyboard.use(picture, (id) => this.spoken(id));
      this.mark();
    }
    if (version !== this.version) return true;
    if (change !== null) {
      this.say(undefined);
      this.post({ type: 'drawn', version: graph.version, milliseconds: performance.now() - since });
      if (change.sameSizes) return true;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(this.engine.took / 2, QUIET)));
    return version !== this.version;
  }

  private spoken(id: string): string {
    const node = this.graph?.nodes.find((one) => one.id === id);
    return node === undefined ? id : spoken(node, this.showing.run.get(id), this.showing.folds.get(id));
  }

  /** Show a picture in the place of the last one, with what the reader looks at where it was. */
  private exchange(picture: Picture): void {
    const port = this.viewport.getBoundingClientRect();
    const [x, y] = [(port.left + port.right) / 2, (port.top + port.bottom) / 2];
    const before = this.picture;
    const at = this.showing.part(this.cursor);
    const anchored = at?.kind === 'node' && inside(before?.node(at.id), port) ? at.id : undefined;
    const anchor = anchored ?? before?.nearest(x, y, port);
    const was = anchor === undefined ? undefined : before?.place(anchor);
    this.placeholder.hidden = true;
    const had = this.keyboard.hasFocus;
    picture.show(before);
    this.picture = picture;
    this.stage.resize(picture.width, picture.height);
    const is = anchor === undefined ? undefined : picture.place(anchor);
    if (was !== undefined && is !== undefined && !this.stage.showsAll) this.stage.shift(was.left - is.left, was.top - is.top);
    this.keyboard.use(picture, (id) => this.spoken(id), had);
    this.minimap.use(picture);
    this.mark();
    const here = this.marks.show(at);
    if (this.stage.showsAll) return;
    if (this.follower.current !== undefined) this.lookAt(this.follower.current);
    else if (before === undefined && !this.kept) this.begin(here);
  }

  /** Show of a picture that is larger than the viewport the part where the cursor is, else where the workflow begins. */
  private begin(here: Element | undefined): void {
    const start = this.graph?.nodes.find(({ kind }) => kind === 'input') ?? this.graph?.nodes[0];
    const first = here ?? (start && this.picture?.node(start.id));
    if (first !== undefined) this.stage.reveal(first);
  }

  private mark(): void {
    const { all: shown, whole } = this.showing;
    if (this.picture === undefined || whole === undefined || shown === undefined) return;
    const { graph, run } = shown;
    this.marks.update(this.picture, shown);
    this.memories.show(this.picture, graph);
    this.minimap.draw(graph.nodes, run);
    this.search.use(whole.nodes);
    for (const node of graph.nodes) {
      if (node.diagnostics.length > 0 || run.has(node.id)) this.keyboard.relabel(node.id, this.spoken(node.id));
    }
  }

  /** Draw the diagram however large it is and long it takes. */
  private insist(): void {
    this.insisted = this.graph?.diagram;
    this.givenUp = undefined;
    if (this.picture === undefined) this.placeholder.replaceChildren('Drawing…');
    else this.say('Drawing…');
    void this.draw();
  }

  /** Nothing new is drawn; where it is only `declined`, there is a button that draws it anyway. */
  private cannot(why: string, declined = false): void {
    this.version += 1;
    this.drawn = '';
    this.post({ type: 'drawn', version: this.graph?.version ?? null, milliseconds: 0 });
    if (this.picture === undefined) {
      this.placeholder.replaceChildren(element('div', {}, element('p', {}, why), ...(declined ? [this.anyway()] : [])));
      this.placeholder.hidden = false;
      this.say(undefined);
    } else this.say(`${why} This is the last picture that could be drawn.`, declined);
  }

  private anyway(): HTMLButtonElement {
    const button = element('button', { type: 'button', class: 'anyway' }, 'Draw anyway');
    button.addEventListener('click', () => { this.insist(); });
    return button;
  }

  private say(text: string | undefined, declined = false): void {
    this.notice.hidden = text === undefined;
    this.notice.replaceChildren(text ?? '', ...(declined ? [this.anyway()] : []));
    this.viewport.classList.toggle('stale', text !== undefined);
  }
}

function inside(element: Element | undefined, port: DOMRect): boolean {
  if (element === undefined) return false;
  const box = element.getBoundingClientRect();
  return box.right > port.left && box.left < port.right && box.bottom > port.top && box.top < port.bottom;
}
