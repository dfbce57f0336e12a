// A model endpoint on this machine, as OpenAI's, whose answers tests hold back and count.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { extension, home } from './places.mjs';

/** The key that the endpoint is given; it must show up nowhere. */
export const KEY = 'sk-e2e-0123456789abcdef';

export class Endpoint {
  /** The last message of each question, in order. */
  questions = [];
  keys = new Set();
  /** The models that were asked, in order; and those that it lists, undefined where it lists none. */
  models = [];
  served;
  #held = [];
  #holds = () => false;
  #refusal;
  #answers = () => undefined;

  static async start() {
    const endpoint = new Endpoint();
    const server = createServer((request, response) => void endpoint.#answer(request, response));
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    server.unref();
    endpoint.url = `http://127.0.0.1:${server.address().port}/v1`;
    return endpoint;
  }

  /** Keep back the answers to questions that `holds` says yes to. */
  hold(holds) {
    this.#holds = holds;
  }

  /** Give all answers that were kept back, and keep none from now on. */
  release() {
    this.#holds = () => false;
    for (const go of this.#held.splice(0)) go();
  }

  /** Answer all questions with an error in these words, until undefined is given. */
  refuse(words) {
    this.#refusal = words;
  }

  /** Give the answers that `answers` has to questions, until undefined is given. */
  answerWith(answers) {
    this.#answers = answers ?? (() => undefined);
  }

  /** Forget what was asked and what was agreed on answers: a file that fails in the middle must not fail those after it. */
  reset() {
    this.questions.length = this.models.length = 0;
    this.keys.clear();
    this.#refusal = undefined;
    this.#answers = () => undefined;
    this.release();
  }

  get held() {
    return this.#held.length;
  }

  /** How many questions had this text in their first message. */
  asked(text) {
    return this.questions.filter((messages) => messages[0].content.includes(text)).length;
  }

  async #answer(request, response) {
    if (request.method === 'GET') {
      const isListed = request.url === '/v1/models' && this.served !== undefined;
      response.writeHead(isListed ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isListed ? { object: 'list', data: this.served.map((id) => ({ id })) } : {}));
      return;
    }
    let body = '';
    for await (const part of request) body += part;
    const { messages = [{ content: '' }], model, stream } = JSON.parse(body || '{}');
    this.questions.push(messages);
    this.models.push(model);
    this.keys.add(request.headers.authorization);
    const text = this.#answers(messages) ?? `Answer ${this.questions.length} of the endpoint to: ${messages[0].content.trim().split('\n')[0]}`;
    if (this.#holds(messages)) await new Promise((go) => this.#held.push(go));
    if (this.#refusal !== undefined) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: this.#refusal, type: 'invalid_request_error' } }));
      return;
    }
    const usage = { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 };
    const common = { id: 'e2e', created: 1, model };
    if (!stream) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...common, object: 'chat.completion', usage, choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }] }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunk = (choices, more = {}) => response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...more })}\n\n`);
    for (const word of text.split(/(?<= )/)) chunk([{ index: 0, delta: { content: word }, finish_reason: null }]);
    chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]);
    chunk([], { usage });
    response.end('data: [DONE]\n\n');
  }
}

let running;

/** The one endpoint of a run of the tests. */
export function endpoint() {
  running ??= Endpoint.start();
  return running;
}

/** Before a file of tests: the endpoint, where there is one, is as new. */
export async function freshEndpoint() {
  (await running)?.reset();
}

/** What a server is started with so that its runs go to the endpoint. */
export async function withEndpoint() {
  const { url } = await endpoint();
  return { models: packages('models'), environment: { OPENAI_BASE_URL: url, OPENAI_API_KEY: KEY } };
}

let listing;

/** Another endpoint, which lists its models: `tiny` alone. */
export async function listingEndpoint() {
  listing ??= Endpoint.start();
  const started = await listing;
  started.served = ['tiny'];
  return started;
}

/** What a server is started with so that its runs go to that one. */
export async function withListing() {
  return { models: packages('models'), environment: { OPENAI_BASE_URL: (await listingEndpoint()).url } };
}

/** What a server is started with so that its runs go to the endpoint once the extension has set up the packages, from a local folder. */
export async function withoutPackages() {
  const { url } = await endpoint();
  return { environment: { OPENAI_BASE_URL: url, OPENAI_API_KEY: KEY, ...index(wheels('models')) } };
}

/** The folder from which the extension sets up what reaches servers of tools; it is there once a test makes it so. */
const toolIndex = path.join(tmpdir(), `merrow-e2e-index-${process.pid}`);

/** What a server is started with whose workflows call tools once the extension has set up the packages, from a folder that is not there yet. */
export function withoutTools() {
  wheels('tools');
  process.once('exit', () => rmSync(toolIndex, { force: true }));
  return { environment: index(toolIndex) };
}

/** Make the packages for tools known to the server of `withoutTools`. */
export function offerTools() {
  symlinkSync(wheels('tools'), toolIndex);
}

const index = (folder) => ({ PIP_NO_INDEX: '1', PIP_FIND_LINKS: folder });

/** A folder with what the extension installs, as the package index has it, kept between runs. */
function wheels(kind) {
  const folder = path.join(home, kind === 'models' ? 'wheels' : `wheels-${kind}`);
  const stamp = path.join(folder, 'requirement.txt');
  const wanted = requirement(kind);
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    mkdirSync(folder, { recursive: true });
    const constraints = path.join(extension, 'python', 'constraints.txt');
    const given = ['--quiet', '--disable-pip-version-check', '--only-binary', ':all:', '--dest', folder, '--constraint', constraints];
    execFileSync('python3', ['-I', '-m', 'pip', 'download', ...given, wanted], { stdio: ['ignore', 'inherit', 'inherit'] });
    writeFileSync(stamp, wanted);
  }
  return folder;
}

const REQUIREMENT = { models: /requirement = '([^']+)'/, tools: /folder: 'tools', requirement: '([^']+)'/ };

function requirement(kind = 'models') {
  return REQUIREMENT[kind].exec(readFileSync(path.join(extension, 'src', 'models', 'packages.ts'), 'utf8'))[1];
}

/** What a server is started with whose workflows call tools. */
export function withTools() {
  return { tools: packages('tools') };
}

/** The packages that the extension installs to reach endpoints, or tools, from the package index, kept between runs. */
function packages(kind) {
  const question = 'import sys, sysconfig; print(sys.implementation.cache_tag + "-" + sysconfig.get_platform())';
  const tag = execFileSync('python3', ['-I', '-S', '-c', question], { encoding: 'utf8' }).trim();
  const wanted = requirement(kind);
  const root = path.join(home, kind);
  const folder = path.join(root, tag.replaceAll(/[^\w.-]/g, '_'));
  const marker = path.join(folder, 'merrow-installed.json');
  if (!existsSync(marker) || JSON.parse(readFileSync(marker, 'utf8')).requirement !== wanted) {
    mkdirSync(folder, { recursive: true });
    const constraints = path.join(extension, 'python', 'constraints.txt');
    const given = ['--quiet', '--disable-pip-version-check', '--only-binary', ':all:', '--upgrade', '--target', folder, '--constraint', constraints];
    execFileSync('python3', ['-I', '-m', 'pip', 'install', ...given, wanted], { stdio: ['ignore', 'inherit', 'inherit'] });
    writeFileSync(marker, JSON.stringify({ requirement: wanted }));
  }
  return root;
}
