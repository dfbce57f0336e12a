/** Servers of tools, as the server lists them. Types only. */

/** Whether a server may be started: it is the user's own, agreed to, not agreed to, or can't be used. */
export type Trust = 'yours' | 'trusted' | 'untrusted' | 'unusable';

/** How a tool stands to its pin, as far as its server was asked. */
export type ToolState = 'pinned' | 'unpinned' | 'differs' | 'gone';

export interface ListedTool {
  readonly name: string;
  /** As workflows name it: `web.search`. */
  readonly tool: string;
  readonly state: ToolState;
  readonly description: string;
  readonly sha256: string | null;
  /** What the user's settings say: it may be called again, and without asking a person. */
  readonly repeatable: boolean;
  readonly allow: boolean;
  /** Whether the user has agreed that workflows of this folder call it. */
  readonly agreed: boolean;
  /** When it was last called, in seconds since 1970. */
  readonly last_used: number | null;
}

export interface ListedServer {
  /** Of a tool that is a file: `local.NAME`. */
  readonly name: string;
  /** The file that it comes from. */
  readonly source: string;
  readonly trust: Trust;
  readonly problem: string | null;
  readonly notes: readonly string[];
  readonly definition: Readonly<Record<string, unknown>> | null;
  readonly tools: readonly ListedTool[];
}

/** The answer to `merrow.tools`. */
export interface Listing {
  readonly workspace: string;
  /** The files of the pins, of the user's settings, and of what they have agreed to. */
  readonly pins: string;
  readonly settings: string;
  readonly consents: string;
  readonly servers: readonly ListedServer[];
  /** Servers that have pins and nothing else. */
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
}

export interface ChangedTool {
  readonly tool: string;
  readonly message: string;
  readonly difference: string;
  readonly hidden: readonly string[];
}

/** The answer to `merrow.pullTools`. */
export interface Pulled {
  readonly server: string;
  readonly pins: string;
  readonly changed: readonly ChangedTool[];
  readonly problems: readonly string[];
  readonly count: number;
  readonly written: boolean;
}

/** The answer to `merrow.checkTools`. */
export interface Compared {
  readonly differs: readonly ChangedTool[];
  readonly problems: readonly string[];
}

/** What the server asks consent for, by `merrow/ask` with the kind `consent`. */
export interface Consent {
  readonly kind: 'consent';
  readonly title: string;
  readonly question: string;
  /** The word for *I agree*. */
  readonly button: string;
  /** All of what is agreed to, as plain text. */
  readonly shown: readonly { readonly title: string; readonly text: string }[];
  /** The workspace that the consent is for. */
  readonly from: string;
}
