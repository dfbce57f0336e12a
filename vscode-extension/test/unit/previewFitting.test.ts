import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fitted, intoSight, MARGIN, READABLE, type View } from '../../webview/preview/fitting';

const PORT = { width: 600, height: 400 };

describe('A picture that is fitted', () => {
  it('is not enlarged, and is in the middle', () => {
    assert.deepEqual(fitted('readable', { width: 100, height: 50 }, PORT), { scale: 1, x: 250, y: 175, mode: 'readable' });
  });

  it('is made smaller as a whole as long as its labels can be read', () => {
    const { scale } = fitted('readable', { width: 640, height: 50 }, PORT);
    assert.equal(scale, (600 - 2 * MARGIN) / 640);
  });

  it('is never smaller than can be read, unless all of it is asked for', () => {
    for (const width of [750, 1000, 20_000, 1_000_000]) {
      const first = fitted('readable', { width, height: 300 }, PORT);
      assert.deepEqual([first.scale, first.x, first.mode], [READABLE, MARGIN, 'readable']);
      const whole = fitted('whole', { width, height: 300 }, PORT);
      assert.ok(whole.scale < READABLE);
    }
    assert.ok(14 * READABLE >= 10 && 12 * READABLE >= 9);
  });

  it('keeps what is in the middle where it no longer fits, as far as the picture reaches', () => {
    const picture = { width: 2000, height: 100 };
    const before: View = { scale: READABLE, x: -500, y: 0, mode: 'readable' };
    const narrower = fitted('readable', picture, { width: 400, height: 400 }, before);
    assert.equal(narrower.x, -500);
    const end = fitted('readable', picture, PORT, { ...before, x: -5000 });
    assert.equal(end.x, 600 - MARGIN - 2000 * READABLE);
    assert.equal(fitted('readable', picture, PORT, { ...before, x: 5000 }).x, MARGIN);
  });
});

describe('A part that is to be in sight', () => {
  it('moves nothing where it is, and else as little as shows it', () => {
    assert.equal(intoSight(100, 200, 0, 400), 0);
    assert.equal(intoSight(5, 100, 0, 400), MARGIN - 5);
    assert.equal(intoSight(300, 390, 0, 400), 400 - MARGIN - 390);
  });

  it('is put into the middle where it was out of sight', () => {
    assert.equal(intoSight(900, 1000, 0, 400), 200 - 950);
    assert.equal(intoSight(-300, -200, 0, 400), 200 + 250);
  });
});
