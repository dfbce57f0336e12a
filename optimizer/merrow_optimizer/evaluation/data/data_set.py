"""A data set read from its file: items with ids, in one part, in an order that the file's order has no influence on."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.data.code_tasks import VisibleTests
from merrow_optimizer.evaluation.data.drafts import ItemDraft
from merrow_optimizer.evaluation.data.formats import TOO_DEEP, DataRecord, kind_of, read_records
from merrow_optimizer.evaluation.data.kept_items import ItemFile, KeptItems
from merrow_optimizer.evaluation.data.parts import PARTS, SEED, ids_in_order, part_in_name, split
from merrow_optimizer.evaluation.data.problems import Collector, DataError, DataProblem, listed
from merrow_optimizer.evaluation.data.readers import OWN, READERS, RecordReader, own_data, reader_in_name
from merrow_optimizer.evaluation.data.settings import DataSettings, settings_beside
from merrow_optimizer.evaluation.items import Item, RecordLocation, hash_of
from merrow_runtime.values import as_text, canonical

_ID_DIGITS = 12


@dataclass(frozen=True, slots=True)
class DataSet:
    """Items of a file.

    Attributes:
        file: where they are from.
        items: those of the part, in the seed's order; after a limit or a choice of ids only these.
        part: ``validate``, ``test`` or ``all``.
        hash: SHA-256 of all items of the file, whatever the part, the limit and their order, in hexadecimal.
        held_out: whether the part is ``test``, which is for final figures only.
        reader: its name, ``own`` for data that is read by mapping.
        metric_name: the metric that the data asks for.
        metric_options: what that metric is made with.
        total: how many items the part has, before a limit or a choice.
        solutions: where solved ones were asked for, the worked solution of each item by its id, as a text.
        unsolved: how many records of the file were left out since they have none.
    """

    file: Path
    items: Sequence[Item]
    part: str
    hash: str
    held_out: bool
    reader: str
    metric_name: str
    metric_options: Mapping[str, Any]
    total: int
    solutions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    unsolved: int = 0


def read_items(
    file: Path,
    *,
    reader: str | None = None,
    mapping: Mapping[str, str] | None = None,
    gold: str | None = None,
    golds: Mapping[str, str] | None = None,
    id_field: str | None = None,
    part: str | None = None,
    limit: int | None = None,
    items: Sequence[str] = (),
    seed: int = SEED,
    solved: bool = False,
    solution: str | None = None,
) -> DataSet:
    """Read a data set.

    What isn't given here is taken from the TOML file beside the data, else from the file's name.

    Args:
        file: ``.jsonl``, ``.json`` or ``.csv``.
        reader: name of one of `READERS`; None with ``gold``, or for a file that isn't named like a published data set: own data.
        mapping: workflow inputs, each with the name of the field that it gets.
        gold: the field with the right answer, for own data.
        golds: in its place, by fields of an answer the fields with their right values.
        id_field: the field with an id, for own data; None: ``id`` where a record has it.
        part: ``validate``, ``test`` or ``all``; None: the part that the file's name says, else ``validate`` for a published data
            set and ``all`` for own data.
        limit: how many items to keep at most, the first in the seed's order.
        items: ids to keep, also several in one text with commas between them; ``@file`` stands for the ids in that file, one a
            line.
        seed: of the order.
        solved: leave out records without a worked solution, and keep those of the others.
        solution: the field with it; None: the one that the reader knows.

    Raises:
        DataError: with everything that is wrong, and where.
    """
    settings = settings_beside(file)
    chosen = _reader(file, reader, gold, golds, id_field, settings)
    problems = Collector(file)
    if limit is not None and limit < 1:
        problems.add("The limit must be at least 1.", field="limit")
    if part is not None and part not in PARTS:
        near = closest(part, PARTS)
        problems.add(
            f"There is no part `{part}`; {f'did you mean `{near}`?' if near else 'choose validate, test or all.'}"
        )
    problems.raise_all()
    if solution is not None:
        chosen = replace(chosen, solution=(solution,))
    wanted = _Solved(chosen.solution) if solved else None
    read = _read(chosen, {**settings.mapping, **(mapping or {})}, settings.tests, problems, wanted)
    problems.raise_all()
    everything = read.numbers
    parts, name = _parts(file, everything, part, chosen)
    kept = ids_in_order(parts[name], seed)
    total = len(kept)
    if items:
        kept = _selected(kept, _ids(items, everything.keys()), file, everything, name)
    kept = kept[:limit]
    return DataSet(
        file,
        KeptItems(read.file, {own: everything[own] for own in kept}),
        name,
        hashlib.sha256("\n".join(sorted(read.digests)).encode()).hexdigest(),
        name == "test",
        chosen.name,
        chosen.metric,
        chosen.options,
        total,
        {} if wanted is None else {own: wanted.found[own] for own in kept},
        0 if wanted is None else wanted.unsolved,
    )


class _Solved:
    """Looks for worked solutions in these fields; those that were ``found``, by the id of their item."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields = fields
        self.unsolved = 0
        self.found: dict[str, str] = {}

    def solution(self, record: DataRecord) -> str | None:
        """That of a record; None, which is counted, where it has none."""
        values = (record.fields.get(name) for name in self.fields)
        found = next((as_text(value).strip() for value in values if value is not None and as_text(value).strip()), None)
        self.unsolved += found is None
        return found


def _reader(
    file: Path,
    reader: str | None,
    gold: str | None,
    golds: Mapping[str, str] | None,
    id_field: str | None,
    settings: DataSettings,
) -> RecordReader:
    """The reader with the metric that the settings choose, if any. Own data is compared exactly where nothing else is said."""
    named = golds is not None or bool(gold)
    name = reader or (None if named else settings.reader)
    if name is None and not (named or settings.gold):
        name = reader_in_name(file)
    if name is not None and name != OWN and name not in READERS:
        near = closest(name, READERS)
        hint = f"did you mean `{near}`?" if near else f"the readers are {listed(list(READERS))}."
        raise DataError.of(f"There is no reader `{name}`; {hint}", file)
    if name is None or name == OWN:
        own_gold = None if golds is not None else gold or settings.gold
        chosen = own_data(own_gold, id_field or settings.id_field, settings.metric or "exact", golds)
        return RecordReader(chosen.name, chosen.metric, chosen.fields, chosen.make, settings.metric_options)
    known = READERS[name]
    given = [word for word, value in (("gold", named or settings.gold), ("id", id_field or settings.id_field)) if value]
    if given:
        raise DataError.of(
            f"The reader {name} knows its fields; leave out `{given[0]}`, or choose the reader `{OWN}`.", file
        )
    if settings.metric is None:
        return known
    return RecordReader(
        known.name, settings.metric, known.fields, known.make, settings.metric_options, known.public_tests
    )


class _ItemReader:
    """Makes items of records one after another, and keeps them outside the memory. What is wrong is found in the order of these
    collectors: with records, tests, the mapping, ids.
    """

    def __init__(self, reader: RecordReader, mapping: Mapping[str, str], tests: Path | None, file: Path) -> None:
        self._reader, self._mapping = reader, mapping
        self.file = ItemFile(file)
        self.numbers: dict[str, int] = {}
        """The items by id, as the file has them."""
        self.digests: list[str] = []
        """What each item is, with its id."""
        self._fed: dict[str, None] | None = None
        self._in_records, self._in_tests, self._in_ids = (Collector(file) for _ in range(3))
        self._unmapped: list[tuple[str, str, int]] = []
        self._tests: VisibleTests | None = None
        if reader.public_tests is not None:
            beside = tests or file.with_name(f"{reader.name}_public_test.jsonl")
            records: Iterable[DataRecord] = ()
            self._in_tests = Collector(beside)
            if tests is not None or beside.is_file():
                records = read_records(self._in_tests)
            try:
                self._tests = VisibleTests(records, reader.public_tests, self._in_tests)
            except DataError as problem:
                self._in_tests.found[:] = problem.problems

    def add(self, record: DataRecord) -> str | None:
        """Take a record; the id of its item, None where there is something wrong with it."""
        draft = self._reader.draft(record, self._in_records)
        if draft is None:
            return None
        if self._tests is not None:
            draft = self._tests.joined(draft)
        draft = self._mapped(record, draft)
        own = _id(record, draft, self._in_ids)
        if own is None:
            return None
        if own in self.numbers:
            other = self.file.item(self.numbers[own]).place
            twin = "" if draft.id is not None else " (it has none of its own, and the records are equal)"
            self._in_ids.add(
                f"The record has the same id `{own}` as the one in line {other.line if other else '?'}{twin}; "
                "ids must be unique.",
                record.line,
            )
            return None
        place = RecordLocation(self._in_records.file, record.line)
        item = Item(own, draft.inputs, draft.gold, draft.extra, place, has_own_id=own == str(draft.id))
        try:
            digest = hash_of(item)
            self.file.add(item)
        except RecursionError:
            self._in_ids.add(TOO_DEEP, record.line)
            return None
        self.numbers[own] = len(self.numbers)
        self.digests.append(f"{own}:{digest}")
        return own

    def _mapped(self, record: DataRecord, draft: ItemDraft) -> ItemDraft:
        self._fed = self._fed or {}
        self._fed.update(dict.fromkeys(draft.inputs))
        if not self._mapping:
            return draft
        self._unmapped += [
            (name, field, record.line) for name, field in self._mapping.items() if field not in draft.inputs
        ]
        inputs = {name: draft.inputs.get(field) for name, field in self._mapping.items()}
        return ItemDraft(draft.id, {**draft.inputs, **inputs}, draft.gold, draft.extra)

    def tell(self, problems: Collector) -> None:
        """Add what is wrong to ``problems``."""
        problems.found += self._in_records.found + self._in_tests.found
        fed = self._fed
        unknown = [] if fed is None else [(name, field) for name, field in self._mapping.items() if field not in fed]
        for name, field in unknown:
            near = closest(field, fed or ())
            hint = f"did you mean `{near}`?" if near else f"the fields are {listed(list(fed or ()))}."
            problems.add(f"No record has this field, which the input {name} is mapped to; {hint}", field=field)
        for name, field, line in self._unmapped:
            if (name, field) not in unknown:
                problems.add(f"The record has no field `{field}`, which the input {name} is mapped to.", line)
        problems.found += self._in_ids.found


def _read(
    reader: RecordReader, mapping: Mapping[str, str], tests: Path | None, problems: Collector, solved: _Solved | None
) -> _ItemReader:
    """The items of a file; what is wrong with it is added to ``problems``."""
    read = _ItemReader(reader, mapping, tests, problems.file)
    known: dict[str, None] | None = None
    for record in read_records(problems):
        known = known or {}
        known.update(dict.fromkeys(record.fields))
        solution = "" if solved is None else solved.solution(record)
        own = None if solution is None else read.add(record)
        if solved is not None and solution is not None and own is not None:
            solved.found[own] = solution
    # A needed field that no record has is one mistake, not one for each record.
    if not _fields_of_no_record(reader, known, problems) and not (
        solved is not None and _without_solutions(solved, known, problems)
    ):
        read.tell(problems)
    return read


def _fields_of_no_record(reader: RecordReader, known: Mapping[str, None] | None, problems: Collector) -> bool:
    if known is None:
        return False
    missing = [name for name in reader.fields if name not in known]
    for name in missing:
        near = closest(name, known)
        hint = f"did you mean `{near}`?" if near else f"the fields are {listed(list(known))}."
        problems.add(f"No record has this field; {hint}", field=name)
    return bool(missing)


def _without_solutions(solved: _Solved, known: Mapping[str, None] | None, problems: Collector) -> bool:
    """Whether no record can have a solution, which is one mistake."""
    if known is not None and not solved.fields:
        problems.add(
            "No field has solutions; name the one with the worked solution or the right answer.", field="solution"
        )
    elif known is not None and not any(name in known for name in solved.fields):
        near = closest(solved.fields[0], known)
        hint = f"did you mean `{near}`?" if near else f"the fields are {listed(list(known))}."
        problems.add(f"No record has this field; {hint}", field=solved.fields[0])
    return bool(problems.found)


def _id(record: DataRecord, draft: ItemDraft, problems: Collector) -> str | None:
    """The record's own id, else a hash of all that it has."""
    own = draft.id
    if own is None or (record.is_csv and own == ""):
        return hashlib.sha256(canonical(record.fields).encode()).hexdigest()[:_ID_DIGITS]
    if type(own) not in (str, int) or own == "":
        what = "empty" if own == "" else f"{own:g}" if isinstance(own, float) else kind_of(own)
        problems.add(f"An id must be a text or a whole number, not {what}.", record.line)
        return None
    return str(own)


def _parts(
    file: Path, everything: Collection[str], part: str | None, reader: RecordReader
) -> tuple[dict[str, Collection[str]], str]:
    """The ids of each part that can be had, and the part that is meant."""
    named = part_in_name(file)
    if named is not None:
        if part not in (None, named, "all"):
            raise DataError.of(
                f"The file is the part `{named}` by its name; read the part `{part}` from the file that is named so.",
                file,
            )
        return {named: everything}, named
    name = part or ("all" if reader.name == OWN else "validate")
    parts = {**split(everything), "all": everything}
    if not parts[name]:
        raise DataError.of(
            f"The part `{name}` has no items: the file has only {len(everything)}; use the part all.", file
        )
    return parts, name


def _ids(given: Iterable[str], known: Set[str]) -> list[str]:
    """The ids that are meant: one, several with commas between them, or those in an ``@file``."""
    ids: list[str] = []
    for text in given:
        if text in known:
            ids.append(text)
            continue
        if not text.startswith("@"):
            ids += [part for each in text.split(",") if (part := each.strip())]
            continue
        file = Path(text[1:])
        try:
            lines = file.read_text("utf-8-sig").split("\n")
        except OSError as error:
            raise DataError.of(f"The file of ids can't be read: {error.strerror or error}.", file) from None
        except UnicodeDecodeError:
            raise DataError.of("The file of ids isn't UTF-8 text; save it as UTF-8.", file) from None
        ids += [line.strip() for line in lines if line.strip()]
    return ids


def _selected(kept: list[str], ids: list[str], file: Path, everything: Collection[str], part: str) -> list[str]:
    there = set(kept)
    problems: list[DataProblem] = []
    for own in dict.fromkeys(ids):
        if own in there:
            continue
        if own in everything:
            problems.append(DataProblem(f"The item `{own}` is not in the part `{part}`; read the part all.", file))
            continue
        near = closest(own, there)
        hint = f"; did you mean `{near}`?" if near else "."
        problems.append(DataProblem(f"There is no item `{own}`{hint}", file))
    if problems:
        raise DataError(problems)
    if not ids:
        raise DataError.of("The choice of items is empty; name at least one id.", file)
    wanted = set(ids)
    return [own for own in kept if own in wanted]
