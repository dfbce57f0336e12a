// Written by scripts/generate_extension.py from contributions.toml and the server's settings; change those.

export const Command = {
  newWorkflow: 'merrow.newWorkflow',
  fixAll: 'merrow.fixAll',
  workflowFigures: 'merrow.workflowFigures',
  restartServer: 'merrow.restartServer',
  showLog: 'merrow.showLog',
  showServerInfo: 'merrow.showServerInfo',
  selectPython: 'merrow.selectPython',
  setUpModelAccess: 'merrow.setUpModelAccess',
  removeModelAccess: 'merrow.removeModelAccess',
  setApiKey: 'merrow.setApiKey',
  clearApiKey: 'merrow.clearApiKey',
  askAgainAboutEndpoints: 'merrow.askAgainAboutEndpoints',
  showPreview: 'merrow.showPreview',
  showTypesInPreview: 'merrow.showTypesInPreview',
  exportSvg: 'merrow.exportSvg',
  exportPng: 'merrow.exportPng',
  runWorkflow: 'merrow.runWorkflow',
  runWithOtherInputs: 'merrow.runWithOtherInputs',
  dryRunWorkflow: 'merrow.dryRunWorkflow',
  runFromHere: 'merrow.runFromHere',
  showNode: 'merrow.showNode',
  setNodeOutput: 'merrow.setNodeOutput',
  stopRun: 'merrow.stopRun',
  resumeRun: 'merrow.resumeRun',
  runMenu: 'merrow.runMenu',
  showRunOutput: 'merrow.showRunOutput',
  clearRun: 'merrow.clearRun',
  openNodeAsDocument: 'merrow.openNodeAsDocument',
  refreshRuns: 'merrow.refreshRuns',
  openRun: 'merrow.openRun',
  compareRuns: 'merrow.compareRuns',
  deleteRun: 'merrow.deleteRun',
  safeMutations: 'merrow.safeMutations',
  repairWorkflow: 'merrow.repairWorkflow',
  applyProposal: 'merrow.applyProposal',
  previousProposal: 'merrow.previousProposal',
  nextProposal: 'merrow.nextProposal',
  cancelProposals: 'merrow.cancelProposals',
} as const;

export const Setting = {
  python: 'python',
  endpoint: 'endpoint',
  startTimeout: 'startTimeout',
  confirmRuns: 'confirmRuns',
  previewOnRun: 'previewOnRun',
} as const;

/** What holds where nothing is set. */
export const defaults = {
  python: '',
  endpoint: '',
  startTimeout: 60,
  confirmRuns: true,
  previewOnRun: true,
};
