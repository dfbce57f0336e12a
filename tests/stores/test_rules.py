"""What the checker and editors say of nodes that use stores."""

from __future__ import annotations

import json

import pytest
from tests.analysis.ide.cursor import marked
from tests.stores.flows import LESSONS, asks, flow
from tests.tools.flows import found
from tests.tools.test_rules import CASES, assert_case

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Applicability
from merrow_analysis.graph.measures.kept_effects import why_not_kept
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.ide.hover import hover
from merrow_analysis.ide.names.rename import RenameRefusedError, rename
from merrow_analysis.text import apply_edits
from merrow_optimizer.mutations.moves import random_mutants
from merrow_optimizer.repair.search import repair
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.planned import load_planned


def codes(text: str) -> list[str]:
    return [code for code, _ in found(text)]


def fixed(text: str, number: int = 0) -> str:
    finding = next(one for one in analyse(text).diagnostics if one.code == "MW505")
    fixes = list(finding.fixes)
    assert all(fix.applicability is Applicability.UNSAFE for fix in fixes)
    return apply_edits(text, list(fixes[number].edits))


@pytest.mark.shared("corpus/effects")
def test_the_cases_of_the_corpus() -> None:
    ours = [case for case in CASES if case["file"][:3] in ("V04", "D11")]
    assert len(ours) == 2
    for case in ours:
        assert_case(case)


def test_a_store_that_is_nearly_named_is_meant_and_another_is_declared() -> None:
    text = asks("manual: {file: ./manual.jsonl}", "store: manuel")
    assert found(text) == [("MW505", "FIND (Retrieve): there is no store `manuel`; did you mean `manual`?")]
    assert fixed(text) == text.replace("manuel", "manual")
    declared = fixed(text, 1)
    assert analyse(declared).settings.stores["manuel"].keep == 1_000
    assert codes(declared) == []


@pytest.mark.parametrize(
    ("stores", "node", "said"),
    [
        ("notes: {keep: 9}", "op: Retrieve", "names no store; write `store: NAME`"),
        ("notes: {keep: 9}", "op: Retrieve, store: other", "no store `other`; declare it under `stores`"),
        (
            "notes: {file: a.jsonl}",
            "op: Remember, store: notes",
            "can't add to `notes`, whose documents are in files; declare",
        ),
        (
            "notes: {folder: a}, own: {keep: 9}",
            "op: Remember, store: notes",
            "whose documents are in files; write `own`, or declare",
        ),
    ],
)
def test_stores_that_a_node_can_not_use(stores: str, node: str, said: str) -> None:
    port = "text" if "Remember" in node else "query"
    text = flow(stores, f"NODE@{{ {node} }}", f"PROBLEM -->|{port}| NODE", "NODE --> RETURN")
    [(code, message)] = found(text)
    assert code == "MW505"
    assert said in message


def test_the_only_store_is_written_where_none_is_named() -> None:
    text = asks("notes: {keep: 9}", "k: 2")
    assert codes(fixed(text)) == []
    assert "store: notes" in fixed(text)


@pytest.mark.parametrize("name", ["no space", "ünter", "9", "a" * 65])
def test_the_name_of_a_kept_store_names_a_file(name: str) -> None:
    assert codes(asks(f"'{name}': {{keep: 9}}", f"store: '{name}'")) == ["MW505"]
    assert codes(asks(f"'{name}': {{file: a.jsonl}}", f"store: '{name}'")) == []


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        "{keep: 0}",
        "{keep: 3, file: a.jsonl}",
        "{file: ''}",
        "{folder: a, match: text}",
        "{file: a, show: []}",
        "true",
    ],
)
def test_what_a_store_may_say(body: str) -> None:
    assert "MW311" in codes(asks(f"notes: {body}", "store: notes"))


def test_documents_are_records_and_their_fields_are_outputs() -> None:
    text = flow(
        "notes: {keep: 9}",
        "FIND@{ op: Retrieve, store: notes }",
        'subgraph EACH["Map (max: 9)"]',
        '    SAY["Custom<br/>(prompt: Say it.)"]',
        "end",
        "PROBLEM -->|query| FIND",
        "FIND -->|each:documents.text:input| SAY",
        "SAY --> RETURN",
    )
    assert codes(text) == []
    assert codes(text.replace("documents.text", "documents.txt")) != []


def test_a_workflow_may_have_another_type_of_that_name() -> None:
    own = asks("notes: {keep: 9}", "store: notes", more="  types: {Document: Text}\n")
    assert codes(own) == []
    typed = analyse(own).typed
    assert typed is not None
    assert list(typed.by_id["FIND"].outputs.values()) == ["list[Json]"]
    plain = analyse(asks("notes: {keep: 9}", "store: notes")).typed
    assert plain is not None
    assert list(plain.by_id["FIND"].outputs.values()) == ["list[Document]"]


@pytest.mark.parametrize("key", ["samples", "retries", "attempts"])
def test_nothing_is_added_again(key: str) -> None:
    text = LESSONS.replace("op: Remember, store: lessons", f"op: Remember, store: lessons, {key}: 2")
    assert ("MW319", "KEEP (Remember)") in [(code, message[:15]) for code, message in found(text)]


def test_settings_of_models_change_nothing() -> None:
    for key in ("model: m", "temperature: 1", "memory: all", "prompt: Find."):
        assert "MW406" in codes(
            LESSONS.replace("op: Retrieve, store: lessons, k: 10", f"op: Retrieve, store: lessons, {key}", 1)
        )


def test_by_embedding_a_model_is_asked() -> None:
    by_words = asks("notes: {keep: 9}", "store: notes, by: words, model: m")
    assert codes(by_words) == ["MW406"]
    by_embedding = asks("notes: {keep: 9}", "store: notes, by: embedding, model: m, retries: 1, timeout: 9")
    assert codes(by_embedding) == []
    assert codes(by_embedding.replace("timeout: 9", "temperature: 1")) == ["MW406"]
    [(code, message)] = found(asks("notes: {keep: 9}", "store: notes, by: embeding"))
    assert (code, "embedding" in message) == ("MW305", True)
    [finding] = analyse(asks("notes: {keep: 9}", "store: notes, by: embeding")).diagnostics
    repaired = apply_edits(asks("notes: {keep: 9}", "store: notes, by: embeding"), list(finding.fixes[0].edits))
    assert repaired == asks("notes: {keep: 9}", "store: notes, by: embedding")


def test_ways_of_finding_are_offered_and_described() -> None:
    front = "---\nworkflow:\n  stores: {lessons: {keep: 20}}\n---\nflowchart TD\n"

    def offered(line: str) -> list[str]:
        here = marked(f"{front}    {line}\n")
        return [item.label for item in complete(here.analysis, here.position).items]

    assert sorted(offered("A@{ op: Retrieve, store: lessons, by: <|> }")) == ["embedding", "words"]
    assert sorted(offered('A["Retrieve<br/>(store: lessons, by: <|>)"]')) == ["embedding", "words"]
    assert "model" not in offered("A@{ op: Retrieve, store: lessons, <|> }")
    assert "model" in offered("A@{ op: Retrieve, store: lessons, by: embedding, <|> }")
    here = marked(front + "    A@{ op: Retrieve, store: lessons, b<|>y: words }\n")
    text = hover(here.analysis, here.position)
    assert text is not None
    assert "or by embedding" in text.text.markdown()
    assert "Default: `words`" in text.text.markdown()


def test_stores_are_offered_and_described() -> None:
    front = "---\nworkflow:\n  stores: {manual: {file: ./m.jsonl}, lessons: {keep: 20}}\n---\nflowchart TD\n"
    for line, labels in (
        ("    A@{ op: Retrieve, store: <|> }", ["lessons", "manual"]),
        ("    A@{ op: Remember, store: <|> }", ["lessons"]),
        ('    A["Retrieve<br/>(store: <|>)"]', ["lessons", "manual"]),
    ):
        here = marked(front + line + "\n")
        offered = [item.label for item in complete(here.analysis, here.position).items]
        assert sorted(offered) == labels
    here = marked(front + "    A@{ op: Retrieve, store: man<|>ual }\n")
    text = hover(here.analysis, here.position)
    assert text is not None
    assert "./m.jsonl" in text.text.markdown()
    assert "`A`" in text.text.markdown()


def test_no_machine_lets_a_workflow_use_other_stores_or_add_more() -> None:
    before = analyse(LESSONS).typed
    assert before is not None
    for old, new, said in (
        ("lessons: {keep: 3}", "lessons: {file: ../secret.jsonl}", "the store lessons"),
        ("lessons: {keep: 3}", "lessons: {keep: 3}, other: {keep: 3}", "the store other"),
        (
            "    KEEP -->|query| AFTER\n",
            "    PROBLEM -->|query| AFTER\n    KEEP2@{ op: Remember, store: lessons }\n    PROBLEM -->|text| KEEP2\n",
            "KEEP2 would be a new Remember",
        ),
        ("    PROBLEM -->|text| KEEP\n", "    FIND -->|text| KEEP\n", "KEEP would be given something else"),
    ):
        assert old in LESSONS
        after = analyse(LESSONS.replace(old, new)).typed
        assert after is not None
        assert said in str(why_not_kept(before, after))
    for mutant in random_mutants(LESSONS, 10, 1):
        after = analyse(mutant.text).typed
        assert after is not None
        assert why_not_kept(before, after) is None
        assert after.by_id["KEEP"].resolution.parameters["store"].value == "lessons"


def test_no_repair_changes_what_is_added_to() -> None:
    broken = LESSONS.replace("op: Remember, store: lessons", "op: Remember, store: lesson")
    assert "op: Remember, store: lesson }" in repair(broken, limit=2).text
    found_by_repair = repair(LESSONS.replace("op: Retrieve, store: lessons", "op: Retrieve, store: lesson"), limit=2)
    assert found_by_repair.text == LESSONS


def test_a_planned_workflow_has_no_stores() -> None:
    with pytest.raises(AnswerFailure, match="`stores` in its front matter is not for it to say"):
        load_planned(asks("notes: {file: a.jsonl}", "store: notes"))


def test_a_workflow_that_is_a_default_has_no_stores() -> None:
    def said(workflow: str) -> list[str]:
        node = f"PLAN@{{ op: Custom, prompt: Plan., returns: Workflow, on_error: default, default: {json.dumps(workflow)} }}"
        text = flow(
            "", node, "WORK@{ op: Call }", "PROBLEM -->|input| PLAN", "PLAN -->|workflow| WORK", "PROBLEM -->|problem| WORK",
            "WORK --> RETURN",
        )  # fmt: skip
        return [message for code, message in found(text) if code == "MW305"]

    plain = flow("", 'A["Custom<br/>(prompt: Say it.)"]', "PROBLEM -->|input| A --> RETURN")
    assert said(plain) == []
    [message] = said(plain.replace("stores: {}", "stores: {notes: {keep: 3}}"))
    assert "it has `stores`, and such a workflow can only ask models" in message


@pytest.mark.parametrize(
    ("declared", "node", "old", "new"),
    [
        ("stores: {notes: {keep: 9}}", "op: Retrieve, store: notes", "notes", "lessons"),
        ("environments: {house: {server: craft}}", "op: Environment, env: house", "house", "garden"),
    ],
)
def test_what_is_declared_is_renamed_everywhere(declared: str, node: str, old: str, new: str) -> None:
    port = "query" if "stores" in declared else "task"
    text = f"---\nworkflow:\n  {declared}\n---\nflowchart TD\n    A@{{ {node} }}\n    B@{{ {node} }}\n"
    text += f"    P([P]):::Interface -->|{port}| A & B\n"
    for place in (text.index(old), text.rindex(old)):
        here = marked(f"{text[:place]}<|>{text[place:]}")
        renamed = rename(here.analysis, here.position, new)
        assert apply_edits(text, list(renamed.edits)) == text.replace(old, new)
        found = hover(here.analysis, here.position)
        assert found is not None
        assert old in found.text.markdown()
        with pytest.raises(RenameRefusedError):
            rename(here.analysis, here.position, "no: name")


def test_an_environment_that_is_shipped_keeps_its_name() -> None:
    text = "---\nworkflow:\n  environments: {house: {server: craft}}\n---\nflowchart TD\n"
    text += "    A@{ op: Environment, env: textcraft }\n    B@{ op: Environment, env: house }\n"
    shipped, own = (marked(text.replace(f"env: {name}", f"env: <|>{name}")) for name in ("textcraft", "house"))
    with pytest.raises(RenameRefusedError, match="Nothing here"):
        rename(shipped.analysis, shipped.position, "other")
    with pytest.raises(RenameRefusedError, match="already an environment textcraft"):
        rename(own.analysis, own.position, "textcraft")
