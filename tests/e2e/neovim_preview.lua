-- Opens $MERROW_FILE with the documented set-up ($MERROW_SNIPPET) and shows it in a browser by the documented command
-- ($MERROW_COMMAND); says the address.
local function say(...) io.stdout:write(table.concat({ ... }, ' ') .. '\n') end
local function die(message) say('FAIL ' .. message); vim.cmd('cquit 1') end
local function wait(what, predicate)
  if not vim.wait(30000, predicate, 20) then die(what) end
end

local address
vim.notify = function(text) address = text end
if vim.ui then vim.ui.open = function(text) address = text end end
dofile(vim.env.MERROW_SNIPPET)
dofile(vim.env.MERROW_COMMAND)
vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.MERROW_FILE))
local get_clients = vim.lsp.get_clients or vim.lsp.get_active_clients
wait('no client', function() return get_clients()[1] and get_clients()[1].initialized end)
vim.cmd('MerrowPreview')
wait('no address', function() return address end)
local page = vim.fn.system({ 'curl', '-s', address })
say('PAGE ' .. (page:find('data-name="flow.mmd"', 1, true) and 'flow.mmd' or page))
say('DONE')
vim.cmd('qall!')
