// Answers of a recording, in the order of its questions: what a real-looking run is answered with.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { extension } from './places.mjs';

const root = path.dirname(extension);

/** An example of the repository, as text. */
export function example(name) {
  return readFileSync(path.join(root, 'examples', name), 'utf8');
}

/** Have the endpoint answer as a recording of `examples/replays` does: by the words that a question begins with. */
export function replay(model, name) {
  const calls = example(`replays/${name}.jsonl`)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ kind }) => kind === 'model');
  const key = (messages) => messages.map(({ content }) => content).join('\n');
  const answers = new Map();
  for (const { request, result } of calls) answers.set(key(request.messages), [...(answers.get(key(request.messages)) ?? []), result.text]);
  model.answerWith((messages) => {
    const found = answers.get(key(messages));
    return found === undefined ? undefined : found.length > 1 ? found.shift() : found[0];
  });
}
