// The workbench calls run() in its extension host: all tests of suite/, one after the other, results to a file.
const { readdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');

/** Milliseconds that a test may take, however busy the machine is. */
const LIMIT = 300_000;
const tests = [];
globalThis.test = (name, body) => tests.push({ name, body });

exports.run = async () => {
  const folder = path.join(__dirname, 'suite');
  for (const name of readdirSync(folder).sort()) require(path.join(folder, name));
  const results = [];
  for (const { name, body } of tests) {
    const began = performance.now();
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${LIMIT / 1000} s`)), LIMIT);
    });
    const problem = await Promise.race([body(), late]).then(
      () => undefined,
      (reason) => String(reason?.stack ?? reason),
    );
    clearTimeout(timer);
    results.push({ name, problem, milliseconds: Math.round(performance.now() - began), figures: globalThis.figures });
    globalThis.figures = undefined;
    writeFileSync(process.env.MERROW_HOST_RESULTS, JSON.stringify(results));
  }
  if (results.some(({ problem }) => problem !== undefined)) throw new Error('Tests failed.');
};
