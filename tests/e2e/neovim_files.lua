-- Opens $MERROW_FILE with editors/neovim ($MERROW_EDITOR), answers :MerrowRun's prompt, and says what is shown and how it is coloured.
local answer = vim.env.MERROW_ANSWER -- Neovim has no empty variables
local function say(...) io.stdout:write(table.concat({ ... }, ' ') .. '\n') end
local function die(message) say('FAIL ' .. message); vim.cmd('cquit 1') end
local function wait(what, predicate)
  if not vim.wait(40000, predicate, 20) then die(what) end
end
vim.opt.runtimepath:prepend(vim.env.MERROW_EDITOR)
vim.cmd('filetype on | syntax on')
vim.cmd('runtime! ftdetect/mermaid.vim')
vim.cmd('runtime plugin/merrow.lua')
local told = 0
vim.notify = function(message) told = told + 1; say('NOTIFY ' .. message) end
vim.ui.input = function(options, done)
  say('PROMPT ' .. options.prompt)
  vim.defer_fn(function() done(answer) end, 100)
end
vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.MERROW_FILE))
local file = vim.api.nvim_get_current_buf()
local clients = vim.lsp.get_clients or vim.lsp.get_active_clients
wait('no client', function() return clients()[1] and clients()[1].initialized end)
say('FILETYPE ' .. vim.bo.filetype)
for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
  for column = 1, #line do
    local name = vim.fn.synIDattr(vim.fn.synID(number, column, 1), 'name')
    if name ~= '' then say(('COLOUR %d %s %s'):format(number, line:sub(column, column), name)) end
  end
end
vim.cmd('MerrowRun')
if answer then
  wait('nothing was shown', function() return vim.api.nvim_get_current_buf() ~= file end)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do say('SHOWN ' .. line) end
else
  vim.wait(1500, function() return false end, 20)
end
if vim.env.MERROW_DATA then
  vim.cmd('buffer ' .. file)
  for _, command in ipairs({ 'MerrowAccept', 'MerrowRevise' }) do
    local before = told
    vim.cmd(command)
    wait(command .. ' says nothing', function() return told > before end)
  end
  vim.cmd('MerrowEvaluate ' .. vim.env.MERROW_DATA .. ' gold=answer metric=exact map:PROBLEM=question')
  wait('no report', function() return vim.api.nvim_buf_get_lines(0, 0, 1, false)[1]:find('^Evaluation') end)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do say('REPORT ' .. line) end
  vim.cmd('close')
  vim.cmd('buffer ' .. file)
  vim.ui.select = function(items, options, done)
    say(('CHOICE %d %s'):format(#items, options.format_item(items[1])))
    done(items[1])
  end
  vim.cmd('MerrowEvaluations')
  wait('no report again', function() return vim.api.nvim_buf_get_lines(0, 0, 1, false)[1]:find('^Evaluation') end)
  vim.cmd('close')
  vim.cmd('buffer ' .. file)
  vim.cmd('MerrowSaveAsCase')
  wait('no cases', function() return vim.api.nvim_buf_get_name(0):find('cases.yaml$') end)
  say('CASE ' .. vim.api.nvim_get_current_line())
end
if vim.env.MERROW_TASK then
  vim.ui.select = function(items, options, done)
    say(('CHOICE %d %s'):format(#items, options.format_item(items[1])))
    done(items[1])
  end
  vim.cmd('MerrowPlan ' .. vim.env.MERROW_TASK)
  wait('no plan', function() return vim.api.nvim_buf_get_name(0):find('plan.mmd$') end)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do say('PLAN ' .. line) end
  vim.bo.modified = false
end
say('DONE')
vim.cmd('qall!')
