"""Questions of runs to people in an editor: shown, put off, answered by somebody else, listed, and answered by commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.runtime.openai_server import OpenAIServer, Reply
from tests.server.lsp.client import Json, on
from tests.server.lsp.editor import MODERN
from tests.server.lsp.running import RUNS, WAIT, RunningEditor, editor_on

from merrow_runtime import resume
from merrow_runtime.people.answering import answer, open_questions
from merrow_runtime.store.database import Store
from merrow_runtime.store.location import FILE

ASKS: Json = RUNS | {"experimental": RUNS["experimental"] | {"merrowAsk": True}}
"""A client that shows runs and forms."""

LETTER = """---
workflow:
  types: {Mood: [good, bad]}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    subgraph L["Loop (max: 4)"]
        WRITE["Custom (prompt: WRITE)"]:::CustomOp
        LOOK@{op: Human, ask: "Is it good?", returns: Mood}
        D{which?}:::DecisionOp
    end
    RETURN([Answer]):::Interface
    PROBLEM -->|input| WRITE
    WRITE -->|input| LOOK
    LOOK -->|when| D
    WRITE -->|value| D
    D -->|bad:again:input| WRITE
    D -->|good| RETURN
    WRITE -->|over| RETURN
"""

TWO = """---
workflow:
  types: {Trip: {city: Text, nights: Number}}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    FORM@{op: Human, ask: "Where to?", returns: Trip}
    YES@{op: Human, ask: "May it?", returns: Bool}
    END["Custom (prompt: END)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| FORM & YES
    FORM -->|answer:input| END
    YES -->|answer:input| END
    END --> RETURN
"""

ONE = """flowchart TD
    PROBLEM([Problem]):::Interface
    ASK@{op: Human, ask: "What now?"}
    RETURN([Answer]):::Interface
    PROBLEM -->|input| ASK --> RETURN
"""


class People:
    """What the user of a client does with questions: ``act`` gives the answer to each, in the order in which they come."""

    def __init__(self, editor: RunningEditor, act: Callable[[Json], Any]) -> None:
        self.editor, self.act = editor, act
        self.asked: list[Json] = []
        self.messages: list[Json] = []
        self._news = asyncio.Condition()
        for method in ("merrow/ask", "window/showMessageRequest"):
            on(editor.client, method, self._ask)
        on(editor.client, "window/showMessage", self._tell)

    async def _ask(self, params: Any) -> Any:
        question = self._plain(params)
        async with self._news:
            self.asked.append(question)
            self._news.notify_all()
        acted = self.act(question)
        return await acted if asyncio.iscoroutine(acted) else acted

    async def _tell(self, message: Any) -> None:
        async with self._news:
            self.messages.append(self._plain(message))
            self._news.notify_all()

    def _plain(self, params: Any) -> Json:
        plain: Json = self.editor.client.protocol._converter.unstructure(params)
        return plain

    async def until(self, condition: Callable[[], object]) -> None:
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(condition), WAIT)

    @property
    def told(self) -> str:
        return "\n".join(message["message"] for message in self.messages)


@asynccontextmanager
async def asking(
    folder: Path, act: Callable[[Json], Any], capabilities: Json = ASKS, server: OpenAIServer | None = None
) -> AsyncIterator[tuple[RunningEditor, People]]:
    async with editor_on(folder, server, capabilities=capabilities) as editor:
        yield editor, People(editor, act)


def journal(editor: RunningEditor) -> Store:
    return Store.open(editor.folder / ".state" / FILE)


def accept(**content: Any) -> Json:
    return {"action": "accept", "content": content}


CANCEL = {"action": "cancel"}


async def test_a_person_answers_in_forms_inside_a_loop(tmp_path: Path) -> None:
    answers = iter([accept(answer="bad", note="Shorter."), accept(answer="good")])
    async with OpenAIServer() as server, asking(tmp_path, lambda _: next(answers), server=server) as (editor, people):
        server.script(Reply("first"), Reply("second"))
        uri = editor.open(LETTER)
        ended = await editor.execute("merrow.run", uri=uri, inputs={"problem": "A letter."})
        assert ended["status"] == "waiting"  # Nothing holds it while the form is open.
        assert [ask["node"] for ask in ended["asks"]] == ["L[1]/LOOK"]
        await editor.until(lambda: editor.named("run_finished"))
        (end,) = editor.named("run_finished")
        assert end["outputs"] == {"RETURN": "second"}
        assert len(server.requests) == 2
        assert [(ask["node"], ask["path"], ask["run"]) for ask in people.asked] == [
            ("LOOK", "L[1]", ended["run"]),
            ("LOOK", "L[2]", ended["run"]),
        ]
        first = people.asked[0]
        assert (first["question"], first["deadline"], first["uri"], first["diagram"]) == ("Is it good?", None, uri, 1)
        assert first["from"] == str(tmp_path / "flow.mmd")
        assert [section["text"] for section in first["shown"]] == ["first"]
        assert first["schema"]["properties"]["answer"]["enum"] == ["good", "bad"]
        asked, answered = editor.named("node_asked"), editor.named("node_answered")
        assert {event["path"] for event in asked} == {"L[1]", "L[2]"}
        assert {event["action"] for event in answered} == {"accept"}
        assert editor.named("run_waiting")


async def test_a_client_without_forms_answers_in_a_loop_by_buttons(tmp_path: Path) -> None:
    titles = iter(["bad", "good"])
    async with (
        OpenAIServer() as server,
        asking(tmp_path, lambda _: {"title": next(titles)}, MODERN, server) as (editor, people),
    ):
        server.script(Reply("first"), Reply("the second \x1b[31mletter"))
        await editor.execute("merrow.run", uri=editor.open(LETTER), inputs={"problem": "A letter."})
        await people.until(lambda: "letter" in people.told)
        await editor.until(lambda: editor.named("run_finished"))
        assert [[action["title"] for action in question["actions"]] for question in people.asked] == [
            ["good", "bad"],
            ["good", "bad"],
        ]
        assert "Is it good?" in people.asked[0]["message"]
        assert "first" in people.asked[0]["message"]
        assert "\x1b" not in people.asked[1]["message"] + people.told


async def test_what_has_no_buttons_names_the_command(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda _: None, MODERN) as (editor, people):
        ended = await editor.execute("merrow.run", uri=editor.open(TWO), inputs={"problem": "x"})
        await people.until(lambda: people.asked and people.messages)
        (question,) = people.asked
        assert [action["title"] for action in question["actions"]] == ["Approve", "Reject"]
        assert people.told.endswith(f"merrow answer {ended['run']} FORM")
        assert "Where to?" in people.told


async def test_what_is_put_off_waits_and_is_asked_again_when_the_user_resumes(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda _: CANCEL) as (editor, people):
        uri = editor.open(TWO)
        ended = await editor.execute("merrow.run", uri=uri, inputs={"problem": "x"})
        await people.until(lambda: len(people.asked) == 2)
        listed = await editor.execute("merrow.waiting", uri=uri)
        assert [(each["visit"], each["kind"], each["run"]) for each in listed] == [
            ("FORM", "form", ended["run"]),
            ("YES", "approval", ended["run"]),
        ]
        assert "schema" not in listed[0]
        whole = await editor.execute("merrow.waiting", run=ended["run"])
        assert list(whole[0]["schema"]["properties"]) == ["city", "nights", "note"]
        assert await editor.execute("merrow.waiting", uri=editor.uri("other.mmd")) == []
        assert [run["status"] for run in await editor.ask("merrow/runs")] == ["waiting"]
        again = await editor.execute("merrow.resume", run=ended["run"])
        assert again["status"] == "waiting"
        await people.until(lambda: len(people.asked) == 4)


async def test_commands_answer_and_the_run_continues_without_another_question(tmp_path: Path) -> None:
    async with OpenAIServer() as server, asking(tmp_path, lambda _: CANCEL, server=server) as (editor, people):
        ended = await editor.execute("merrow.run", uri=editor.open(TWO), inputs={"problem": "x"})
        run = ended["run"]
        await people.until(lambda: len(people.asked) == 2)
        with pytest.raises(JsonRpcException, match="does not fit"):
            await editor.execute("merrow.answer", run=run, node="FORM", form={"city": "Bern", "nights": "many"})
        with pytest.raises(JsonRpcException, match="Did you mean FORM"):
            await editor.execute("merrow.answer", run=run, node="FORN", value="x")
        done = await editor.execute("merrow.answer", run=run, node="FORM", form={"city": "Bern", "nights": 2})
        assert (done["run"], done["node"], done["state"]) == (run, "FORM", "answered")
        with pytest.raises(JsonRpcException, match="has answered the question of FORM"):
            await editor.execute("merrow.answer", run=run, node="FORM", value="x")
        await editor.until(lambda: len(editor.named("run_waiting")) == 2)
        await editor.execute("merrow.answer", run=run, node="YES", value=True)
        await editor.until(lambda: editor.named("run_finished"))
        assert len(people.asked) == 2  # What was put off is not put again.
        assert "Bern" in server.requests[0].prompt
        assert "true" in server.requests[0].prompt
        with pytest.raises(JsonRpcException, match="has answered the question of YES"):
            await editor.execute("merrow.answer", run=run, node="YES", value="no")


async def test_declining_fails_the_node(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda _: {"action": "decline"}) as (editor, _):
        await editor.execute("merrow.run", uri=editor.open(ONE), inputs={"problem": "x"})
        await editor.until(lambda: editor.named("run_failed"))
        assert "declined to answer" in editor.named("run_failed")[0]["error"]


async def test_who_was_faster_is_told_to_the_one_with_the_form(tmp_path: Path) -> None:
    opened, release = asyncio.Event(), asyncio.Event()

    async def slow(_: Json) -> Json:
        opened.set()
        await release.wait()
        return accept(answer="too late")

    async with asking(tmp_path, slow) as (editor, people):
        ended = await editor.execute("merrow.run", uri=editor.open(ONE), inputs={"problem": "x"})
        await asyncio.wait_for(opened.wait(), WAIT)
        with closing(journal(editor)) as store:
            answer(store, ended["run"], "ASK", "in time", "Ann")
        release.set()
        await people.until(lambda: people.messages)
        assert "Ann has answered the question of ASK" in people.told
        again = await editor.execute("merrow.resume", run=ended["run"])
        assert again["outputs"] == {"RETURN": "in time"}
        assert len(people.asked) == 1


async def test_an_answer_never_goes_to_another_question_of_the_node(tmp_path: Path) -> None:
    opened, release = asyncio.Event(), asyncio.Event()

    async def slow(question: Json) -> Json:
        if question["problems"]:
            return CANCEL
        opened.set()
        await release.wait()
        return accept(answer="for the first")

    head = "---\nworkflow:\n  validators: {brief: {if: len(output) < 9}}\n---\n"
    text = head + ONE.replace('"What now?"', '"What now?", validate: brief')
    async with asking(tmp_path, slow) as (editor, people):
        ended = await editor.execute("merrow.run", uri=editor.open(text), inputs={"problem": "x"})
        await asyncio.wait_for(opened.wait(), WAIT)
        with closing(journal(editor)) as store:
            answer(store, ended["run"], "ASK", "much too long", "Ann")
            again = resume(ended["run"], store=store)
            assert (await again.result()).status == "waiting"
            release.set()
            await people.until(lambda: people.messages)
            assert "Ann has answered the question of ASK" in people.told
            assert [ask.visit.name for ask in open_questions(store, ended["run"])] == ["ASK"]


async def test_a_form_is_closed_when_its_question_is_answered_by_a_command(tmp_path: Path) -> None:
    opened, closed = asyncio.Event(), asyncio.Event()

    async def never(_: Json) -> Json:
        opened.set()
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()
        return CANCEL

    async with asking(tmp_path, never) as (editor, _):
        ended = await editor.execute("merrow.run", uri=editor.open(ONE), inputs={"problem": "x"})
        await asyncio.wait_for(opened.wait(), WAIT)
        await editor.execute("merrow.answer", run=ended["run"], node="ASK", value="here")
        await asyncio.wait_for(closed.wait(), WAIT)
        await editor.until(lambda: editor.named("run_finished"))
        assert editor.named("run_finished")[0]["outputs"] == {"RETURN": "here"}


async def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(tmp_path: Path) -> None:
    answers = iter([accept(city="Bern", nights="many"), accept(city="Bern", nights=2), CANCEL])
    async with asking(tmp_path, lambda question: next(answers) if "Where" in question["question"] else CANCEL) as (
        editor,
        people,
    ):
        await editor.execute("merrow.run", uri=editor.open(TWO), inputs={"problem": "x"})
        await editor.until(lambda: editor.named("node_answered"))
        forms = [question for question in people.asked if "Where" in question["question"]]
        assert [len(form["problems"]) for form in forms] == [0, 1]
        assert "nights" in forms[1]["problems"][0]
        assert "nights" in people.told


async def test_a_client_that_always_answers_wrongly_is_not_asked_for_ever(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda _: accept(answer=7)) as (editor, people):
        ended = await editor.execute("merrow.run", uri=editor.open(ONE), inputs={"problem": "x"})
        await people.until(lambda: len(people.messages) == 3)
        assert [each["run"] for each in await editor.execute("merrow.waiting")] == [ended["run"]]
        assert len(people.asked) == 3


@pytest.mark.parametrize("answer", [None, 3, [], {"action": "accept"}, {"action": "accept", "content": 4}, {"x": 1}])
async def test_what_is_no_answer_leaves_the_run_waiting(tmp_path: Path, answer: Any) -> None:
    async with asking(tmp_path, lambda _: answer) as (editor, people):
        await editor.execute("merrow.run", uri=editor.open(ONE), inputs={"problem": "x"})
        await people.until(lambda: people.asked)
        (listed,) = await editor.execute("merrow.waiting")
        assert listed["question"] == "What now?"
        assert people.messages == []


async def test_nothing_holds_a_run_while_a_form_is_open_and_a_client_that_goes_loses_nothing(tmp_path: Path) -> None:
    opened = asyncio.Event()

    async def never(_: Json) -> Json:
        opened.set()
        await asyncio.Event().wait()
        return CANCEL

    async with asking(tmp_path, never) as (editor, _):
        ended = await editor.execute("merrow.run", uri=editor.open(ONE), inputs={"problem": "x"})
        await asyncio.wait_for(opened.wait(), WAIT)
        with closing(journal(editor)) as store:
            assert not store.is_worked_on(ended["run"])
            assert store.run(ended["run"]).status == "waiting"
    with closing(journal(editor)) as store:
        assert store.run(ended["run"]).status == "waiting"
        assert [ask.visit.name for ask in open_questions(store, ended["run"])] == ["ASK"]


async def test_the_node_shows_that_it_waits_and_its_lens_asks(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda _: CANCEL) as (editor, people):
        uri = editor.open(TWO)
        ended = await editor.execute("merrow.run", uri=uri, inputs={"problem": "x"})
        await people.until(lambda: len(people.asked) == 2)
        (line,) = [index for index, text in enumerate(TWO.splitlines()) if text.startswith("    YES@")]
        assert "waiting" in await editor.hover(uri, line, 5)
        hints = [str(hint.label[0].value) for hint in await editor.hints(uri) if not isinstance(hint.label, str)]
        assert any(hint.startswith("waiting: May it?") for hint in hints)
        lenses = await lens_titles(editor, uri)
        assert [place for title, place, _ in lenses if title == "Answer..."] == [line - 1, line]
        (command,) = [command for title, place, command in lenses if (title, place) == ("Answer...", line)]
        people.act = lambda _: accept(answer=False)
        params = types.ExecuteCommandParams(command.command, arguments=command.arguments)
        answered = await asyncio.wait_for(editor.client.workspace_execute_command_async(params), WAIT)
        assert editor.client.protocol._converter.unstructure(answered)["node"] == "YES"
        await editor.until(lambda: len(editor.named("run_waiting")) == 2)
        assert [place for title, place, _ in await lens_titles(editor, uri) if title == "Answer..."] == [line - 1]
        await editor.execute("merrow.answer", run=ended["run"], node="FORM", form={"city": "Bern", "nights": 1})
        await editor.until(lambda: editor.named("run_finished"))
        assert not [title for title, _, _ in await lens_titles(editor, uri) if title == "Answer..."]


CALL = """flowchart TD
    PROBLEM([Problem]):::Interface
    PART@{op: Call, workflow: ./FILE}
    RETURN([Answer]):::Interface
    PROBLEM --> PART --> RETURN
"""


async def test_a_question_in_a_called_file_has_its_lens_there_and_at_the_call(tmp_path: Path) -> None:
    (tmp_path / "inner.mmd").write_text(ONE)
    (tmp_path / "middle.mmd").write_text(CALL.replace("FILE", "inner.mmd").replace("PART", "DEEP"))
    async with asking(tmp_path, lambda _: CANCEL) as (editor, people):
        uri = editor.open(CALL.replace("FILE", "middle.mmd"))
        ended = await editor.execute("merrow.run", uri=uri, inputs={"problem": "x"})
        assert ended["status"] == "waiting"
        await people.until(lambda: people.asked)
        assert people.asked[0]["visit"] == "PART/DEEP/ASK"
        inner = editor.open(ONE, "inner.mmd")

        async def answers(document: str) -> list[tuple[int, types.Command]]:
            found = await lens_titles(editor, document)
            return [(line, command) for title, line, command in found if title == "Answer..."]

        assert [line for line, _ in await answers(uri)] == [2]
        assert "waiting" in await editor.hover(uri, 2, 5)
        ((line, command),) = await answers(inner)
        assert line == 2
        places = {notice["inside"]["uri"]: notice["event"]["path"] for notice in editor.notices if "inside" in notice}
        assert places == {inner: "PART/DEEP", editor.uri("middle.mmd"): "PART"}
        people.act = lambda _: accept(answer="done")
        params = types.ExecuteCommandParams(command.command, arguments=command.arguments)
        answered = await asyncio.wait_for(editor.client.workspace_execute_command_async(params), WAIT)
        assert editor.client.protocol._converter.unstructure(answered)["node"] == "PART/DEEP/ASK"
        await editor.until(lambda: editor.named("run_finished"))
        assert not await answers(uri)
        assert not await answers(inner)


async def lens_titles(editor: RunningEditor, uri: str) -> list[tuple[str, int, types.Command]]:
    params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    lenses = await editor.client.text_document_code_lens_async(params) or []
    return [(lens.command.title, lens.range.start.line, lens.command) for lens in lenses if lens.command]


async def test_a_hostile_question_is_shown_with_an_end_and_harmlessly(tmp_path: Path) -> None:
    loud = "\x1b[31m\u202e" + "x" * 1_000_000
    async with asking(tmp_path, lambda _: None, MODERN) as (editor, people):
        await editor.execute("merrow.run", uri=editor.open(TWO), inputs={"problem": loud})
        await people.until(lambda: people.asked and people.messages)
        for text in (people.asked[0]["message"], people.told):
            assert len(text) < 4_000
            assert "more characters" in text
            assert not {"\x1b", "\u202e"} & set(text)


async def test_an_untrusted_workspace_answers_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda _: CANCEL) as (editor, people):
        ended = await editor.execute("merrow.run", uri=editor.open(ONE), inputs={"problem": "x"})
        await people.until(lambda: people.asked)
        editor.client.protocol.notify("merrow/trust", {"trusted": False})
        with pytest.raises(JsonRpcException, match="not trusted"):
            await editor.execute("merrow.answer", run=ended["run"], node="ASK", value="x")
        assert len(await editor.execute("merrow.waiting")) == 1
