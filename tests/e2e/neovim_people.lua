-- Opens $MERROW_FILE with the documented set-up ($MERROW_SNIPPET), runs it, and answers what it asks by the choices in
-- $MERROW_CHOICES, as a person does in the list that the editor shows.
local function say(...) io.stdout:write(table.concat({ ... }, ' ') .. '\n') end
local function die(message) say('FAIL ' .. message); vim.cmd('cquit 1') end
local function wait(what, predicate)
  if not vim.wait(60000, predicate, 20) then die(what) end
end

local choices = vim.split(vim.env.MERROW_CHOICES, ',')
local function chosen(titles)
  local choice = table.remove(choices, 1)
  say('ASKED ' .. table.concat(titles, '|'):gsub('\n', ' / '))
  for index, title in ipairs(titles) do
    if title == choice or title == ('%d. %s'):format(index, choice) then return index end
  end
  die('no choice ' .. tostring(choice))
end
-- Older editors ask in a list of lines, newer ones by vim.ui.select.
vim.fn.inputlist = function(lines)
  local titles = {}
  for index = 3, #lines do table.insert(titles, lines[index]) end
  say('QUESTION ' .. lines[1]:gsub('\n', ' / '))
  return chosen(titles)
end
vim.ui.select = function(items, options, done)
  local titles = {}
  for _, item in ipairs(items) do table.insert(titles, options.format_item and options.format_item(item) or item.title) end
  say('QUESTION ' .. tostring(options.prompt):gsub('\n', ' / '))
  local index = chosen(titles)
  done(items[index], index)
end

local told = {}
local usual = vim.lsp.handlers['window/showMessage']
vim.lsp.handlers['window/showMessage'] = function(problem, result, context, config)
  table.insert(told, result.message)
  return usual(problem, result, context, config)
end

dofile(vim.env.MERROW_SNIPPET)
vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.MERROW_FILE))
local buffer = vim.api.nvim_get_current_buf()
local get_clients = vim.lsp.get_clients or vim.lsp.get_active_clients
wait('no client', function() return get_clients()[1] and get_clients()[1].initialized end)
local client = get_clients()[1]

local answer = {}
client.request('workspace/executeCommand', {
  command = 'merrow.run',
  arguments = { { uri = vim.uri_from_bufnr(buffer), inputs = { PROBLEM = 'A letter.' } } },
}, function(problem, result) answer.problem, answer.result = problem, result end, buffer)
wait('the run did not end', function() return answer.problem or answer.result end)
if answer.problem then die(vim.inspect(answer.problem)) end
say('FIRST ' .. answer.result.status)
wait('the end was not told', function()
  for _, message in ipairs(told) do
    if message:find('letter') then say('TOLD ' .. message:gsub('\n', ' / ')); return true end
  end
end)
client.stop()
wait('the server stayed', function() return client.is_stopped() end)
say('DONE')
vim.cmd('qall!')
