"""Workflows with Loops and Maps in one another, made up from a seed: many of them without errors, many with one.

A *bundle* is a value on its way: the edges of which one brings it, whatever is chosen. What is drawn mostly respects that;
here and there an edge is left out, added or led elsewhere, and the checker has to say what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

FRONT = """\
workflow:
  model: m
  types:
    Mood: [good, bad]
    Task: {text: Text, size: Number}
    Project: {tasks: 'list[Task]', words: 'list[Text]', note: Text}
    Query: Text
    Step: Query | Answer
"""

LISTS = (("Project", ("tasks.text", "tasks.size")), ("Project", ("words",)), ("list[Task]", ("text", "size")))
"""What a node may give that has a list of records or a list in a record, and fields of the items."""


@dataclass(frozen=True)
class Bundle:
    """``edges`` are sources with what stands before the port in their labels; ``type`` is Text, Bool, Number or ``list[...]``."""

    edges: tuple[tuple[str, str], ...]
    type: str

    @property
    def raised(self) -> Bundle:
        return Bundle(self.edges, f"list[{self.type}]")


@dataclass
class Nest:
    """A workflow in the making. ``wild`` of a hundred places get something unexpected; ``records`` says whether there are
    records with lists, and unions.
    """

    random: Random
    wild: int
    records: bool = False
    lines: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    count: int = 0
    ways: list[tuple[str, str]] = field(default_factory=list)
    """Ways out of Decisions, and of Loops whose turns ran out, which have to lead somewhere."""

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def link(self, bundle: Bundle, target: str, port: str | None) -> None:
        """Lead a value to a port."""
        for source, before in bundle.edges:
            if self.chance(self.wild // 4):
                continue
            if (source, before) in self.ways:
                self.ways.remove((source, before))
            label = ":".join(part for part in (before, port) if part)
            self.links.append(f"{source} -->|{label}| {target}" if label else f"{source} --> {target}")

    def texts(self, values: list[Bundle]) -> list[Bundle]:
        return [value for value in values if value.type == "Text"]

    # Nodes

    def custom(self, values: list[Bundle], returns: str | None = None) -> Bundle:
        """A Custom fed by one to three values."""
        name = self.name("C")
        said = "prompt: Do it." + (f", returns: '{returns}'" if returns else "")
        if self.chance(12):
            said += ", on_error: skip"
        self.lines.append(f'{name}["Custom ({said})"]:::CustomOp')
        for value in self.random.sample(values, min(len(values), self.random.choice([1, 1, 2, 3]))):
            self.link(value, name, "input")
        return Bundle(((name, ""),), returns or "Text")

    def review(self, values: list[Bundle]) -> tuple[Bundle, str] | None:
        """A Review of a text, which it gives, with its own name."""
        texts = self.texts(values)
        if not texts:
            return None
        solution = self.random.choice(texts)
        name = self.name("V")
        self.lines.append(f'{name}["Review"]:::ReviewOp')
        self.link(solution, name, "solution")
        self.link(Bundle((("PROBLEM", ""),), "Text"), name, "problem")
        return solution, name

    def ensemble(self, values: list[Bundle]) -> Bundle | None:
        texts = self.texts(values)
        lists = [value for value in values if value.type == "list[Text]"]
        name = self.name("E")
        if lists and self.chance(60):
            chosen = [self.random.choice(lists)]
        elif len(texts) > 1:
            chosen = self.random.sample(texts, 2)
        else:
            return None
        self.lines.append(f'{name}["ScEnsemble"]:::ScEnsembleOp')
        for value in chosen:
            self.link(value, name, None)
        return Bundle(((name, ""),), "Text")

    def decided(self, values: list[Bundle]) -> tuple[str, list[str], Bundle] | None:
        """A Decision: its name, its cases, and the value that it carries."""
        name = self.name("D")
        texts = self.texts(values)
        if self.records and texts and self.chance(15):
            step = self.custom(values, "Step")
            self.lines.append(f"{name}{{which?}}:::DecisionOp")
            self.link(step, name, None)
            return name, ["Query", "Answer"], self.random.choice(texts)
        if self.chance(30):
            mood = self.custom(values, "Mood")
            carried = self.random.choice(values)
            self.lines.append(f"{name}{{which?}}:::DecisionOp")
            self.link(mood, name, "when")
            self.link(carried, name, "value")
            return name, ["good", "bad"], carried
        reviewed = self.review(values)
        if reviewed is None:
            return None
        carried = reviewed[0] if self.chance(70) else self.random.choice(values)
        self.lines.append(f"{name}{{Good?}}:::DecisionOp")
        self.links.append(f"{reviewed[1]} -->|result:when| {name}")
        self.link(carried, name, "value")
        return name, ["yes", "no"], carried

    def branch(self, values: list[Bundle], depth: int) -> Bundle | None:
        """A Decision with something behind each case, one of which brings the value."""
        made = self.decided(values)
        if made is None:
            return None
        name, cases, carried = made
        ends: list[tuple[str, str]] = []
        for case in cases:
            if self.chance(40) and carried.type == "Text":
                ends.append((name, case))
                continue
            target = self.name("C")
            skips = ", on_error: skip" if self.chance(10) else ""
            self.lines.append(f'{target}["Custom (prompt: Go on.{skips})"]:::CustomOp')
            self.links.append(f"{name} -->|{case}| {target}")
            if self.chance(50):
                self.link(self.random.choice(values), target, "input")
            inner = Bundle(((target, ""),), "Text")
            if depth < 3 and self.chance(25):
                inner = self.part([inner], depth + 1) or inner
            ends += inner.edges if inner.type == "Text" else [(target, "")]
        return Bundle(tuple(ends), "Text")

    # Composites

    def box(self, title: str, inner: Nest) -> str:
        name = self.name("B")
        self.lines.append(f'subgraph {name}["{title}"]')
        self.lines += [f"    {line}" for line in inner.lines]
        self.lines.append("end")
        self.links += inner.links
        self.ways += inner.ways
        self.count = max(self.count, inner.count)
        return name

    def inside(self) -> Nest:
        return Nest(self.random, self.wild, self.records, count=self.count + 1)

    def loop(self, values: list[Bundle], depth: int) -> Bundle | None:
        """A Loop; how it ends is drawn: by a case and by its turns, by its turns alone, by `until`."""
        inner = self.inside()
        first = inner.custom(values)
        here = [first]
        for _ in range(self.random.randrange(3)):
            more = inner.part(here + self.some(values), depth + 1)
            here += [more] if more is not None else []
        most = self.random.choice([1, 2, 3])
        said = [f"max: {most}"] if self.chance(80) else []
        if self.chance(15):
            said.append("on_error: skip")
        last = here[-1]
        head = first.edges[0][0]
        inner.again(here, head)
        kind = self.random.randrange(4)
        out: Bundle | None = last
        if kind < 2:
            made = inner.decided(here)
            if made is None:
                return None
            name, (leave, stay), carried = made
            inner.links.append(
                f"{name} -->|{stay}:again:input| {head}" if self.chance(80) else f"{name} -->|{stay}:again| {head}"
            )
            given = self.random.choice([value for value in here if value.type == carried.type] or [carried])
            over = tuple((source, f"{before}:over" if before else "over") for source, before in given.edges)
            inner.ways.append((name, leave))
            out = Bundle(((name, leave), *(over if not self.chance(self.wild // 2) else given.edges)), carried.type)
        elif kind == 2:
            reviewed = inner.review(here)
            if reviewed is not None:
                said.append(f"until: {reviewed[1]}.result")
                inner.links.append(f"{reviewed[1]} -.->|again:feedback:input| {head}")
        elif self.chance(50):
            rated = inner.custom(here, "Number")
            if not self.chance(self.wild):
                said.append(f"best: {rated.edges[0][0]}.response")
        self.box(f"Loop ({', '.join(said)})" if said else "Loop ()", inner)
        return out

    def again(self, here: list[Bundle], head: str) -> None:
        """Some `again` edges between the members."""
        for _ in range(self.random.choice([0, 1, 1, 2])):
            value = self.random.choice(here)
            if self.chance(60):
                target, port = head, "input"
            else:
                reviews = [line.split("[")[0].strip() for line in self.lines if "Review" in line]
                target, port = (self.random.choice(reviews), "solution") if reviews else (head, "input")
            for source, before in value.edges:
                if before and not self.chance(self.wild):
                    label = f"{before}:again:{port}" if "over" not in before else f"again:{port}"
                else:
                    label = f"again:{port}"
                self.links.append(f"{source} -.->|{label}| {target}")

    def map(self, values: list[Bundle], depth: int) -> Bundle | None:
        """A Map over a list, made where there is none."""
        lists = [value for value in values if value.type.startswith("list[")]
        fields: tuple[str, ...] = ()
        if self.records and self.chance(25):
            type_, several = self.random.choice(LISTS)
            source = self.custom(values, type_)
            fields = tuple(self.random.sample(several, self.random.randrange(len(several)) + 1))
        else:
            source = self.random.choice(lists) if lists and self.chance(60) else self.custom(values, "list[Text]")
        inner = self.inside()
        name = inner.name("C")
        skips = ", on_error: skip" if self.chance(15) else ""
        inner.lines.append(f'{name}["Custom (prompt: One item.{skips})"]:::CustomOp')
        for giver, before in source.edges:
            for field_ in fields or ("",):
                label = ":".join(filter(None, (before, "each", field_, "input")))
                inner.links.append(f"{giver} -->|{label}| {name}")
        here = [Bundle(((name, ""),), "Text")]
        if self.chance(30):
            inner.link(self.random.choice(values), name, "input")
        for _ in range(self.random.randrange(3)):
            more = inner.part(here + self.some(values), depth + 1)
            here += [more] if more is not None else []
        if self.chance(20):
            inner.again(here, name)
        said: list[str] = []
        if self.chance(30):
            said.append(f"on_error: {self.random.choice(['skip', 'default'])}")
        if self.chance(40):
            said.append(f"min: {self.random.choice([0, 0, 1, 2])}")
        if self.chance(30):
            said.append(f"parallel: {self.random.choice([1, 2])}")
        if self.chance(15):
            said.append("max: 2")
        self.box(f"Map ({', '.join(said)})", inner)
        return self.random.choice(here).raised

    def some(self, values: list[Bundle]) -> list[Bundle]:
        return self.random.sample(values, self.random.randrange(min(len(values), 2) + 1))

    def part(self, values: list[Bundle], depth: int) -> Bundle | None:
        """One more piece of work."""
        kinds = ["custom", "custom", "branch", "ensemble", "list"]
        if depth < 4:
            kinds += ["loop", "loop", "map", "map"]
        match self.random.choice(kinds):
            case "custom":
                return self.custom(values)
            case "list":
                return self.custom(values, "list[Text]")
            case "ensemble":
                return self.ensemble(values)
            case "branch":
                return self.branch(values, depth)
            case "loop":
                return self.loop(values, depth)
            case _:
                return self.map(values, depth)


def nested_workflow(seed: int, *, records: bool = False) -> str:
    """The text of the workflow with this number; with ``records`` it is another one, which may have them."""
    random = Random(seed)
    nest = Nest(random, random.choice([0, 0, 5, 20]), records)
    values = [Bundle((("PROBLEM", ""),), "Text")]
    for _ in range(random.choice([1, 1, 2, 3])):
        made = nest.loop(values, 1) if random.random() < 0.5 else nest.map(values, 1)
        if made is not None:
            values.append(made)
        if random.random() < 0.5:
            more = nest.part(values, 2)
            values += [more] if more is not None else []
    end = values[-1]
    if end.type == "Text" and random.random() < 0.6:
        nest.link(end, "RETURN", None)
    else:
        nest.link(nest.custom(values[::-1][:2]), "RETURN", None)
    if random.randrange(100) < nest.wild and nest.links:
        nest.links.append(_odd(random, random.choice(nest.links)))
    # Whatever leads nowhere yet is read by one node more.
    begun = {link.split(" ")[0] for link in nest.links if ":again" not in link and "|again" not in link}
    declared = [line.split("[")[0].split("{")[0].strip() for line in nest.lines if ":::" in line]
    loose = [(name, "") for name in declared if name not in begun and not name.startswith("D")]
    for source, before in [*nest.ways, *loose]:
        nest.links.append(f"{source} -->|{before}:input| REST" if before else f"{source} -->|input| REST")
    if nest.ways or loose:
        nest.lines.append('REST["Custom (prompt: Read the rest.)"]:::CustomOp')
        nest.lines.append("SECOND([Second]):::Interface")
        nest.links += ["PROBLEM -->|input| REST", "REST --> SECOND"]
    lines = ["PROBLEM([Problem]):::Interface", "RETURN([Result]):::Interface", *nest.lines, *nest.links]
    return f"---\n{FRONT}---\nflowchart TD\n" + "".join(f"    {line}\n" for line in lines)


def _odd(random: Random, link: str) -> str:
    """An edge with a word that it had not."""
    word = random.choice(["again", "over", "first", "each"])
    head, _, rest = link.partition("|")
    return f"{head}|{word}:{rest}" if rest else link
