/** Which models are served where, and how a user chooses one. Pure. */

/** An endpoint of `merrow.models`. */
export interface Place {
  readonly base_url: string;
  /** What named it; `found` for a server that was found on this machine. */
  readonly source: string;
  readonly used: boolean;
  readonly ok: boolean | null;
  readonly sentence: string;
  readonly models: readonly string[];
}

/** The answer to `merrow.useModel`. */
export interface Used {
  readonly path: string;
  readonly base_url: string;
  readonly model: string | null;
  readonly note: string;
}

/** A model that can be used, or (without `model`) a sentence on an endpoint that has none. */
export interface Choice {
  readonly label: string;
  readonly description: string;
  readonly url: string;
  readonly model?: string;
}

/** One choice for each model of each endpoint, the endpoint that is used first. */
export function choices(places: readonly Place[]): Choice[] {
  return places.flatMap((place) => {
    const description = place.used ? `${place.base_url} (used now)` : `${place.base_url} (found on this machine)`;
    if (place.models.length === 0) return [{ label: place.sentence, description, url: place.base_url }];
    return place.models.map((model) => ({ label: model, description, url: place.base_url, model }));
  });
}

/** What was written, in a sentence or two. */
export function usedSentence({ base_url: url, model, path, note }: Used): string {
  return [`Runs ask ${model ?? 'a model'} at ${url} from now on, as ${path} says.`, note].filter((part) => part !== '').join(' ');
}
