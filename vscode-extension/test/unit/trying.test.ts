import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tried } from '../../src/models/trying';

test('what fails is tried again as often as the user says so', async () => {
  const reasons: string[] = [];
  let left = 2;
  const work = (): Promise<void> => (left-- > 0 ? Promise.reject(new Error(`${String(left)} left`)) : Promise.resolve());
  const again = (reason: string): Promise<boolean> => {
    reasons.push(reason);
    return Promise.resolve(true);
  };
  assert.equal(await tried(work, again), true);
  assert.deepEqual(reasons, ['1 left', '0 left']);
});

test('what is not tried again is not done', async () => {
  let times = 0;
  const work = (): Promise<never> => {
    times += 1;
    return Promise.reject(new Error('no'));
  };
  assert.equal(await tried(work, () => Promise.resolve(false)), false);
  assert.equal(times, 1);
});
