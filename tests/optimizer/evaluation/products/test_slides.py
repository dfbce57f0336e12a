"""Slides: a good deck meets every criterion; each wrong one misses what it gets wrong, and nothing leaves its folder."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import pytest
from tests.optimizer.evaluation.products.good_slides import HEAD, SECTION, SECTIONS, SETTINGS, deck
from tests.optimizer.evaluation.products.judging import answer, missed, score_of, verdicts

from merrow_optimizer.evaluation.metrics.products.latex_source import sections_of
from merrow_optimizer.evaluation.metrics.products.slides import Slides
from merrow_optimizer.evaluation.scores import Score
from merrow_runtime.operators.formats.answer_files import NamedFile
from merrow_runtime.sandbox.programs import ProgramLimits

pytestmark = pytest.mark.thinned(16, "products")

GOLD = {"scorer": "slides", **SETTINGS}
Q, PPO = (SECTION.replace("NAME", name) for name in SECTIONS)
FRAME = "\\begin{frame}{More}\n  And so on for some words.\n\\end{frame}\n"


@pytest.fixture(autouse=True)
def pdflatex() -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("there is no pdflatex here")


def judged(text: str) -> dict[str, str]:
    return missed(verdicts(GOLD, answer(slides_tex=text)))


def test_a_good_deck_meets_every_criterion() -> None:
    said = verdicts(GOLD, answer(slides_tex=deck()))
    assert missed(said) == {}
    assert "10 frames" in said["length"][1], "the three steps of two frames count once"
    parts = answer(slides_tex=deck(Q, "\\input{ppo}\n"), ppo_tex=PPO)
    assert missed(verdicts(GOLD, parts)) == {}, "a deck may have its sections in files"


COMPILES = {
    "an unknown command": (deck(head=HEAD + "\\nosuchthing\n"), "Undefined control sequence"),
    "a frame that isn't closed": (deck(PPO.replace("\\end{frame}", "", 1)), ""),
    "a package that isn't there": (deck(head=HEAD.replace("tikz", "nosuchpackage")), "nosuchpackage.sty"),
    "mathematics outside of it": (deck(head=HEAD + FRAME.replace("words", "x_1")), "Missing $"),
    "prose": ("Here are your slides: compiled without an error.", "Missing \\begin{document}"),
    "a picture that isn't there": (deck(head=HEAD + "\\includegraphics{plot}\n"), ""),
    "errors that are passed over": (deck(head=HEAD.replace("\\title", "\\scrollmode\\title") + "\\nosuchthing\n"), ""),
    "no pages": ("\\documentclass{beamer}\\begin{document}\\end{document}", "without a page"),
    "a claimed success": (
        "\\message{Output written on slides.pdf (20 pages).}\\csname @@end\\endcsname",
        "without a page",
    ),
    "a file of the machine": (deck(head=HEAD + "\\input{/etc/passwd}"), "/etc/passwd"),
    "a file above": (deck(head=HEAD + "\\input{../../etc/passwd}"), "passwd"),
}


@pytest.mark.thinned(24)
@pytest.mark.parametrize("name", COMPILES)
def test_what_makes_no_pdf_does_not_compile(name: str) -> None:
    text, evidence = COMPILES[name]
    found = judged(text)
    assert evidence in found["compiles"]
    assert "length" in found


COMPLETE = {
    "a section": (deck(Q), "There is no section PPO"),
    "a part": (deck(Q, PPO.replace("PPO: intuition", "PPO: ideas")), "PPO has no frame with text on its intuition"),
    "two parts": (deck(Q.replace("{Q-learning: m", "{Q-learning: x"), PPO), "motivation and its mathematics"),
    "a part's text": (
        deck(Q, PPO.replace("Which act is best in a state is not known beforehand.", "See above.")),
        "its problem",
    ),
    "equations": (deck(Q, PPO.replace("0 < \\alpha \\le 1", "\\alpha")), "PPO has 1 displayed equations of 2"),
    "equations in a comment": (deck(Q, PPO.replace("  \\[", "  % \\[")), "PPO has 1"),
    "empty equations": (deck(Q, PPO.replace("0 < \\alpha \\le 1", "=")), "PPO has 1"),
    "what is in a comment": (deck(Q, *(f"% {line}\n" for line in PPO.splitlines())), "no section PPO"),
    "equations in a note": (
        deck(
            Q,
            PPO.replace("  \\begin{equation*}", "  \\note{\\begin{equation*}").replace(
                "\\end{equation*}", "\\end{equation*}}"
            ),
        ),
        "PPO has 1",
    ),
    "text that is kept free": (
        deck(
            Q,
            PPO.replace("Which act is best in a state is not known beforehand.", "\\phantom{Which act is best here?}"),
        ),
        "its problem",
    ),
    "text on no slide of its frame": (
        deck(
            Q,
            PPO.replace("Which act is best in a state is not known beforehand.", "\\only<0>{Which act is best here?}"),
        ),
        "its problem",
    ),
    "what is skipped": (deck(Q, f"\\iffalse\n{PPO}\\fi\n"), "no section PPO"),
    "what is behind the end": (deck(Q, end=f"\\end{{document}}\n{PPO}"), "no section PPO"),
    "frames that aren't shown": (
        deck(Q, PPO.replace("\\begin{frame}", "\\begin{frame}<presentation:0>")),
        "PPO has no frame",
    ),
}


@pytest.mark.thinned(32)
@pytest.mark.parametrize("name", COMPLETE)
def test_a_deck_that_lacks_something_is_not_complete(name: str) -> None:
    text, evidence = COMPLETE[name]
    assert evidence in judged(text)["complete"]


LENGTH = {
    "too short": (deck(Q), "6 frames"),
    "too long": (deck(Q, PPO, FRAME * 2), "12 frames"),
    "overlays for frames": (deck(Q, FRAME.replace("And", "\\pause " * 5 + "And")), "7 frames"),
    "article": (deck().replace("{beamer}", "{article}"), ""),
    "a forged record": (
        deck(Q, end="\\addtocontents{nav}{\\headcommand{\\beamer@framepages{7}{7}}}\n\\end{document}\n"),
        "miscounted",
    ),
    "a record written over": (deck(Q, end="\\immediate\\write18{true}\n\\end{document}\n"), "miscounted"),
    "a record written by a name put together": (
        deck(Q, end="\\csname addto\\iftrue contents\\fi\\endcsname{nav}{x}\n\\end{document}\n"),
        "miscounted",
    ),
    "a number of frames that is set": (
        deck(Q, end="\\setcounter{framenumber}{10}\n\\end{document}\n"),
        "6 frames",
    ),
    "a class of its own": ("\\begin{filecontents}{beamer.cls}\n\\end{filecontents}\n" + deck(), ""),
}


@pytest.mark.thinned(24)
@pytest.mark.parametrize("name", LENGTH)
def test_frames_are_counted_and_overlays_are_not(name: str) -> None:
    text, evidence = LENGTH[name]
    assert evidence in judged(text)["length"]


@pytest.mark.thinned(16)
@pytest.mark.parametrize(("frames", "right"), [(9, True), (10, True), (11, True), (12, False)])
def test_a_tenth_more_or_less_is_near_enough(frames: int, right: bool) -> None:
    text = (
        deck(Q, PPO, FRAME * (frames - 10))
        if frames >= 10
        else deck(head=HEAD[: HEAD.index("\\begin{frame}{Contents}")])
    )
    assert ("length" not in judged(text)) is right


def test_nothing_is_read_or_written_outside_and_no_program_started(tmp_path: Path) -> None:
    secret = tmp_path / "secret.tex"
    secret.write_text("\\begin{frame}{S} secret \\end{frame}", "utf-8")
    written = tmp_path / "written.tex"
    head = HEAD + (
        f"\\immediate\\write18{{touch {tmp_path}/started}}\n\\newwrite\\w\\immediate\\openout\\w={written}\n"
        f"\\immediate\\write\\w{{x}}\\immediate\\closeout\\w\\input{{{secret}}}\n"
    )
    found = judged(deck(head=head))
    assert {"compiles", "length"} <= set(found)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.tex"]


def test_endless_typesetting_is_ended() -> None:
    limits = ProgramLimits(wall_s=300, cpu_s=2)
    text = deck(head=HEAD + "\\loop\\iftrue\\repeat")
    found = asyncio.run(Slides(limits).judge({"slides.tex": NamedFile("slides.tex", text)}, SETTINGS))
    assert (found[0].met, "more than 2 s of processor time" in found[0].evidence) == (False, True)


def test_without_pdflatex_its_criteria_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = score_of(GOLD, answer(slides_tex=deck()))
    assert isinstance(found, Score)
    assert found.value == 1.0
    assert "compiles: not judged. It needs pdflatex" in found.reason
    assert "length: not judged." in found.reason
    assert "apt install texlive-latex-recommended" in found.reason


@pytest.mark.parametrize(
    "piece",
    [
        "\\begin{frame}{",
        "\\[",
        "\\frame{",
        "\\section{",
        "\\frame" + " " * 50,
        "\\input{slides}",
        "\\frametitle{",
        "{",
        "\\\\",
    ],
)
def test_any_source_is_read_in_time_linear_in_its_size(piece: str) -> None:
    took = []
    for size in (50_000, 200_000):
        text = "\\begin{document}\\section{A}" + piece * (size // len(piece))
        started = time.process_time()
        sections_of(text, {"slides": "x"})
        took.append(time.process_time() - started)
    assert took[1] < 10 * took[0] + 0.5
