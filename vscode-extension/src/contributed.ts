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
} as const;

export const Setting = {
  python: 'python',
  endpoint: 'endpoint',
  startTimeout: 'startTimeout',
} as const;

/** What holds where nothing is set. */
export const defaults = {
  python: '',
  endpoint: '',
  startTimeout: 60,
};
