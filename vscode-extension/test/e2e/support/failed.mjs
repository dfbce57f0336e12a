// A reporter that prints the files whose tests failed, each once, one a line.
export default async function* failed(source) {
  const files = new Set();
  for await (const { type, data } of source) {
    if (type !== 'test:fail' || !data.file?.endsWith('.test.mjs') || files.has(data.file)) continue;
    files.add(data.file);
    yield `${data.file}\n`;
  }
}
