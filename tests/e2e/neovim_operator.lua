-- Opens $MERROW_FILE with the documented set-up ($MERROW_SNIPPET), and chooses the code action $MERROW_ACTION on the line that has $MERROW_LINE.
local function say(...) io.stdout:write(table.concat({ ... }, ' ') .. '\n') end
local function die(message) say('FAIL ' .. message); vim.cmd('cquit 1') end
local function wait(what, predicate)
  if not vim.wait(30000, predicate, 20) then die(what) end
end

dofile(vim.env.MERROW_SNIPPET)
vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.MERROW_FILE))
local get_clients = vim.lsp.get_clients or vim.lsp.get_active_clients
wait('no server', function() return get_clients()[1] and get_clients()[1].initialized end)
vim.fn.search(vim.env.MERROW_LINE)
local before = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
-- The menu that code_action shows.
vim.ui.select = function(items, options, chosen)
  for number, item in ipairs(items) do
    local title = (options.format_item and options.format_item(item)) or item[2].title
    if title:find(vim.env.MERROW_ACTION, 1, true) then return chosen(item, number) end
  end
  die('not offered: ' .. vim.inspect(items))
end
-- Neovim before 0.8 takes the context itself, and none says that the menu was opened.
local context = { diagnostics = {}, only = { 'refactor' } }
vim.lsp.buf.code_action(vim.fn.has('nvim-0.8') == 1 and { context = context } or context)
wait('nothing changed', function() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') ~= before end)
vim.cmd('silent write')
say('DONE')
vim.cmd('qall!')
