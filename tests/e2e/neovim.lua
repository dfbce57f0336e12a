-- Opens $MERROW_FILE with the documented set-up ($MERROW_SNIPPET), applies the quick fix of the problem $MERROW_CODE, and writes the file.
local code = vim.env.MERROW_CODE
local function say(...) io.stdout:write(table.concat({ ... }, ' ') .. '\n') end
local function die(message) say('FAIL ' .. message); vim.cmd('cquit 1') end
local function wait(what, predicate)
  if not vim.wait(30000, predicate, 20) then die(what) end
end

dofile(vim.env.MERROW_SNIPPET)
vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.MERROW_FILE))
local buffer = vim.api.nvim_get_current_buf()

local function problem()
  for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
    if diagnostic.code == code or (diagnostic.user_data and diagnostic.user_data.lsp and diagnostic.user_data.lsp.code == code) then
      return diagnostic
    end
  end
end
wait('no diagnostic ' .. code, problem)
local found = problem()
say(('DIAGNOSTIC %d:%d %s'):format(found.lnum + 1, found.col + 1, found.message))

local get_clients = vim.lsp.get_clients or vim.lsp.get_active_clients
local client = get_clients()[1]
vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })
local params = vim.lsp.util.make_range_params(0, client.offset_encoding)
local here = {}
for _, diagnostic in ipairs(vim.diagnostic.get(buffer, { lnum = found.lnum })) do
  table.insert(here, diagnostic.user_data.lsp.code and vim.tbl_extend('force', diagnostic.user_data.lsp, {
    message = diagnostic.message,
    range = {
      start = { line = diagnostic.lnum, character = diagnostic.col },
      ['end'] = { line = diagnostic.end_lnum, character = diagnostic.end_col },
    },
  }))
end
params.context = { diagnostics = here, only = { 'quickfix' } }
local answer = client.request_sync('textDocument/codeAction', params, 20000, buffer)
if not answer or answer.err or not answer.result or not answer.result[1] then die('no code action: ' .. vim.inspect(answer)) end
local action = answer.result[1]
say('ACTION ' .. action.title)
if not action.edit then
  local resolved = client.request_sync('codeAction/resolve', action, 20000, buffer)
  if not resolved or resolved.err then die('not resolved: ' .. vim.inspect(resolved)) end
  action = resolved.result
end
vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
wait('the diagnostic stayed', function() return problem() == nil end)
vim.cmd('silent write')
client.stop()
wait('the server stayed', function() return client.is_stopped() end)
say('DONE')
vim.cmd('qall!')
