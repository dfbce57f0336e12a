-- Opens each file of $MERROW_DEFECTS with the documented set-up ($MERROW_SNIPPET) and applies the preferred action of the menu at its defect.
local function say(...) io.stdout:write(table.concat({ ... }, ' ') .. '\n') end
local function die(message) say('FAIL ' .. message); vim.cmd('cquit 1') end
local function wait(what, predicate)
  if not vim.wait(30000, predicate, 20) then die(what) end
end

dofile(vim.env.MERROW_SNIPPET)
local file = assert(io.open(vim.env.MERROW_DEFECTS))
local defects = vim.json.decode(file:read('*a'))
file:close()

-- The menu that code_action shows: the reader takes the preferred action; Neovim before 0.8 is told of none, and it is the first there.
local chosen
vim.ui.select = function(items, _, on_choice)
  local best = 1
  for number = #items, 1, -1 do
    if (items[number].action or items[number][2]).isPreferred then best = number end
  end
  chosen = (items[best].action or items[best][2]).title
  on_choice(items[best], best)
end

local folder
for _, defect in ipairs(defects) do
  -- Before 0.8 each buffer has a server of its own, which takes its time to start: texts of one folder have their turn in one buffer.
  if folder == vim.fn.fnamemodify(defect.file, ':h') then
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.fn.readfile(defect.file))
  else
    vim.cmd('edit! ' .. vim.fn.fnameescape(defect.file))
    folder = vim.fn.fnamemodify(defect.file, ':h')
  end
  local buffer = vim.api.nvim_get_current_buf()
  local function found(code)
    for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
      if diagnostic.code == code or (diagnostic.user_data and diagnostic.user_data.lsp and diagnostic.user_data.lsp.code == code) then return true end
    end
    return false
  end
  wait('no diagnostic ' .. defect.code .. ' in ' .. defect.file, function() return found(defect.code) end)
  vim.api.nvim_win_set_cursor(0, { defect.line, defect.column - 1 })
  chosen = nil
  vim.lsp.buf.code_action()
  wait(defect.code .. ' stayed in ' .. defect.file, function() return chosen ~= nil and not found(defect.code) end)
  say('DONE ' .. chosen)
  vim.cmd('silent write! ' .. vim.fn.fnameescape(defect.file))
end
local get_clients = vim.lsp.get_clients or vim.lsp.get_active_clients
for _, client in ipairs(get_clients()) do
  client.stop()
  wait('the server stayed', function() return client.is_stopped() end)
end
vim.cmd('qall!')
