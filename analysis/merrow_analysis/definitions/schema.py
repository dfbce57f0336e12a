"""What the ``workflow:`` block and the metadata of nodes and edges may say: JSON Schema, draft 2020-12, as data.

`schema` is published for editors; the same fragments are what `definitions.validation` checks values against, so that
the two can't disagree. Every fragment has a ``description`` for completion and hover.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from merrow_analysis.definitions.durations import DURATION, LONGEST_SECONDS
from merrow_analysis.definitions.operators import DEFAULT_STEPS, MOST_STEPS
from merrow_analysis.definitions.validator_schema import VALIDATION_KEYS, VALIDATORS

Fragment = Mapping[str, Any]

LANGUAGE_VERSION = 1
"""The newest version of the workflow language that this Merrow knows."""

DRAFT = "https://json-schema.org/draft/2020-12/schema"

MEMORY_TEXT = r"\{[ \t]*(last|tokens)[ \t]*:[ \t]*([1-9][0-9]{0,8})[ \t]*\}"
"""A mapping of `memory:` as text: how a label says it, and metadata on one line, which Mermaid ends at a bare brace."""

_MEMORY: Fragment = {
    "description": "Which results of earlier steps the node sees beside its inputs: none, all, those of its own agent, the last"
    " n, the latest n tokens, or a summary of all.",
    "default": "none",
    "anyOf": [
        {"enum": ["none", "all", "summary", "agent"]},
        {
            "type": "string",
            "pattern": f"^{MEMORY_TEXT}$",
            "examples": ["{last: 3}", "{tokens: 2000}"],
            "description": "The last n results, or n tokens of the latest, as one text: in quotes in metadata.",
        },
        {
            "type": "object",
            "properties": {
                "last": {"type": "integer", "minimum": 1, "description": "How many results, counted from the latest."}
            },
            "required": ["last"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "tokens": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "At most this many tokens of the latest results.",
                }
            },
            "required": ["tokens"],
            "additionalProperties": False,
        },
    ],
}

AIMS: Fragment = {
    "type": "boolean",
    "default": False,
    "description": "Adds to the node's prompt what the steps that read its result are asked to do. It is only advice: editing"
    " those steps does not make the node run again.",
}

CALL_KEYS: Mapping[str, Fragment] = {
    "model": {"type": "string", "minLength": 1, "description": "The model that answers, such as gpt-4o-mini."},
    "temperature": {
        "type": "number",
        "minimum": 0,
        "maximum": 2,
        "default": 0,
        "description": "How much answers vary: 0 is always the likeliest one.",
    },
    "max_tokens": {"type": "integer", "minimum": 1, "description": "The longest answer, in tokens."},
    "seed": {"type": "integer", "description": "Asks the model for the same answer to the same question."},
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds after which a call is given up."},
    "retries": {"type": "integer", "minimum": 0, "description": "How often a failed call is tried again."},
    "on_error": {
        "enum": ["fail", "skip", "default"],
        "default": "fail",
        "description": "When the node fails: the run fails, the node is skipped, or `default` is its output.",
    },
    "memory": _MEMORY,
}
"""Keys that a workflow sets for all its nodes and a node for itself."""

NODE_KEYS: Mapping[str, Fragment] = {
    "op": {"type": "string", "minLength": 1, "description": "The node's operator, such as Custom."},
    "role": {"type": "string", "minLength": 1, "description": "The name of the node's prompt; case does not count."},
    "prompt": {
        "type": "string",
        "minLength": 1,
        "description": "The node's prompt itself; it takes precedence over a role's.",
    },
    "template": {
        "type": "boolean",
        "default": False,
        "description": "Whether the node's prompt has variables: `{port}` is what an input port is given, `{{` a brace.",
    },
    **CALL_KEYS,
    "default": {
        "description": "The output when the node fails and `on_error` is default; an input's value when none is given."
    },
    "samples": {
        "type": "integer",
        "minimum": 1,
        "maximum": 10_000,
        "description": "Runs the node this many times; its outputs become lists.",
    },
    "returns": {
        "type": "string",
        "minLength": 1,
        "description": "The type that the answer is promised to be, such as Plan.",
    },
    "format": {
        "anyOf": [{"type": "string", "minLength": 1}, {"type": "object"}],
        "description": "How the model is to answer: a word such as json, or a JSON Schema.",
    },
    "agent": {
        "type": "string",
        "minLength": 1,
        "description": "The agent that carries out the node, by its name under `agents` in the front matter; its settings are the"
        " node's defaults.",
    },
    "aims": AIMS,
    **VALIDATION_KEYS,
    "locked": {
        "type": "boolean",
        "default": False,
        "description": "Whether a model that changes the workflow while it runs (`refine`) must leave the node as it is.",
    },
    "turns": {
        "type": "integer",
        "minimum": 1,
        "description": "At the step where a Loop without a box begins: how many turns it makes at most (3).",
    },
}
"""Keys of every node."""

OPERATOR_KEYS: Mapping[str, Fragment] = {
    "instruction": {"type": "string", "minLength": 1, "description": "The name of the prompt, as `role` is elsewhere."},
    "analysis": {"type": "string", "description": "An analysis to work by, in place of one that arrives by an edge."},
    "if": {"type": ["string", "boolean"], "description": "What decides: an expression over the named inputs."},
    "ask": {
        "type": "string",
        "minLength": 1,
        "description": "What is asked. At a Decision a model chooses the case; at a Human a person answers. Both see all that"
        " arrives at `input`.",
    },
    "deadline": {
        "anyOf": [
            {
                "title": f"a number of seconds above 0 and at most {LONGEST_SECONDS} (100 years)",
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": LONGEST_SECONDS,
            },
            {
                "title": "a length of time such as 90m or 2d (at most five digits)",
                "type": "string",
                "pattern": f"^{DURATION}$",
                "examples": ["2d", "90m"],
            },
        ],
        "description": "How long a person has for the answer, counted from asking: seconds, or a number with s, m, h, d or w,"
        " such as 90m or 2d. After that the node fails, and `on_error` says what follows.",
    },
    "tool": {
        "type": "string",
        "minLength": 1,
        "description": "The tool to use, by its server and name, such as web.search. `merrow.tools.json` says what it takes and"
        " gives.",
    },
    "tools": {
        "type": "string",
        "minLength": 1,
        "examples": ["web.search, web.fetch, person"],
        "description": "The tools that the agent may use, in quotes: `web.search, web.fetch`. With `person` it can ask a person.",
    },
    "max": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_STEPS,
        "default": DEFAULT_STEPS,
        "description": "In how many steps the agent may use tools. After the last one it must answer.",
    },
    "with": {
        "type": "string",
        "minLength": 1,
        "examples": ["limit: 3, grade: used"],
        "description": "Constants for parameters of the tool, in place of edges: `limit: 3, grade: used`, in quotes.",
    },
    "env": {
        "type": "string",
        "minLength": 1,
        "description": "The environment to act in: textcraft, or one of `environments` in the front matter.",
    },
    "store": {
        "type": "string",
        "minLength": 1,
        "description": "The store that is searched or added to, one of `stores` in the front matter.",
    },
    "k": {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "default": 5,
        "description": "How many documents are found at most.",
    },
    "by": {
        "type": "string",
        "minLength": 1,
        "description": "The field of a record by which the best is selected: a Number, the highest one first. At a Retrieve:"
        " words or embedding.",
    },
    "keep": {"type": "integer", "minimum": 1, "default": 1, "description": "How many items are selected at most."},
    "tests": {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "Visible tests, in place of those that arrive by an edge.",
    },
    "on_no_tests": {
        "enum": ["fail", "pass"],
        "default": "fail",
        "description": "The result when there is no test at all.",
    },
    "workflow": {"type": "string", "minLength": 1, "description": "The workflow file to run, from this file's folder."},
    "depth": {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "default": 3,
        "description": "How many calls of this node may run inside each other.",
    },
    "how": {
        "enum": ["model", "concat", "files"],
        "default": "model",
        "description": "How results are put together: by a model, one below the other, or as the files that are in them.",
    },
    "stop_after": {
        "type": "integer",
        "minimum": 1,
        "description": "How many nodes of a planned workflow are run before the Call stops and says what is finished.",
    },
}
"""Keys that single operators have beyond those of every node."""

EMBEDDING = "embedding"
RETRIEVE_KEYS: Mapping[str, Fragment] = {
    "by": {
        "enum": ["words", EMBEDDING],
        "default": "words",
        "description": "How documents are found: by the words of the query, or by embedding, where a model makes numbers of texts"
        " that are alike where their meanings are. `model` names the model.",
    },
}
"""Keys that mean something else at a Retrieve than elsewhere."""

INTERFACE_KEYS: Mapping[str, Fragment] = {
    "op": NODE_KEYS["op"],
    "type": {
        "type": "string",
        "minLength": 1,
        "description": "The type of what an input gives; Text if none is given.",
    },
    "default": NODE_KEYS["default"],
}
"""Keys of input nodes."""

OUTPUT_KEYS: Mapping[str, Fragment] = {**INTERFACE_KEYS, **VALIDATION_KEYS}
"""Keys of output nodes."""

_TEXT: Fragment = {"type": "string"}
_SIZE: Fragment = {"type": ["number", "string"]}

MERMAID_NODE_KEYS: Mapping[str, Fragment] = {
    "shape": {**_TEXT, "description": "Mermaid: the node's shape."},
    "label": {"description": "Mermaid: the node's label."},
    "labelType": {**_TEXT, "description": "Mermaid: text, string or markdown."},
    "icon": {**_TEXT, "description": "Mermaid: an icon in place of the shape."},
    "form": {**_TEXT, "description": "Mermaid: the frame of an icon."},
    "pos": {**_TEXT, "description": "Mermaid: where the label of an icon or image is placed."},
    "img": {**_TEXT, "description": "Mermaid: the address of an image in place of the shape."},
    "w": {**_SIZE, "description": "Mermaid: the width of an image or icon."},
    "h": {**_SIZE, "description": "Mermaid: the height of an image or icon."},
    "constraint": {"description": "Mermaid: whether an image keeps its proportions."},
    "laneRole": {"description": "Mermaid: used by its layout."},
    "laneIndex": {"description": "Mermaid: used by its layout."},
    "drawnExtent": {"description": "Mermaid: used by its layout."},
}
"""Keys of nodes that Mermaid itself reads; Merrow leaves them alone."""

EDGE_KEYS: Mapping[str, Fragment] = {
    "animate": {"description": "Mermaid: whether the edge moves."},
    "animation": {"description": "Mermaid: how fast the edge moves."},
    "curve": {"description": "Mermaid: how the edge bends."},
    "step": {"description": "Mermaid: the number of the edge in a sequence."},
    "label": {"description": "Mermaid: the label of the edge."},
    "labelType": MERMAID_NODE_KEYS["labelType"],
}
"""Keys of an edge's metadata (``e1@{ animate: true }``): all of them Mermaid's."""

SUBGRAPH_KEYS: Mapping[str, Fragment] = {
    "op": {"enum": ["Loop", "Map"], "description": "What the subgraph is: its nodes run in turns, or once an item."},
    "view": {"enum": ["collapsed"], "description": "Mermaid: draws the subgraph as one box."},
}
"""Keys of any subgraph's metadata (``votes@{ view: collapsed }``), below its ``end``."""

_BUDGET: Fragment = {
    "type": "object",
    "description": "What a run, or a Loop, may cost at most; it ends when one of these is used up.",
    "properties": {
        "usd": {"type": "number", "exclusiveMinimum": 0, "description": "US dollars."},
        "tokens": {"type": "integer", "minimum": 1, "description": "Tokens, of questions and answers."},
        "seconds": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds from start to end."},
    },
    "additionalProperties": False,
}

MOST_TURNS = 1_000
MOST_ITEMS = 10_000
MOST_PARALLEL = 1_000

LOOP_KEYS: Mapping[str, Fragment] = {
    **SUBGRAPH_KEYS,
    "max": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_TURNS,
        "default": 3,
        "description": "How many turns at most.",
    },
    "until": {
        "type": "string",
        "minLength": 1,
        "description": "Ends the Loop after the turn in which it holds: an expression over outputs of nodes that run in"
        " every turn, such as `REVIEW.result`.",
    },
    "best": {
        "type": "string",
        "minLength": 1,
        "description": "A Number such as `JUDGE.score`: where the turns run out, the edges out carry the values of the turn with"
        " the highest one.",
    },
    "budget": _BUDGET,
    "on_error": {
        "enum": ["fail", "skip"],
        "default": "fail",
        "description": "When a node in it fails: the run fails, or the Loop is skipped.",
    },
}
"""Keys of a Loop, in its title or its metadata."""

MAP_KEYS: Mapping[str, Fragment] = {
    **SUBGRAPH_KEYS,
    "parallel": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_PARALLEL,
        "description": "How many items run at once; the limit of the endpoint if none is given.",
    },
    "max": {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_ITEMS,
        "default": 100,
        "description": "How many items at most; a longer list fails.",
    },
    "min": {
        "type": "integer",
        "minimum": 0,
        "maximum": MOST_ITEMS,
        "default": 1,
        "description": "How many results at least; fewer fail.",
    },
    "on_error": {
        "enum": ["fail", "skip", "default"],
        "default": "fail",
        "description": "When an item fails: the run fails, the item is left out of all results, or the `default` of the node"
        " takes its place.",
    },
}
"""Keys of a Map, in its title or its metadata."""

_NAMES: Fragment = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string", "minLength": 1}}]
}
_PORTS: Fragment = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            {"type": "string", "minLength": 1},
            {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "minLength": 1},
                    "required": {"type": "boolean", "default": True},
                    "many": {"type": "boolean", "default": False},
                },
                "required": ["type"],
                "additionalProperties": False,
            },
        ]
    },
}
_TEMPLATE: Fragment = {"type": "boolean", "default": False}
_PROMPT_WITH_VARIABLES: Fragment = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The prompt."},
        "template": {**_TEMPLATE, "description": "Whether `{port}` in the text is what an input port is given."},
    },
    "required": ["text"],
    "additionalProperties": False,
}
OPERATORS: Fragment = {
    "type": "object",
    "description": "Operators of this workflow, by name.",
    "additionalProperties": {
        "type": "object",
        "properties": {
            "inputs": {**_PORTS, "description": "Input ports and their types; `name?` for one that may stay empty."},
            "outputs": {**_PORTS, "description": "Output ports and their types; the first is the default one."},
            "prompt": {"type": "string", "description": "The prompt of nodes with this operator."},
            "template": {**_TEMPLATE, "description": "Whether `{port}` in the prompt is what an input port is given."},
            "note": {"type": "string", "description": "What the operator does, in a sentence."},
        },
        "required": ["outputs"],
        "additionalProperties": False,
    },
}
AGENT_KEYS: Mapping[str, Fragment] = {
    "role": {
        "type": "string",
        "minLength": 1,
        "description": "The role of the agent, such as UI designer; it is written at the start of every prompt.",
    },
    "prompt": {
        "type": "string",
        "minLength": 1,
        "description": "Instructions for all nodes of the agent, written before each node's own prompt.",
    },
    "model": CALL_KEYS["model"],
    "temperature": CALL_KEYS["temperature"],
    "instances": {
        "type": "integer",
        "minimum": 1,
        "description": "How many nodes of the agent may run at the same time; without it, all that are ready.",
    },
}
"""Keys of an agent."""

AGENTS: Fragment = {
    "type": "object",
    "description": "The agents of this workflow, by name. A node chooses one with `agent:`.",
    "additionalProperties": {
        "type": "object",
        "properties": AGENT_KEYS,
        "required": ["role"],
        "additionalProperties": False,
    },
}
REDO: Fragment = {
    "type": "object",
    "description": "How often nodes are made again, by id: `{T3: 1}` has T3 done once more, past what is known of it. An item "
    "of a Map is written with its number, `PARTS[3]/PART: 1`; in a Loop a node is made again in every turn.",
    "additionalProperties": {"type": "integer", "minimum": 0},
}
_REFINE_KEYS: Mapping[str, Fragment] = {
    "every": {
        "type": "integer",
        "minimum": 0,
        "default": 3,
        "description": "After how many finished nodes the model looks at the workflow again; 0 is never.",
    },
    "on": {
        "type": "array",
        "items": {"enum": ["failure", "invalid"]},
        "description": "At what else it looks: a node that failed, or an output that no validator accepts.",
    },
    "max": {"type": "integer", "minimum": 0, "default": 5, "description": "How often it looks at most."},
    "strategy": {
        "enum": ["wait", "overlap"],
        "default": "wait",
        "description": "Whether nothing starts while it thinks, or the run continues meanwhile.",
    },
    "candidates": {
        "type": "integer",
        "minimum": 1,
        "maximum": 16,
        "description": "How many answers it is asked for at once, of which one is taken: 1, and 3 with `rank: paper`.",
    },
    "rank": {
        "enum": ["kept", "paper"],
        "default": "kept",
        "description": "Which of several answers is taken: the one that keeps the most results, or as the paper Flow has it the "
        "workflow with the most nodes in a step, then the one whose nodes have the most even numbers of edges.",
    },
    "ask": {"type": "boolean", "default": False, "description": "Whether you are asked before a change is applied."},
    "model": {"type": "string", "minLength": 1, "description": "The model that thinks about the workflow."},
    "view": {
        "type": "integer",
        "minimum": 500,
        "default": 8000,
        "description": "How many tokens of the run it is shown at most.",
    },
    "max_nodes": {
        "type": "integer",
        "minimum": 1,
        "default": 50,
        "description": "How many nodes the workflow may get at most.",
    },
    "tokens": {"type": "integer", "minimum": 1, "description": "Tokens that thinking about it may use at most."},
    "usd": {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "US dollars that thinking about it may cost at most.",
    },
}
REFINE: Fragment = {
    "description": "Has a model change the workflow while it runs: true, or when and how. What is finished and holds is kept.",
    "anyOf": [
        {"type": "boolean"},
        {"type": "object", "properties": _REFINE_KEYS, "additionalProperties": False},
    ],
}
TYPES: Fragment = {
    "type": "object",
    "description": "Types of this workflow: `Draft: Text` is a kind of Text, `Route: [math, code]` a choice of words, "
    "`Task: {title: Text, size: Number}` a record, `Step: Query | Answer` a union.",
    "additionalProperties": {
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1},
            {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
        ]
    },
}

GYMNASIUM_ID = r"^([A-Za-z_][A-Za-z0-9_.]{0,199}:)?[A-Za-z0-9_/-]{1,200}$"
ENVIRONMENTS: Fragment = {
    "type": "object",
    "description": "Environments by name: `house: {server: alfworld}` is a server of tools, `cart: {gymnasium: 'CartPole-v1'}` an"
    " environment of the package gymnasium, `textcraft: {recipes: ./recipes}` TextCraft with other recipes.",
    "additionalProperties": {
        "anyOf": [
            {
                "title": "a server (`{server: alfworld}`)",
                "type": "object",
                "properties": {
                    "server": {
                        "type": "string",
                        "minLength": 1,
                        "description": "A server of your settings that has the tools `reset` and `step`.",
                    }
                },
                "required": ["server"],
                "additionalProperties": False,
            },
            {
                "title": "a Gymnasium environment (`{gymnasium: 'CartPole-v1'}`)",
                "type": "object",
                "properties": {
                    "gymnasium": {
                        "type": "string",
                        "pattern": GYMNASIUM_ID,
                        "examples": ["CartPole-v1", "my_games:House-v0"],
                        "description": "The id of an environment as `gymnasium.make` takes it, with the module that"
                        " registers it.",
                    }
                },
                "required": ["gymnasium"],
                "additionalProperties": False,
            },
            {
                "title": "TextCraft with recipes of others (`{recipes: ./recipes}`)",
                "type": "object",
                "properties": {
                    "recipes": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 1000,
                        "description": "A folder of Minecraft's crafting recipes as JSON, from the file's own folder.",
                    }
                },
                "required": ["recipes"],
                "additionalProperties": False,
            },
        ]
    },
}

_FIELDS: Fragment = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
    ]
}
_PATH: Fragment = {"type": "string", "minLength": 1}
STORES: Fragment = {
    "type": "object",
    "description": "Stores of documents by name: `manual: {file: ./manual.jsonl}` is searched, `notes: {folder: ./notes}` too,"
    " and runs add to `lessons: {keep: 200}`.",
    "additionalProperties": {
        "anyOf": [
            {
                "title": "a file (`{file: ./manual.jsonl}`)",
                "type": "object",
                "properties": {
                    "file": {
                        **_PATH,
                        "description": "A file of JSON Lines or CSV whose rows are the documents, or a text whose passages are;"
                        " from this file's folder.",
                    },
                    "match": {
                        **_FIELDS,
                        "description": "The fields of a row that are searched: text if none is given.",
                    },
                    "show": {
                        **_FIELDS,
                        "description": "The fields of a row that a document's text has: those searched if none is given.",
                    },
                },
                "required": ["file"],
                "additionalProperties": False,
            },
            {
                "title": "a folder (`{folder: ./notes}`)",
                "type": "object",
                "properties": {
                    "folder": {
                        **_PATH,
                        "description": "A folder whose Markdown and text files are the documents, passage by passage; from this"
                        " file's folder.",
                    }
                },
                "required": ["folder"],
                "additionalProperties": False,
            },
            {
                "title": "a store that runs add to (`{keep: 200}`)",
                "type": "object",
                "properties": {
                    "keep": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": 100_000,
                        "default": 1_000,
                        "description": "How many texts are kept; the oldest ones go first.",
                    }
                },
                "required": ["keep"],
                "additionalProperties": False,
            },
        ]
    },
}

WORKFLOW_KEYS: Mapping[str, Fragment] = {
    "version": {
        "type": "integer",
        "minimum": 1,
        "default": LANGUAGE_VERSION,
        "description": "The version of the workflow language that the file is written for.",
    },
    **CALL_KEYS,
    "budget": _BUDGET,
    "inputs": {**_NAMES, "description": "The ids of the input nodes, in place of PROBLEM and ENTRY_POINT."},
    "outputs": {**_NAMES, "description": "The ids of the output nodes, in place of RETURN."},
    "types": TYPES,
    "prompts": {
        "description": "Prompts by name, or the path of a YAML file that has them.",
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, _PROMPT_WITH_VARIABLES]}},
        ],
    },
    "agents": AGENTS,
    "aims": AIMS,
    "drawn": {
        "type": "boolean",
        "default": False,
        "description": "Whether steps start as in a drawing: a step runs when one of the arrows to it was taken, and a Decision "
        "that asks a model passes on the newest value that arrived.",
    },
    "validators": VALIDATORS,
    "redo": REDO,
    "refine": REFINE,
    "operators": OPERATORS,
    "tools": {
        "type": "array",
        "items": {"type": "string", "minLength": 1},
        "description": "The tools that this workflow may use, such as `[web.search, mail.send]`; it can use no others.",
    },
    "environments": ENVIRONMENTS,
    "stores": STORES,
    "libraries": {**_NAMES, "description": "Paths of YAML files with further operators and types."},
}
"""Keys of the ``workflow:`` block."""

WORKFLOW: Fragment = {
    "type": "object",
    "properties": WORKFLOW_KEYS,
    "additionalProperties": False,
    "description": "Makes this flowchart a Merrow workflow and says how it runs.",
}

FRONT_MATTER: Fragment = {
    "type": "object",
    "properties": {
        "title": {"description": "Mermaid: the title above the drawing."},
        "config": {"description": "Mermaid: how the flowchart is drawn."},
        "displayMode": {"description": "Mermaid: for Gantt charts."},
        "workflow": {
            "description": "Makes this flowchart a Merrow workflow and says how it runs; `false` says that it is none.",
            "anyOf": [WORKFLOW, {"type": "null"}, {"type": "boolean"}],
        },
    },
}

_PARTS: Mapping[str, Fragment] = {
    "front-matter": FRONT_MATTER,
    "node": {"type": "object", "properties": {**MERMAID_NODE_KEYS, **NODE_KEYS, **OPERATOR_KEYS, **INTERFACE_KEYS}},
    "edge": {"type": "object", "properties": EDGE_KEYS},
    "subgraph": {"type": "object", "properties": {**MAP_KEYS, **LOOP_KEYS, "on_error": MAP_KEYS["on_error"]}},
    "library": {
        "anyOf": [
            {"type": "object", "properties": {"types": TYPES, "operators": OPERATORS}, "additionalProperties": False},
            {**OPERATORS, "propertyNames": {"not": {"enum": ["types", "operators"]}}},
        ],
    },
}


def schema(part: str = "front-matter") -> dict[str, Any]:
    """The JSON Schema of a part of a workflow file, as dicts: ``front-matter``, ``node``, ``edge``,
    ``subgraph`` or ``library``.

    Raises KeyError for another word.
    """
    titles = {
        "front-matter": "Front matter of a Merrow workflow",
        "node": "Metadata of a node",
        "edge": "Metadata of an edge",
        "subgraph": "Metadata of a subgraph",
        "library": "A library of operators and types",
    }
    return {"$schema": DRAFT, "title": titles[part], **_plain(_PARTS[part])}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value
