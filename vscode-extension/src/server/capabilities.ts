import type { ClientCapabilities, FeatureState, StaticFeature } from 'vscode-languageclient/node';

/** What this client can do that the protocol has no word for: show runs, ask for the values of their inputs, and put their questions to people. */
export class RunCapabilities implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    const others = typeof capabilities.experimental === 'object' ? (capabilities.experimental as object) : {};
    capabilities.experimental = { ...others, merrowRuns: true, merrowInput: true, merrowAsk: true };
  }

  initialize(): void {
    // Nothing has to be registered.
  }

  getState(): FeatureState {
    return { kind: 'static' };
  }

  clear(): void {
    // Nothing was registered.
  }
}
