import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from '../../src/server/backoff';
import { Hopeless, Supervisor, type Life, type Plan, type Ports, type Session } from '../../src/server/supervisor';

/** Let everything that is ready to go on do so. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

class FakeServer implements Session {
  stopped = false;
  private end: (reason: string) => void = () => undefined;
  readonly ended = new Promise<string>((resolve) => {
    this.end = resolve;
  });
  stop(): Promise<void> {
    this.stopped = true;
    this.end('stopped');
    return Promise.resolve();
  }
  crash(reason = 'The server ended with exit code 1.'): void {
    this.end(reason);
  }
}

/** A world with its own clock, whose plans and starts the test decides. */
class World implements Ports<Plan> {
  identity = 'a';
  problem: Error | undefined;
  starting: (() => Promise<Session>) | undefined;
  plans = 0;
  servers: FakeServer[] = [];
  lives: Life[] = [];
  timers: { at: number; callback: () => void }[] = [];
  clock = 0;
  signals: AbortSignal[] = [];
  readonly supervisor = new Supervisor<Plan>(this, { delays: [1, 2, 4], forgets: 100 });

  plan(): Promise<Plan> {
    this.plans += 1;
    return this.problem === undefined ? Promise.resolve({ identity: this.identity }) : Promise.reject(this.problem);
  }
  start(_: Plan, signal: AbortSignal): Promise<Session> {
    this.signals.push(signal);
    if (this.starting !== undefined) return this.starting();
    const server = new FakeServer();
    this.servers.push(server);
    return Promise.resolve(server);
  }
  changed(life: Life): void {
    this.lives.push(life);
  }
  now(): number {
    return this.clock;
  }
  later(seconds: number, callback: () => void): () => void {
    const timer = { at: this.clock + seconds, callback };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((one) => one !== timer);
    };
  }
  async pass(seconds: number): Promise<void> {
    this.clock += seconds;
    const due = this.timers.filter(({ at }) => at <= this.clock);
    this.timers = this.timers.filter(({ at }) => at > this.clock);
    for (const { callback } of due) callback();
    await settle();
  }
  get states(): string[] {
    return this.lives.map(({ state }) => state);
  }
}

test('a first request starts the server; another one with the same plan leaves it alone', async () => {
  const world = new World();
  await world.supervisor.refresh();
  await world.supervisor.refresh();
  assert.deepEqual(world.states, ['starting', 'ready']);
  assert.equal(world.servers.length, 1);
});

test('another plan means another server, and the old one is ended first', async () => {
  const world = new World();
  await world.supervisor.refresh();
  world.identity = 'b';
  await world.supervisor.refresh();
  assert.deepEqual(world.servers.map(({ stopped }) => stopped), [true, false]);
});

test('requests that come together are one', async () => {
  const world = new World();
  await world.supervisor.refresh();
  world.identity = 'b';
  await Promise.all(Array.from({ length: 20 }, () => world.supervisor.refresh()));
  const after: number = world.servers.length;
  assert.equal(after, 2);
  await Promise.all(Array.from({ length: 20 }, () => world.supervisor.restart()));
  assert.equal(world.servers.length, after + 1);
});

test('a restart that is asked for together with a refresh is done', async () => {
  const world = new World();
  await world.supervisor.refresh();
  await Promise.all([world.supervisor.restart(), world.supervisor.refresh()]);
  assert.equal(world.servers.length, 2);
  assert.equal(world.supervisor.current.state, 'ready');
});

test('a server that ends by itself comes back after a while, longer each time, and not forever', async () => {
  const world = new World();
  await world.supervisor.refresh();
  for (const [number, delay] of [1, 2, 4].entries()) {
    world.servers[number]?.crash();
    await settle();
    assert.deepEqual(world.supervisor.current, { state: 'waiting', reason: 'The server ended with exit code 1.', seconds: delay });
    await world.pass(delay - 0.1);
    assert.equal(world.servers.length, number + 1);
    await world.pass(0.1);
    assert.equal(world.supervisor.current.state, 'ready');
  }
  world.servers[3]?.crash();
  await settle();
  assert.equal(world.supervisor.current.state, 'failed');
  await world.pass(1000);
  assert.equal(world.servers.length, 4);
});

test('ends that lie far apart are not added up', async () => {
  const world = new World();
  await world.supervisor.refresh();
  for (let number = 0; number < 10; number += 1) {
    world.servers.at(-1)?.crash();
    await settle();
    await world.pass(1);
    assert.equal(world.supervisor.current.state, 'ready');
    await world.pass(200);
  }
});

test('after a failure the user may try again, with all patience', async () => {
  const world = new World();
  world.problem = new Hopeless('There is no Python.', 'python');
  await world.supervisor.refresh();
  assert.deepEqual(world.supervisor.current, { state: 'failed', reason: 'There is no Python.', remedy: 'python' });
  assert.deepEqual(world.timers, []);
  world.problem = undefined;
  await world.supervisor.restart();
  assert.equal(world.supervisor.current.state, 'ready');
});

test('a plan that becomes hopeless ends the server that ran', async () => {
  const world = new World();
  await world.supervisor.refresh();
  world.problem = new Hopeless('The setting names nothing.');
  await world.supervisor.refresh();
  assert.equal(world.servers[0]?.stopped, true);
  assert.equal(world.supervisor.current.state, 'failed');
});

test('a start that fails is tried again; one that takes forever is not', async () => {
  const world = new World();
  world.starting = () => Promise.reject(new Error('The server ended with exit code 3.'));
  await world.supervisor.refresh();
  assert.equal(world.supervisor.current.state, 'waiting');
  world.starting = () => Promise.reject(new Hopeless('The server did not start within 30 seconds and was ended.'));
  await world.pass(1);
  assert.equal(world.supervisor.current.state, 'failed');
  assert.deepEqual(world.timers, []);
});

test('a restart does not wait for a start that hangs', async () => {
  const world = new World();
  world.starting = () =>
    new Promise((_, reject) => {
      world.signals[0]?.addEventListener('abort', () => {
        reject(new Error('The start was given up.'));
      });
    });
  const first = world.supervisor.refresh();
  await settle();
  world.starting = undefined;
  await world.supervisor.restart();
  await first;
  assert.equal(world.supervisor.current.state, 'ready');
  assert.ok(!world.states.includes('failed') && !world.states.includes('waiting'));
});

test('after the end nothing starts any more', async () => {
  const world = new World();
  await world.supervisor.refresh();
  world.servers[0]?.crash();
  await settle();
  await world.supervisor.stop();
  await world.pass(1000);
  await world.supervisor.refresh();
  await world.supervisor.restart();
  assert.equal(world.servers.length, 1);
  assert.equal(world.supervisor.current.state, 'stopped');
});

test('stopping ends the server, and a start on its way', async () => {
  const running = new World();
  await running.supervisor.refresh();
  await running.supervisor.stop();
  assert.equal(running.servers[0]?.stopped, true);
  const hanging = new World();
  hanging.starting = () =>
    new Promise((_, reject) => {
      hanging.signals[0]?.addEventListener('abort', () => {
        reject(new Error('given up'));
      });
    });
  void hanging.supervisor.refresh();
  await settle();
  await hanging.supervisor.stop();
  assert.equal(hanging.supervisor.current.state, 'stopped');
});

test('back-off counts what it was told and forgets what is long past', () => {
  const backoff = new Backoff({ delays: [1, 2], forgets: 10 });
  assert.deepEqual([backoff.next(0), backoff.next(1), backoff.next(2)], [1, 2, undefined]);
  assert.deepEqual([backoff.next(20), backoff.count], [1, 1]);
  backoff.reset();
  assert.equal(backoff.next(20), 1);
});
