-- Opens $MERROW_FILE with the documented set-up ($MERROW_SNIPPET), runs it to its end, says the progress and the hints that were
-- shown, runs it again, and stops it in the second turn of the second item.
local function say(...) io.stdout:write(table.concat({ ... }, ' ') .. '\n') end
local function die(message) say('FAIL ' .. message); vim.cmd('cquit 1') end
local function wait(what, predicate)
  if not vim.wait(30000, predicate, 20) then die(what) end
end

local said = {}
local usual = vim.lsp.handlers['$/progress']
vim.lsp.handlers['$/progress'] = function(problem, result, context, config)
  if result and result.value and result.value.message then table.insert(said, result.value.message) end
  return usual(problem, result, context, config)
end
local function seen(pattern)
  for _, message in ipairs(said) do
    if message:find(pattern) then return message end
  end
end

dofile(vim.env.MERROW_SNIPPET)
vim.cmd('edit ' .. vim.fn.fnameescape(vim.env.MERROW_FILE))
local buffer = vim.api.nvim_get_current_buf()
local get_clients = vim.lsp.get_clients or vim.lsp.get_active_clients
wait('no client', function() return get_clients()[1] and get_clients()[1].initialized end)
local client = get_clients()[1]
local uri = vim.uri_from_bufnr(buffer)

local function start(subject)
  local answer = {}
  client.request('workspace/executeCommand', {
    command = 'merrow.run',
    arguments = { { uri = uri, inputs = { PROBLEM = subject }, fresh = true } },
  }, function(problem, result) answer.problem, answer.result = problem, result end, buffer)
  return answer
end
local function ended(answer)
  wait('the run did not end', function() return answer.problem or answer.result end)
  if answer.problem then die(vim.inspect(answer.problem)) end
  return answer.result.status
end

say('FIRST ' .. ended(start('The sea')))
for _, message in ipairs(said) do say('PROGRESS ' .. message) end
local last = { line = vim.api.nvim_buf_line_count(buffer), character = 0 }
local params = { textDocument = { uri = uri }, range = { start = { line = 0, character = 0 }, ['end'] = last } }
local hints = client.request_sync('textDocument/inlayHint', params, 20000, buffer)
for _, hint in ipairs((hints and hints.result) or {}) do
  local label = hint.label
  if type(label) == 'table' then
    local parts = {}
    for _, part in ipairs(label) do table.insert(parts, part.value) end
    label = table.concat(parts)
  end
  say(('HINT %d %s'):format(hint.position.line + 1, label))
end

said = {}
local stopped = start('The hills')
wait('the second item has no second turn', function() return seen('LINES%[2%]/ROUNDS%[2%]/POLISH') or seen('LINES%[2%]/ROUNDS, turn 2 of 3') end)
client.request_sync('workspace/executeCommand', { command = 'merrow.cancel', arguments = { { uri = uri } } }, 20000, buffer)
say('SECOND ' .. ended(stopped))
client.stop()
wait('the server stayed', function() return client.is_stopped() end)
say('DONE')
vim.cmd('qall!')
