import * as vscode from 'vscode';
import { say } from '../say';
import { kindOf, totalText, type Move, type Page } from './moves';
import { byKind } from './proposal';

export const PLACEHOLDER = 'Choose a change to look at; nothing is applied yet';
const MORE = 'Show more…';
/** Milliseconds without a key after which what is typed is searched for. */
const QUIET = 250;

interface Item extends vscode.QuickPickItem {
  readonly move?: Move;
}

/** What a page is asked for with. */
export interface Asked {
  readonly search?: string;
  readonly cursor?: string;
}

export interface Chosen {
  readonly moves: readonly Move[];
  readonly index: number;
}

/** Lets the user choose among safe mutations, page by page; what is typed is searched for among all of them. */
export class MovePicker {
  private readonly list = vscode.window.createQuickPick<Item>();
  /** The mutations of all pages that were shown, with the headings of their kinds. */
  private listed: Item[] = [];
  private cursor: string | null = null;
  private turn = 0;

  constructor(private readonly page: (asked: Asked) => Promise<Page>) {
    this.list.title = 'Safe mutations';
    this.list.placeholder = PLACEHOLDER;
    this.list.matchOnDescription = true;
  }

  /** The mutation that is chosen, among those that were listed; undefined where none is. */
  choose(): Promise<Chosen | undefined> {
    const { list } = this;
    let typing: NodeJS.Timeout | undefined;
    return new Promise((resolve) => {
      list.onDidChangeValue(() => {
        clearTimeout(typing);
        typing = setTimeout(() => void this.load(false), QUIET);
      });
      list.onDidAccept(() => {
        const [chosen] = list.selectedItems;
        if (chosen === undefined) return;
        if (chosen.move === undefined) void this.load(true);
        else {
          const moves = this.listed.flatMap(({ move }) => move ?? []);
          resolve({ moves, index: moves.indexOf(chosen.move) });
          list.hide();
        }
      });
      list.onDidHide(() => {
        clearTimeout(typing);
        resolve(undefined);
        list.dispose();
      });
      list.show();
      void this.load(false);
    });
  }

  /** Ask for the first page of what is searched for, or for the page after those that are listed. */
  private async load(more: boolean): Promise<void> {
    const turn = (this.turn += 1);
    const search = this.list.value.trim();
    this.list.busy = true;
    try {
      const cursor = more && this.cursor !== null ? { cursor: this.cursor } : {};
      const page = await this.page({ ...(search === '' ? {} : { search }), ...cursor });
      if (turn !== this.turn) return;
      this.cursor = page.cursor;
      this.list.title = `Safe mutations (${totalText(page.total)})`;
      this.show(page.moves, more);
    } catch (problem) {
      this.list.hide();
      void say.error(problem instanceof Error ? problem.message : String(problem));
    } finally {
      if (turn === this.turn) this.list.busy = false;
    }
  }

  /** Show a page: with `more` below those that are listed, which stay where they are, else in their place. */
  private show(page: readonly Move[], more: boolean): void {
    const { list } = this;
    const added: Item[] = [];
    for (const [kind, group] of byKind(page.map((move) => ({ kind: kindOf(move), move })))) {
      added.push({ label: kind, kind: vscode.QuickPickItemKind.Separator });
      for (const { move } of group) added.push({ label: move.title, description: move.effect, move });
    }
    const active = list.activeItems[0]?.move;
    this.listed = more ? [...this.listed, ...added] : added;
    const items = [...this.listed];
    if (this.cursor !== null) items.push({ label: MORE, alwaysShow: true });
    if (items.length === 0) items.push({ label: 'There is no such safe mutation.', alwaysShow: true });
    list.keepScrollPosition = more;
    list.items = items;
    // Who has gone down the list is left where they were; who asked for more is at the first that came.
    const here = more ? added.find(({ move }) => move !== undefined) : items.find(({ move }) => move !== undefined && move.id === active?.id);
    if (here !== undefined) list.activeItems = [here];
  }
}
