"""Classifications in the catalog: what is attached, left alone and taken away, whatever happens in between."""

from dataclasses import replace
from datetime import date
from itertools import count

import pytest

from shared.atlas.columns import column_name
from shared.catalog.memory import MemoryCatalog
from shared.catalog.memory_classifications import MemoryClassifications
from shared.classifying.applying import apply
from shared.classifying.attached import attached
from shared.classifying.planning import Plan, plan
from shared.errors import CatalogUnavailable
from shared.governance.rules_file.decoding import parse_rules
from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import LineageDocument
from shared.model import Asset, AssetSchema, Column, ColumnEdge, EdgeKind, Process
from shared.storage.memory import MemoryStorage
from tests.shared.catalog.test_contract import asset as scanned
from tests.shared.catalog.test_contract import placed

TODAY = date(2026, 11, 23)
PII = """
[[tag]]
classification = "PII"
datasets = "a"
columns = "mail"
"""
HASHED = """
[[mask]]
functions = ["sha2"]
author = "ann"
reason = "hashed"
expires = 2027-01-01
"""
COLUMNS = (("mail", "string"), ("n", "int"))


def _asset(name: str) -> Asset:
    return Asset(type="fs_path", qualified_name=f"file:///data/{name}", namespace="file", name=f"/data/{name}")


def _process(read: str, written: str, *edges: tuple[str, str, str]) -> KnownProcess:
    """A process of edges: column read, column written, and the expression (`*`: the listener calls it a mask)."""
    one, other = _asset(read), _asset(written)
    return KnownProcess(
        process=Process(
            qualified_name=f"throughline:{read}>{written}",
            name=f"{read} to {written}",
            operations=("insert",),
            inputs=(one,),
            outputs=(other,),
            columns=tuple(
                ColumnEdge(
                    input=Column(qualified_name=one.qualified_name, column=begin),
                    output=Column(qualified_name=other.qualified_name, column=end),
                    kind=EdgeKind.DIRECT,
                    masked=text == "*",
                    how=("TRANSFORMATION",),
                    expressions=(text,) if text not in {"", "*"} else (),
                )
                for begin, end, text in edges
            ),
            schemas=tuple(AssetSchema(qualified_name=each.qualified_name, columns=COLUMNS) for each in (one, other)),
            exact=True,
        )
    )


def lineage(*processes: KnownProcess) -> LineageDocument:
    return document_of("record", processes, expressions=True)


CHAIN = lineage(
    _process("a", "b", ("mail", "mail", ""), ("n", "n", "")), _process("b", "c", ("mail", "mail", "sha2(mail, ?)"))
)


class World:
    """A catalog with three data sets, of which scans found `c`; and the rows."""

    def __init__(self) -> None:
        self.catalog, self.storage = MemoryCatalog(), MemoryStorage()
        self.marks = MemoryClassifications(self.catalog)
        ours = [replace(placed(name), columns=COLUMNS) for name in ("a", "b")]
        self.catalog.create_assets([*ours, replace(scanned("c"), columns=COLUMNS)])

    def plan(self, rules: str, document: LineageDocument = CHAIN, *, onto_scanned: bool = False) -> Plan:
        parsed = parse_rules(rules, "rules.toml")
        ours = attached(self.storage)
        return plan(document, parsed, self.marks, ours, today=TODAY, onto_scanned=onto_scanned)

    def apply(self, rules: str, document: LineageDocument = CHAIN, *, onto_scanned: bool = False) -> Plan:
        found = self.plan(rules, document, onto_scanned=onto_scanned)
        apply(found, self.marks, self.storage)
        return found

    def names(self, dataset: str, column: str = "mail") -> set[str]:
        key = ("column", column_name("fs_path", f"file:///data/{dataset}", column))
        return set(self.marks.classified([key])[key].names)

    def attach(self, name: str, dataset: str) -> None:
        """As somebody else does."""
        key = ("column", column_name("fs_path", f"file:///data/{dataset}", "mail"))
        self.marks.attach(name, [self.marks.classified([key])[key].guid])


def test_a_classification_follows_values_and_a_second_apply_makes_no_call() -> None:
    world = World()
    world.apply(PII)
    assert [world.names(each) for each in "abc"] == [{"PII"}, {"PII"}, set()], "scanned assets are left alone"
    assert [world.names(each, "n") for each in "abc"] == [set(), set(), set()]
    writes = world.marks.writes
    assert not world.apply(PII).has_changes
    assert world.marks.writes == writes


def test_scanned_assets_are_classified_where_that_is_asked_for() -> None:
    world = World()
    assert len(world.plan(PII).scanned) == 1
    world.apply(PII, onto_scanned=True)
    assert [world.names(each) for each in "abc"] == [{"PII"}, {"PII"}, {"PII"}]


def test_a_mask_stops_and_a_plain_path_beside_it_does_not() -> None:
    world = World()
    world.apply(PII + HASHED, onto_scanned=True)
    assert [world.names(each) for each in "abc"] == [{"PII"}, {"PII"}, set()]
    beside = lineage(
        _process("a", "b", ("mail", "mail", "")),
        _process("b", "c", ("mail", "mail", "sha2(mail, ?)")),
        _process("a", "c", ("mail", "mail", "max(mail)")),
    )
    world.apply(PII + HASHED, beside, onto_scanned=True)
    assert world.names("c") == {"PII"}, "an aggregation leaks"


def test_a_removed_rule_leaves_nothing_of_ours_and_all_of_others() -> None:
    world = World()
    world.attach("PII", "b")
    world.attach("OTHER", "a")
    assert [each.qualified_name for each in world.apply(PII).others] == [
        column_name("fs_path", "file:///data/b", "mail")
    ]
    assert [world.names(each) for each in "ab"] == [{"PII", "OTHER"}, {"PII"}]
    world.apply("")
    assert [world.names(each) for each in "ab"] == [{"OTHER"}, {"PII"}]
    assert attached(world.storage) == frozenset()


def test_ours_stays_where_it_is_no_longer_known_whether_the_value_arrives() -> None:
    world = World()
    world.apply(PII)
    lost = KnownProcess(process=_with(_process("a", "b", ("n", "n", "")), exact=False))
    found = world.apply(PII, lineage(lost))
    assert [each.qualified_name for each in found.kept] == [column_name("fs_path", "file:///data/b", "mail")]
    assert world.names("b") == {"PII"}
    world.apply(PII, lineage(_process("a", "b", ("n", "n", ""))))
    assert world.names("b") == set(), "the plan knows that nothing arrives"


def _with(known: KnownProcess, **more: object) -> Process:
    from msgspec.structs import replace as with_  # noqa: PLC0415 - dataclasses' has the same name

    return with_(known.process, **more)


def test_certified_data_sets_are_classified_like_columns() -> None:
    world = World()
    world.apply('[[certified]]\ndatasets = "b"\n')
    key = ("fs_path", "file:///data/b")
    assert world.marks.classified([key])[key].names == {"Certified"}
    world.apply("")
    assert world.marks.classified([key])[key].names == frozenset()


def test_classifications_of_the_catalog_begin_a_way_but_never_our_own() -> None:
    found_by_scans = '[[tag]]\nclassification = "PII"\nclassified_as = "MICROSOFT.*"\n'
    world = World()
    world.attach("MICROSOFT.PERSONAL.EMAIL", "a")
    world.apply(found_by_scans)
    assert world.names("b") == {"PII"}
    ours = '[[tag]]\nclassification = "PII"\nclassified_as = "PII"\n'
    world.apply(ours)
    assert world.names("b") == set(), "what we attached is no reason to keep it"


class _Killed(MemoryClassifications):
    """A catalog that is gone after some writes; `late`: the last one takes effect all the same."""

    def __init__(self, catalog: MemoryCatalog, *, after: int, late: bool) -> None:
        super().__init__(catalog)
        self._left = after
        self._late = late

    def attach(self, name: str, guids: object) -> None:
        self._die(lambda: MemoryClassifications.attach(self, name, guids))  # type: ignore[arg-type] # handed on

    def detach(self, name: str, guid: str) -> None:
        self._die(lambda: MemoryClassifications.detach(self, name, guid))

    def _die(self, act: object) -> None:
        self._left -= 1
        if self._left >= 0 or self._late:
            act()  # type: ignore[operator] # see the callers
        if self._left < 0:
            self._left = 10**9
            raise CatalogUnavailable("it was killed")


@pytest.mark.parametrize("late", [False, True], ids=["before the call", "after it"])
def test_killed_at_any_call_the_next_apply_ends_right(late: bool) -> None:
    for after in count():
        world = World()
        world.marks = _Killed(world.catalog, after=after, late=late)
        failures = 0
        for rules in (PII, PII, "", ""):
            try:
                world.apply(rules)
            except CatalogUnavailable:
                failures += 1
                world.apply(rules)
            assert world.names("a") == ({"PII"} if rules else set())
            assert world.names("b") == ({"PII"} if rules else set())
        assert attached(world.storage) == frozenset()
        if not failures:
            return
