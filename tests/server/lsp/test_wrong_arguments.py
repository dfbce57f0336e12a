"""What is asked wrongly: each command and request refuses it in one sentence, which says what it must be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.workflows import CHAIN
from tests.server.lsp.editor import MODERN, Editor, Json, ServerError

INVALID = -32602
RUNS: Json = MODERN | {"experimental": {"merrowInput": True, "merrowRuns": True}}
TWO = f"# Two\n\n```mermaid\nflowchart TD\n    X --> Y\n```\n\n```mermaid\n{CHAIN}```\n"

WHY = (
    "it has no PROBLEM or RETURN, and no node names an operator by its class, an `op` key or a label like `Custom<br/>`"
)

WRONG: dict[str, dict[str, list[Any]]] = {
    "merrow.run": {
        "The first argument must be the URI of an open document.": [{"uri": "file:///nowhere.mmd"}, []],
        "The document has 1 diagram; the argument must name one, from 1.": [{"diagram": 0}, {"diagram": 2}],
        "`diagram` must be a whole number from 1.": [{"diagram": True}, {"diagram": "1"}],
        "`inputs` must be an object.": [{"inputs": "2 + 3"}, {"inputs": True}],
        "`outputs` must be an object.": [{"outputs": []}, {"outputs": True}],
        "`model` must be a text.": [{"model": 4}],
        "`budget` must be an object.": [{"budget": 1}],
        "`budget` has the numbers `usd`, `tokens` and `seconds`, none below 0.": [
            {"budget": {"usd": -0.01}},
            {"budget": {"usd": True}},
            {"budget": {"tokens": "9"}},
            {"budget": {"euros": 1}},
            {"budget": {"seconds": 0, "tokens": -1}},
        ],
        "`fresh` must be true or false.": [{"fresh": 1}],
        "`noStore` must be true or false.": [{"noStore": "no"}],
        "`ask` must be true or false.": [{"ask": 0}],
        "`refine` must be an object.": [{"refine": "yes"}, {"refine": 3}],
        "`agreed` must be true or false.": [{"agreed": "yes"}],
        "The argument must be an object, such as {uri, inputs}.": [["URI"]],
    },
    "merrow.runFrom": {
        "`node` must be the id of the node to run from, or `outputs` have values to set.": [{}, {"outputs": {}}],
        "`node` must be a text.": [{"node": 3}],
        '`reuse` must be "same" or "any".': [{"node": "A", "reuse": "some"}],
    },
    "merrow.resume": {
        "`run` must be the id of a run; `merrow/runs` lists them.": [{}],
        "`run` must be a text.": [{"run": 4}],
    },
    "merrow.cancel": {
        "`uri` must be the URI of a document.": [{"uri": 3}],
    },
    "merrow.answer": {
        "merrow.answer needs `run`, a text.": [{}, {"run": 4, "node": "A"}, {"run": ""}],
        "merrow.answer needs `node`, a text.": [{"run": "none"}, {"run": "none", "node": ["A"]}],
        "`path` must be a text.": [{"run": "none", "node": "A", "path": 3}],
        "`value` must be a text, a number, or true or false.": [{"run": "none", "node": "A", "value": ["x"]}],
        "`form` must be an object with the fields of the form.": [{"run": "none", "node": "A", "form": "x"}],
        "`decline` must be true or false.": [{"run": "none", "node": "A", "decline": "yes"}],
        "Give `value`, `form` or `decline`, only one of them.": [
            {"run": "none", "node": "A", "value": "x", "decline": True},
            {"run": "none", "node": "A", "value": False, "form": {}},
        ],
        "The argument must be an object, such as {run, node}.": [["URI"]],
    },
    "merrow.waiting": {
        "merrow.waiting needs `run`, a text.": [{"run": 4}],
        "The uri of merrow.waiting must be a text.": [{"uri": 4}],
        "`limit` must be a whole number from 1 to 1000.": [{"limit": 0}, {"limit": True}, {"limit": 1001}],
    },
    "merrow.revise": {
        "`run` must be the id of a run; `merrow/runs` lists them.": [{"uri": None}],
        "Say which workflow: `uri` of an open document, `text`, or `revision`.": [{"run": "none", "uri": None}],
        "`text` must be a text.": [{"run": "none", "text": 7}],
        "`revision` must be a number from 0.": [{"run": "none", "revision": -1}],
        "`revision` must be the number of a revision.": [
            {"run": "none", "revision": True},
            {"run": "none", "revision": "1"},
        ],
        "file:///nowhere.mmd is not open; open the document first.": [{"run": "none", "uri": "file:///nowhere.mmd"}],
        "The document has 1 diagram; the argument must name one, from 1.": [{"run": "none", "diagram": 2}],
    },
    "merrow.diff": {
        "`old` must be the URI of a document.": [{"old": 7}],
        "file:///nowhere.mmd is not open; open the document first.": [{"old": "file:///nowhere.mmd"}],
        "`uri` must be the URI of a document.": [{"uri": 5}],
        "`finished` must be a list of ids.": [{"finished": "A"}, {"finished": ["A", 1]}],
        "Say which workflow: `uri` of an open document, `text`, or `revision`.": [{"old": "URI", "uri": None}],
    },
    "merrow.decideRevision": {
        "merrow.decideRevision needs `revision`, the number of a revision, and `apply`, true or false.": [
            {"run": "none"},
            {"run": "none", "revision": 1},
            {"run": "none", "apply": True},
        ],
        "`apply` must be true or false.": [{"run": "none", "revision": 1, "apply": 1}],
    },
    "merrow.acceptRevision": {
        "`run` must be the id of a run; `merrow/runs` lists them.": [{"uri": None}],
        "`run` must be a text.": [{"run": 7}],
    },
    "merrow.evaluate": {
        "`dataset` must be a file with data: a URI, or a path from the workflow's folder.": [
            {},
            {"dataset": ""},
            {"dataset": ["a"]},
        ],
        "`reader` must be a text.": [{"dataset": "own.jsonl", "reader": 1}],
        "`mapping` must be an object, such as {problem: question}.": [{"dataset": "own.jsonl", "mapping": "x"}],
        "`mapping` must have texts.": [{"dataset": "own.jsonl", "mapping": {"problem": 3}}],
        "`gold` must be a text.": [{"dataset": "own.jsonl", "gold": 2}],
        "`part` must be a text.": [{"dataset": "own.jsonl", "part": 3}],
        "`limit` must be a whole number from 1.": [
            {"dataset": "own.jsonl", "limit": 0},
            {"dataset": "own.jsonl", "limit": True},
            {"dataset": "own.jsonl", "limit": "1"},
        ],
        "`items` must be a list of ids.": [{"dataset": "own.jsonl", "items": "q1"}],
        "`items` must name at least one id.": [{"dataset": "own.jsonl", "items": []}],
        "`items` must have texts.": [{"dataset": "own.jsonl", "items": [3]}],
        "`gates` must be an object of scores, such as {category: 0.9}.": [{"dataset": "own.jsonl", "gates": 0.9}],
        "`gates` must have scores between 0 and 1.": [
            {"dataset": "own.jsonl", "gates": {"": 1.5}},
            {"dataset": "own.jsonl", "gates": {"": True}},
            {"dataset": "own.jsonl", "gates": {"category": "0.9"}},
        ],
        "`metric` must be a text.": [{"dataset": "own.jsonl", "metric": 5}],
        "`metricOptions` must be an object.": [{"dataset": "own.jsonl", "metricOptions": []}],
        "`repeat` must be a whole number from 1.": [{"dataset": "own.jsonl", "repeat": 0}],
        "`seed` must be a whole number.": [
            {"dataset": "own.jsonl", "seed": "1"},
            {"dataset": "own.jsonl", "seed": True},
        ],
        "`model` must be a text.": [{"dataset": "own.jsonl", "model": 4}],
        "`judgeModel` must be a text.": [{"dataset": "own.jsonl", "judgeModel": 4}],
        "`baseUrl` must be a text.": [{"dataset": "own.jsonl", "baseUrl": 4}],
        "`concurrency` must be a whole number from 1.": [{"dataset": "own.jsonl", "concurrency": 0}],
        "`fresh` must be true or false.": [{"dataset": "own.jsonl", "fresh": 1}],
        "merrow.evaluate needs `resume`, a text.": [{"resume": ""}, {"resume": 7}],
    },
    "merrow.evaluations": {
        "`limit` must be a whole number from 1 to 1000.": [{"limit": 0}, {"limit": 1001}, {"limit": True}],
        "The uri of merrow.evaluations must be a text.": [{"uri": 5}],
    },
    "merrow.showEvaluation": {
        "merrow.showEvaluation needs `id`, a text.": [{}, {"id": ""}],
    },
    "merrow.compareEvaluations": {
        "merrow.compareEvaluations needs `b`, a text.": [{"a": "x"}],
        "merrow.compareEvaluations needs `a`, a text.": [{"b": "x"}],
    },
    "merrow.deleteEvaluation": {
        "merrow.deleteEvaluation needs `id`, a text.": [{}],
    },
    "merrow.rateAnswer": {
        "merrow.rateAnswer needs `evaluation`, a text.": [{"item": "q"}],
        "merrow.rateAnswer needs `item`, a text.": [{"evaluation": "e"}],
        "`repeat` must be a whole number from 0.": [
            {"evaluation": "e", "item": "q", "repeat": -1},
            {"evaluation": "e", "item": "q", "repeat": True},
            {"evaluation": "e", "item": "q", "repeat": "0"},
        ],
        "`verdict` must be good, bad or null.": [{"evaluation": "e", "item": "q", "verdict": "fine"}],
        "`note` must be a text of at most 2,000 characters.": [
            {"evaluation": "e", "item": "q", "verdict": "good", "note": 5},
            {"evaluation": "e", "item": "q", "verdict": "good", "note": "x" * 2001},
        ],
    },
    "merrow/evaluation": {
        "merrow/evaluation needs `id`, a text.": [{}],
        "merrow/evaluation needs `item`, a text.": [{"id": "e", "item": 3}, {"id": "e", "item": ""}],
    },
    "merrow/results": {
        "merrow/results needs `id`, a text.": [{"kind": "evaluation"}],
        "`kind` must be one of evaluation, batch, comparison, search.": [{"id": "e"}, {"id": "e", "kind": "run"}],
        "merrow/results needs `other`, a text.": [{"id": "e", "kind": "comparison"}],
        "`offset` must be a whole number from 0.": [{"id": "e", "kind": "batch", "offset": -1}],
        "`limit` must be a whole number from 1 to 200.": [
            {"id": "e", "kind": "batch", "limit": 0},
            {"id": "e", "kind": "batch", "limit": 201},
        ],
        "`sort` must be a text.": [{"id": "e", "kind": "batch", "sort": 1}],
        "`descending` must be true or false.": [{"id": "e", "kind": "batch", "descending": 1}],
        "`verdicts` must be a list of texts.": [
            {"id": "e", "kind": "batch", "verdicts": "right"},
            {"id": "e", "kind": "batch", "verdicts": [1]},
        ],
        "`field` must be an object, such as {name: category, gold: billing}.": [
            {"id": "e", "kind": "batch", "field": "category"},
            {"id": "e", "kind": "batch", "field": {"gold": "billing"}},
            {"id": "e", "kind": "batch", "field": {"name": "category", "read": 3}},
        ],
    },
    "merrow/result": {"merrow/result needs `key`, a text.": [{"id": "e", "kind": "batch"}]},
    "merrow.applyCandidate": {
        "merrow.applyCandidate needs `id`, a text.": [{"candidate": 1}],
        "`candidate` must be a whole number from 0.": [
            {"id": "s"},
            {"id": "s", "candidate": -1},
            {"id": "s", "candidate": True},
        ],
    },
    "merrow.optimize": {
        "`strategy` must be one of guided, evolve, climb, random, mcts.": [
            {"dataset": "own.jsonl", "strategy": "magic"}
        ],
        "`strategy` must be a text.": [{"dataset": "own.jsonl", "strategy": 3}],
        "`proposer` must be one of moves, model, both.": [{"dataset": "own.jsonl", "proposer": "me"}],
        "`objective` must be one of score, pareto.": [{"dataset": "own.jsonl", "objective": "fun"}],
        "`optimizerModel` must be a text.": [{"dataset": "own.jsonl", "optimizerModel": 4}],
        "`goal` must be a text.": [{"dataset": "own.jsonl", "goal": 4}],
        "`jobs` must be a whole number from 1.": [
            {"dataset": "own.jsonl", "jobs": 0},
            {"dataset": "own.jsonl", "jobs": True},
        ],
        "`from` must be a text.": [{"dataset": "own.jsonl", "from": 7}],
        "`evaluations` must be a whole number from 1.": [{"dataset": "own.jsonl", "evaluations": 0}],
        "`heldOut` must be a whole number from 1.": [{"dataset": "own.jsonl", "heldOut": 0}],
        "`small` must be true or false.": [{"dataset": "own.jsonl", "small": "yes"}],
        "`patience` must be a whole number from 1.": [{"dataset": "own.jsonl", "patience": 0}],
        "`maxNodes` must be a whole number from 1.": [{"dataset": "own.jsonl", "maxNodes": 0}],
        "`maxCostPerItem` must be above 0.": [
            {"dataset": "own.jsonl", "maxCostPerItem": 0},
            {"dataset": "own.jsonl", "maxCostPerItem": -1},
        ],
        "`maxCostPerItem` must be a number of US dollars.": [{"dataset": "own.jsonl", "maxCostPerItem": "1"}],
        "`sure` must be between 0 and 1.": [{"dataset": "own.jsonl", "sure": 0}, {"dataset": "own.jsonl", "sure": 1}],
        "`sure` must be a number between 0 and 1.": [
            {"dataset": "own.jsonl", "sure": "x"},
            {"dataset": "own.jsonl", "sure": True},
        ],
        "`constants` must be an object of numbers.": [
            {"dataset": "own.jsonl", "constants": []},
            {"dataset": "own.jsonl", "constants": {"alpha": "x"}},
            {"dataset": "own.jsonl", "constants": {"alpha": True}},
        ],
        "`out` must be a text.": [{"dataset": "own.jsonl", "out": 5}],
        "merrow.optimize needs `resume`, a text.": [{"resume": 3}],
    },
    "merrow.optimizations": {
        "`limit` must be a whole number from 1 to 1000.": [{"limit": 0}],
    },
    "merrow.optimizationReport": {
        "merrow.optimizationReport needs `id`, a text.": [{}],
    },
    "merrow.showBetter": {
        "merrow.showBetter needs `id`, a text.": [{}],
        "`candidate` must be a whole number from 0.": [{"id": "s", "candidate": "1"}, {"id": "s", "candidate": -1}],
    },
    "merrow.deleteOptimization": {
        "merrow.deleteOptimization needs `id`, a text.": [{}],
    },
    "merrow.suggest": {
        "`n` must be a whole number from 1 to 16.": [{"n": 0}, {"n": 17}, {"n": True}, {"n": "4"}],
        "`goal` must be a text.": [{"goal": 3}],
        "`optimizerModel` must be a text.": [{"optimizerModel": 4}],
        "`judgeModel` must be a text.": [{"judgeModel": 4}],
        "`baseUrl` must be a text.": [{"baseUrl": 4}],
        "`seed` must be a whole number.": [{"seed": "1"}, {"seed": False}],
        "`version` must be the version of the document.": [{"version": "1"}, {"version": True}],
        "`dryRun` must be true or false.": [{"dryRun": 1}],
        "`preview` must be true or false.": [{"preview": 1}],
        "`range` must be a range, {start, end}.": [{"range": "x"}, {"range": {"start": {"line": 0, "character": 0}}}],
        "The argument must be an object, such as {uri, inputs}.": [["URI"]],
    },
    "merrow.applySuggestion": {
        "merrow.applySuggestion takes an object with the `id` of a suggestion.": [{}, {"id": 4}, [], ["x"]],
    },
    "merrow.plan": {
        "`task` must be the task to plan, in words.": [{}, {"task": "  "}],
        "`task` must be a text.": [{"task": 3}],
        "`task` has 100,001 characters; at most 100,000 can be planned.": [{"task": "x" * 100_001}],
        "`n` must be a whole number from 1 to 50.": [
            {"task": "t", "n": 0},
            {"task": "t", "n": 51},
            {"task": "t", "n": True},
        ],
        "`maxNodes` must be a whole number from 1 to 500.": [
            {"task": "t", "maxNodes": 0},
            {"task": "t", "maxNodes": 501},
        ],
        "`maxAgents` must be a whole number from 1.": [{"task": "t", "maxAgents": 0}],
        "`rank` must be one of expected, paper, code.": [{"task": "t", "rank": "best"}],
        "`form` must be one of json, mermaid.": [{"task": "t", "form": "yaml"}],
        "`roles` must be a list of texts.": [{"task": "t", "roles": "writer"}, {"task": "t", "roles": [1]}],
        "`judge` must be true or false.": [{"task": "t", "judge": 1}],
        "`fresh` must be true or false.": [{"task": "t", "fresh": 1}],
        "`dryRun` must be true or false.": [{"task": "t", "dryRun": 1}],
        "`optimizerModel` must be a text.": [{"task": "t", "optimizerModel": 1}],
        "`judgeModel` must be a text.": [{"task": "t", "judgeModel": 1}],
        "`model` must be a text.": [{"task": "t", "model": 1}],
        "`baseUrl` must be a text.": [{"task": "t", "baseUrl": 1}],
        "`uri` must be a text.": [{"task": "t", "uri": 1}],
    },
    "merrow.cases": {
        "`uri` must be the URI of a cases file or a workflow.": [{"uri": None}, {"uri": 4}, []],
    },
    "merrow.test": {
        "`uri` must be the URI of a cases file or a workflow.": [{"uri": 3}, []],
        "`ids` must be a list of ids.": [{"ids": "a"}],
        "`ids` must be a list of texts.": [{"ids": [1]}],
        "`record` must be true or false.": [{"record": 1}],
        "`model` must be a text.": [{"model": 1}],
        "`baseUrl` must be a text.": [{"baseUrl": 1}],
    },
    "merrow.saveAsCase": {
        "merrow.saveAsCase needs `run`, a text.": [{}, {"run": ""}, []],
        "`uri` must be the URI of a cases file or a workflow.": [
            {"run": "r", "uri": 5},
            {"run": "r", "uri": "untitled:x"},
        ],
    },
    "merrow.runBoth": {
        "`id` must be that of a mutation; `merrow.mutations` lists them.": [{}],
        "`id` must be a text.": [{"id": 4}],
    },
    "merrow.repair": {
        "The first argument must be the URI of an open document.": [{"uri": "file:///nowhere.mmd"}],
        "The document has 1 diagram; the argument must name one, from 1.": [{"diagram": 2}],
        "The argument must be an object with the `uri` of a document.": [[]],
    },
    "merrow.compile": {
        "The first argument must be the URI of an open document.": [{"uri": 5}],
        "The document has 1 diagram; the argument must name one, from 1.": [{"diagram": 2}],
        "The argument must be an object with the `uri` of a document.": [[]],
    },
    "merrow.mutate": {
        "The first argument must be the URI of an open document.": [{"uri": "file:///nowhere.mmd"}, [{}]],
        "The seed must be a whole number.": [{"seed": "one"}, {"seed": 1.5}, ["URI", "one"]],
        "The id of a mutation must be a text.": [{"id": 7}, ["URI", 1, 2]],
        "The operator must be one of substitution, addition, rewiring, deletion, subgraph.": [
            {"operator": "evolution"},
            {"operator": ["x"]},
        ],
        "The document has 1 diagram; the argument must name one, from 1.": [
            {"diagram": 2},
            {"diagram": -1},
            ["URI", 1, None, 2],
        ],
    },
    "merrow.mutations": {
        "The first argument must be the URI of an open document.": [{"uri": 5}],
        "`search` must be a text.": [{"search": 3}],
        "The workflow has no node NOBODY.": [{"node": "NOBODY"}],
        "The workflow has no node 3.": [{"node": 3}],
        "The range must be one of the document, in the diagram.": [
            {"range": 3},
            {"range": {"start": {"line": 1}}},
            {"range": {"start": {"line": 1, "character": -1}, "end": {"line": 1, "character": 1}}},
            {"range": {"start": {"line": -1, "character": 0}, "end": {"line": 1, "character": 1}}},
            {"range": {"start": {"line": 1, "character": 0}, "end": {"line": "1", "character": 1}}},
        ],
        "The operator must be one of substitution, addition, rewiring, deletion, subgraph.": [
            {"operator": "evolution"}
        ],
        "`most` must be a whole number from 1.": [{"most": 0}, {"most": True}, {"most": "3"}],
        "`page` must be a whole number from 1.": [{"page": 0}],
        "The document has 1 diagram; the argument must name one, from 1.": [{"diagram": 2}],
        "The `cursor` must be that of the page before.": [
            {"cursor": 7},
            {"cursor": "1.2"},
            {"cursor": "a.b.c"},
            {"cursor": "1.123456789012.0"},
        ],
        "The argument must be an object with the `uri` of an open document.": [["URI"]],
    },
    "merrow/setKey": {
        "merrow/setKey needs `origin`, an address, and `key`, a text or null.": [{}, {"origin": "http://x", "key": 5}],
        "The origin is not an address such as `https://host/v1`; correct it where it is set.": [
            {"origin": "no address", "key": "k"}
        ],
    },
    "merrow/answering": {
        "merrow/answering takes `uri`, a text, `diagram`, a whole number, and `model`, a text.": [
            {"uri": 5},
            {"diagram": "1"},
            {"model": 1},
        ],
    },
    "merrow/runs": {
        "`limit` must be a whole number from 1 to 1000.": [{"limit": 0}],
        "The uri of merrow/runs must be a text.": [{"uri": 5}],
    },
    "merrow/show": {
        "merrow/show needs `run`, a text.": [{}],
        "merrow/show needs `node`, a text.": [{"run": "r", "node": 3}],
    },
    "merrow/deleteRun": {
        "merrow/deleteRun needs `run`, a text.": [{}],
    },
    "merrow/compareRuns": {
        "merrow/compareRuns needs `b`, a text.": [{"a": "x"}],
        "merrow/compareRuns needs `a`, a text.": [{"b": "x"}],
    },
    "merrow/revision": {
        "merrow/revision needs `run`, a text.": [{}],
        "merrow/revision needs `revision`, a number from 0.": [
            {"run": "none"},
            {"run": "none", "revision": -1},
            {"run": "none", "revision": True},
        ],
    },
    "merrow/inputSets": {
        "merrow/inputSets needs `text`, that of a file of input sets.": [{}, {"text": 4}],
    },
    "merrow/graph": {
        "merrow/graph needs a textDocument with a uri.": [None, {}, {"textDocument": {}}, {"textDocument": 3}],
        "The diagram of merrow/graph must be a number from 1.": [
            {"textDocument": {"uri": "URI"}, "diagram": "1"},
            {"textDocument": {"uri": "URI"}, "diagram": True},
        ],
    },
    "merrow.fix": {
        "The first argument must be the URI of an open document.": [[], [4], ["untitled:none"], [None, {}]],
    },
    "merrow.metrics": {
        "The first argument must be the URI of an open document.": [[], [5], ["untitled:none"], [None, {}]],
        "The document has 1 diagram; the argument must name one, from 1.": [["URI", 2], ["URI", 0], ["URI", "1"]],
    },
    "merrow.graph": {
        "The first argument must be the URI of an open document.": [[], [5], ["untitled:none"], [None, {}]],
        "The document has 2 diagrams; the argument must name one, from 1.": [["TWO", 3]],
    },
    "merrow.showMetrics": {
        "The arguments must be the URI of an open document and the number of a workflow in it.": [
            [],
            [5, 1],
            ["file:///nowhere.mmd"],
            ["URI", 0],
            ["URI", 2],
            ["URI", "1"],
            ["TWO"],
            ["TWO", 1],
            ["TWO", 3],
        ],
    },
    "merrow.explain": {
        "The first argument must be the code or the name of a rule, such as MW105.": [[], ["MW000"], [105], [None, {}]],
    },
    "merrow.moreMutations": {
        "The argument must be an object with the `uri` of an open document.": [[]],
    },
    "merrow.crossover": {
        "The second argument must be the other workflow: a URI or a path.": [["URI", ""], ["URI", 4]],
        "The other workflow, \u2400, can't be read; name an open document or a file.": [["URI", "\0"]],
        "The other workflow, a\u241b[31m\ufffdb, can't be read; name an open document or a file.": [
            ["URI", "a\x1b[31m\u202eb"]
        ],
        "The other workflow, none.mmd, can't be read; name an open document or a file.": [["URI", "none.mmd"]],
        "The seed must be a whole number.": [["URI", "URI", "one"]],
        "The document has 1 diagram; the argument must name one, from 1.": [["URI", "URI", 1, 2]],
        f"The diagram is not a workflow: {WHY}.": [["URI", "TWO"]],
    },
}
"""By command or request: by sentence what it answers. An object is the one argument of a command, which also gets the `uri` of
an open workflow where it has none; a list are all arguments. URI and TWO stand for a workflow and a Markdown file with two.
"""


@pytest.mark.parametrize("name", WRONG)
def test_what_is_asked_wrongly_is_refused_in_a_sentence(
    name: str, open_editor: Callable[..., Editor], tmp_path: Path
) -> None:
    (tmp_path / "own.jsonl").write_text(json.dumps({"id": "q", "problem": "x", "answer": "1"}))
    editor = open_editor(RUNS, tmp_path)
    uris = {"URI": editor.open(CHAIN), "TWO": editor.open(TWO, "two.md")}

    def meant(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: meant(one) for key, one in value.items()}
        return uris.get(value, value) if isinstance(value, str) else value

    for sentence, wrong in WRONG[name].items():
        for one in wrong:
            if "/" in name:
                asking = editor.begin(name, meant(one))
            else:
                arguments = (
                    [{"uri": uris["URI"], **meant(one)}] if isinstance(one, dict) else [meant(own) for own in one]
                )
                asking = editor.begin("workspace/executeCommand", {"command": name, "arguments": arguments})
            with pytest.raises(ServerError) as caught:
                editor.result(asking)
            assert (caught.value.code, caught.value.message) == (INVALID, sentence), one
    asked = {message["method"] for message in editor.requests}
    assert not asked & {"window/showMessageRequest", "window/workDoneProgress/create", "workspace/applyEdit"}
