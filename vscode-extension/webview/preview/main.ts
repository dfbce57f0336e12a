/** The preview's page: draws what the extension sends, and says what was chosen in the picture. */
import './style.css';
import { Engine } from '../drawing/engine';
import type { FromPreview, PreviewState, ToPreview } from '../../src/preview/protocol';
import { Preview } from './preview';
import type { View } from './stage';

declare function acquireVsCodeApi(): {
  postMessage(message: FromPreview): void;
  getState(): Partial<Kept> | undefined;
  setState(state: Partial<Kept>): void;
};

interface Kept extends PreviewState {
  readonly view: View;
  readonly types: boolean;
  readonly memory: boolean;
  readonly unfolded: boolean;
}

const editor = acquireVsCodeApi();
const { engine = '', nonce = '' } = document.body.dataset;
const source = fetch(engine).then((answer) => answer.text());
const keep = (part: Partial<Kept>) => { editor.setState({ ...editor.getState(), ...part }); };

const before = editor.getState();
const drawer = new Engine(source, nonce);
const preview = new Preview(drawer, (message) => { editor.postMessage(message); }, keep, before?.view, before?.types, before?.memory, before?.unfolded);

addEventListener('message', ({ data, origin }: MessageEvent<ToPreview>) => {
  // The drawing frame, which has no origin, speaks through its port alone.
  if (origin === 'null') return;
  if (data.type === 'graph') keep({ uri: data.graph.uri, diagram: data.graph.diagram });
  void preview.receive(data);
});
editor.postMessage({ type: 'ready' });
drawer.prepare();
