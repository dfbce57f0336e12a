// The preview in a workbench, as a user sees and uses it.
export const PREVIEW = 'body[data-engine] .viewport';

export class Preview {
  /** Open the preview of the active editor and wait for its picture. */
  static async open(workbench) {
    await workbench.command('Merrow: Open Preview to the Side');
    const preview = new Preview(workbench, await workbench.frame(PREVIEW));
    await preview.frame.locator('.picture:not(.building) svg').first().waitFor();
    return preview;
  }

  constructor(workbench, frame) {
    this.workbench = workbench;
    this.frame = frame;
  }

  node(id) {
    return this.frame.locator(`g[data-node="${id}"]`);
  }

  /** Click a node wherever the picture is: a run may have been followed away from it. */
  async click(id) {
    await this.frame.locator('button[title^="Fit all"]').click();
    await this.node(id).click();
  }

  /** The ids of the nodes in the picture. */
  nodes() {
    return this.frame.locator('.picture:not(.building) g[data-node]').evaluateAll((found) => found.map((node) => node.dataset.node));
  }

  /** Until the picture has exactly these nodes. */
  async shows(...ids) {
    const wanted = ids.sort().join();
    await this.workbench.until(async () => (await this.nodes()).sort().join() === wanted, `the preview does not show ${wanted}`);
  }

  /** The node that is marked as the one where the cursor is. */
  here() {
    return this.frame.locator('g[data-node]:has(> .marks > .here)');
  }

  /** Where the picture is and how large: the transform of its layer. */
  view() {
    return this.frame.locator('.world').evaluate((world) => world.style.transform);
  }

  notice() {
    return this.frame.locator('.notice');
  }
}
