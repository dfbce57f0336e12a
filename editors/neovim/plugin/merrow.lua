-- Merrow in Neovim, from 0.7 on: starts the language server, runs workflows and asks for their inputs.
--   :MerrowRun [N]    run the workflow, or the Nth diagram of a Markdown file, and show what it gives
--   :MerrowStop       stop the runs and evaluations of this file
--   :MerrowRevise [RUN]   the run of this file that goes on (or RUN) continues as the file is now
--   :MerrowAccept [RUN]   write what the run became into the file, beside what was typed meanwhile
--   :MerrowEvaluate FILE [KEY=VALUE...]   evaluate the workflow on a data set, such as: own.jsonl gold=answer metric=numeric limit=10
--   :MerrowEvaluations                    choose an evaluation of this file and show it
--   :MerrowPlan [TASK]                    plan a workflow for a task (or for the lines of a range), choose a plan, open it as a new file
--   :MerrowPreview [N]                    show the diagram, its findings and its runs in a browser, as they are while you type
--   :MerrowCompile [N]                    show the workflow as a Python program
--   :MerrowSaveAsCase [RUN]               make a case of a run, without RUN of the last one of this file, and open its cases file
local LONGEST_WAIT = 24 * 60 * 60 * 1000 -- milliseconds that a prompt may stay open

local function ask(_, input)
  local answered, value = false, nil
  local prompt = ('%s (%s): '):format(input.title or input.name, input.type or 'Text')
  vim.ui.input({ prompt = prompt, default = input.last or '' }, function(text)
    answered, value = true, text
  end)
  vim.wait(LONGEST_WAIT, function() return answered end, 50)
  return value == nil and vim.NIL or value
end

local function start(args)
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = { merrowInput = true }
  local config = {
    name = 'merrow',
    cmd = { 'merrow', 'serve' },
    root_dir = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(args.buf), ':p:h'),
    capabilities = capabilities,
    handlers = { ['merrow/input'] = ask },
  }
  if vim.lsp.start then
    vim.lsp.start(config, { bufnr = args.buf })
  else -- before 0.8
    vim.lsp.buf_attach_client(args.buf, vim.lsp.start_client(config))
  end
end

-- A client of Merrow: that of a buffer, or any that runs.
local function client_of(buffer)
  for _, client in pairs((vim.lsp.get_clients or vim.lsp.get_active_clients)()) do
    if client.name == 'merrow' and (buffer == nil or vim.lsp.buf_is_attached(buffer, client.id)) then
      return client
    end
  end
end

local function execute(command, argument, done, about)
  local buffer = about or vim.api.nvim_get_current_buf()
  local client = client_of(buffer)
  if client == nil then
    vim.notify('Merrow does not look after this file. Open a *.mmd, *.mermaid, *.md or *.cases.yaml file.', vim.log.levels.ERROR)
    return
  end
  argument.uri = vim.uri_from_bufnr(buffer)
  local request = { command = command, arguments = { argument } }
  client.request('workspace/executeCommand', request, function(problem, result)
    if problem then
      vim.notify('Merrow: ' .. problem.message, vim.log.levels.ERROR)
    elseif result then
      done(result, buffer)
    end
  end, buffer)
end

local function open(lines, filetype)
  vim.cmd('botright new')
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile, vim.bo.filetype = 'nofile', 'wipe', false, filetype
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
  vim.bo.modifiable = false
end

local last_run -- the id of the run that was shown last

local function show(result)
  last_run = result.run
  local lines = { ('# Run %s %s'):format(result.run or '', result.status or ''), '' }
  local function add(text)
    vim.list_extend(lines, vim.split(text, '\n', { plain = true }))
    table.insert(lines, '')
  end
  if type(result.error) == 'string' then
    add(result.error)
  end
  for name, value in pairs(type(result.outputs) == 'table' and result.outputs or {}) do
    add('## ' .. name)
    add(type(value) == 'string' and value or vim.fn.json_encode(value))
  end
  open(lines, 'markdown')
end

-- The report of an evaluation; the server has asked before it cost anything.
local function show_evaluation(id, buffer)
  execute('merrow.showEvaluation', { id = id }, function(report)
    open(vim.split(report.text, '\n', { plain = true }), 'text')
  end, buffer)
end

local NUMBERS = { limit = true, ['repeat'] = true, seed = true, concurrency = true }

local function evaluate(command)
  local argument = { dataset = command.fargs[1], mapping = vim.empty_dict() }
  for _, word in ipairs({ unpack(command.fargs, 2) }) do
    local key, value = word:match('^([%w_:]+)=(.*)$')
    if key == nil then
      vim.notify('Merrow: what follows the data is KEY=VALUE, such as gold=answer.', vim.log.levels.ERROR)
      return
    end
    local input = key:match('^map:(.+)$') -- map:problem=question
    if input then
      argument.mapping[input] = value
    else
      argument[key] = NUMBERS[key] and tonumber(value) or value
    end
  end
  execute('merrow.evaluate', argument, function(ended, buffer) show_evaluation(ended.evaluation, buffer) end)
end

local function evaluations()
  execute('merrow.evaluations', {}, function(found, buffer)
    local function label(one)
      local score = type(one.score) == 'number' and ('%.3f'):format(one.score) or 'no score'
      return ('%s  %s  %s  %s'):format(one.evaluation, one.status, score, vim.fn.fnamemodify(one.dataset, ':t'))
    end
    vim.ui.select(found, { prompt = 'Evaluation', format_item = label }, function(chosen)
      if chosen then
        show_evaluation(chosen.evaluation, buffer)
      end
    end)
  end)
end

local function save_as_case(command)
  local run = command.args ~= '' and command.args or last_run
  if run == nil then
    vim.notify('Merrow: run the workflow first, or name a run.', vim.log.levels.ERROR)
    return
  end
  execute('merrow.saveAsCase', { run = run }, function(saved)
    vim.cmd('edit ' .. vim.fn.fnameescape(vim.uri_to_fname(saved.uri)))
    vim.cmd('checktime')
    vim.api.nvim_win_set_cursor(0, { saved.range.start.line + 1, 0 })
  end)
end

local function open_new(text)
  local name, number = 'plan.mmd', 1
  while vim.loop.fs_stat(name) or vim.fn.bufexists(name) == 1 do
    number = number + 1
    name = ('plan-%d.mmd'):format(number)
  end
  vim.cmd('botright new ' .. name)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text:gsub('\n$', ''), '\n', { plain = true }))
end

local function choose_plan(problem, result)
  if problem then
    vim.notify('Merrow: ' .. problem.message, vim.log.levels.ERROR)
    return
  end
  for _, notice in ipairs(result.notices) do
    vim.notify('Merrow: ' .. notice)
  end
  for _, one in ipairs(result.refused) do
    vim.notify(('Merrow: plan %d can\'t be used: %s'):format(one.candidate, table.concat(one.problems, ' ')), vim.log.levels.WARN)
  end
  local all = type(result.requirements) == 'table' and #result.requirements or nil
  local function label(one)
    local covers = all and ('; covers %d of %d requirements'):format(all - #one.missing, all) or ''
    local by, places, count = one.figures, one.places, #result.plans
    return ('%d. %d tasks in %d steps; expected %d of %d (score %.4g), paper %d, code %d%s'):format(
      one.rank, #one.tasks, one.metrics.depth, places.expected, count, by.expected.score, places.paper, places.code, covers)
  end
  if #result.plans > 0 then
    vim.ui.select(result.plans, { prompt = 'Plan', format_item = label }, function(chosen)
      if chosen then
        open_new(chosen.text)
      end
    end)
  end
end

-- Any client will do, since a task belongs to no file; without one, a new workflow brings it.
local function plan(command)
  local function with_task(task)
    if task == nil or task:match('^%s*$') then
      return
    end
    local client = client_of(nil)
    if client == nil then
      start({ buf = vim.fn.bufadd('plan.mmd') })
      vim.wait(20000, function()
        client = client_of(nil)
        return client ~= nil and client.initialized
      end, 50)
    end
    if client == nil then
      vim.notify('Merrow: the language server does not start; is merrow on the PATH?', vim.log.levels.ERROR)
      return
    end
    client.request('workspace/executeCommand', { command = 'merrow.plan', arguments = { { task = task } } }, choose_plan)
  end
  if command.range > 0 then
    with_task(table.concat(vim.api.nvim_buf_get_lines(0, command.line1 - 1, command.line2, false), '\n'))
  elseif command.args ~= '' then
    with_task(command.args)
  else
    vim.ui.input({ prompt = 'Task: ' }, with_task)
  end
end

-- What became of it is told by the server.
local function revise(command)
  execute('merrow.revise', { run = command.args ~= '' and command.args or nil }, function() end)
end

local function accept(command)
  local run = command.args ~= '' and command.args or nil
  execute('merrow.acceptRevision', { run = run }, function(result)
    if result.accepted then
      vim.notify(result.edits == 0 and 'Merrow: the file has all of it already.' or 'Merrow: the file is what the run became.')
    else
      vim.notify('Merrow: ' .. result.why .. ' Nothing was written.', vim.log.levels.WARN)
      open(vim.split(result.text, '\n', { plain = true }), 'mermaid')
    end
  end)
end

vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
  pattern = { '*.mmd', '*.mermaid', '*.md', '*.cases.yaml' },
  callback = start,
})
vim.api.nvim_create_user_command('MerrowRun', function(command)
  execute('merrow.run', { ask = true, diagram = tonumber(command.args) }, show)
end, { nargs = '?', desc = 'Run the workflow of this file' })
vim.api.nvim_create_user_command('MerrowCompile', function(command)
  execute('merrow.compile', { diagram = tonumber(command.args) }, function(program)
    open(vim.split(program.text, '\n', { plain = true }), 'python')
  end)
end, { nargs = '?', desc = 'Show the workflow of this file as a Python program' })
vim.api.nvim_create_user_command('MerrowPreview', function(command)
  local client = client_of(vim.api.nvim_get_current_buf())
  if client == nil then
    vim.notify('Merrow does not look after this file. Open a *.mmd, *.mermaid or *.md file.', vim.log.levels.ERROR)
    return
  end
  local wanted = { uri = vim.uri_from_bufnr(0), diagram = tonumber(command.args) }
  client.request('merrow/preview', wanted, function(problem, page)
    if problem then
      vim.notify('Merrow: ' .. problem.message, vim.log.levels.ERROR)
    elseif vim.ui and vim.ui.open then -- since 0.10
      vim.ui.open(page.url)
    else
      vim.notify(page.url)
    end
  end, 0)
end, { nargs = '?', desc = 'Show the workflow of this file in a browser' })
vim.api.nvim_create_user_command('MerrowStop', function()
  execute('merrow.cancel', {}, function(result)
    vim.notify(('Merrow: %d stopped'):format(#(result.cancelled or {})))
  end)
end, { desc = 'Stop the runs of this file' })
vim.api.nvim_create_user_command('MerrowRevise', revise, { nargs = '?', desc = 'Apply this file to its run' })
vim.api.nvim_create_user_command('MerrowAccept', accept, { nargs = '?', desc = 'Write what the run became into this file' })
vim.api.nvim_create_user_command('MerrowEvaluate', evaluate, {
  nargs = '+',
  complete = 'file',
  desc = 'Evaluate the workflow of this file on a data set',
})
vim.api.nvim_create_user_command('MerrowPlan', plan, { nargs = '*', range = true, desc = 'Plan a workflow for a task' })
vim.api.nvim_create_user_command('MerrowSaveAsCase', save_as_case, { nargs = '?', desc = 'Make a case of a run' })
vim.api.nvim_create_user_command('MerrowEvaluations', evaluations, { desc = 'Show an evaluation of this file' })
