"""Classifications and terms in the catalog: which ones are attached, kept and removed, with concurrent changes too."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from itertools import count

import pytest

from shared.atlas.columns import column_name
from shared.classifying.attached import (
    AttachedKind,
    Mark,
    attached,
    forget_attached,
    note_attached,
    with_classifications,
)
from shared.classifying.planning import ClassificationPlan, apply, create_terms, lacking_terms, plan
from shared.errors import CatalogRefused, CatalogUnavailable, Misconfigured
from shared.governance.rules_file import parse_rules
from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import LineageDocument
from shared.lineage.graph import label
from shared.model import Asset, AssetSchema, Column, ColumnEdge, EdgeKind, Process
from shared.storage.memory import MemoryStorage
from tests.shared.catalog.test_contract import asset as scanned
from tests.shared.catalog.test_contract import placed
from tests.support.memory_catalog import MemoryCatalog, MemoryClassifications, MemoryTerms

TODAY = date(2026, 11, 23)
PII = """
[[tag]]
classification = "PII"
datasets = "a"
columns = "mail"
"""
TERMS = """
[[term]]
name = "Customer@Glossary"
datasets = ["b", "c"]

[[term]]
name = "Email"
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


def edges_between(source_name: str, target_name: str, *edges: tuple[str, str, str]) -> KnownProcess:
    """A process of edges: column read, column written, and the expression (`*`: the listener calls it a mask)."""
    asset, other = _asset(source_name), _asset(target_name)
    return KnownProcess(
        process=Process(
            qualified_name=f"throughline:{source_name}>{target_name}",
            name=f"{source_name} to {target_name}",
            operations=("insert",),
            inputs=(asset,),
            outputs=(other,),
            columns=tuple(
                ColumnEdge(
                    input=Column(qualified_name=asset.qualified_name, column=begin),
                    output=Column(qualified_name=other.qualified_name, column=end),
                    kind=EdgeKind.DIRECT,
                    masked=text == "*",
                    how=("TRANSFORMATION",),
                    expressions=(text,) if text not in {"", "*"} else (),
                )
                for begin, end, text in edges
            ),
            schemas=tuple(
                AssetSchema(qualified_name=asset.qualified_name, columns=COLUMNS) for asset in (asset, other)
            ),
            exact=True,
        )
    )


def lineage(*processes: KnownProcess) -> LineageDocument:
    return document_of("record", processes, expressions=True)


CHAIN = lineage(
    edges_between("a", "b", ("mail", "mail", ""), ("n", "n", "")),
    edges_between("b", "c", ("mail", "mail", "sha2(mail, ?)")),
)


class World:
    """A catalog with three data sets, of which scans found `c`; and the rows."""

    def __init__(self, glossary: str = "Glossary") -> None:
        self.catalog, self.storage = MemoryCatalog(), MemoryStorage()
        self.marks = MemoryClassifications(self.catalog)
        self.terms = MemoryTerms(self.catalog, glossary)
        own_assets = [replace(placed(name), columns=COLUMNS) for name in ("a", "b")]
        self.catalog.create_assets([*own_assets, replace(scanned("c"), columns=COLUMNS)])

    def plan(
        self, rules: str, document: LineageDocument = CHAIN, *, onto_scanned: bool = False, file: str = "rules.toml"
    ) -> ClassificationPlan:
        parsed = parse_rules(rules, file)
        own_marks = attached(self.storage)
        return plan(document, parsed, self.marks, own_marks, terms=self.terms, today=TODAY, onto_scanned=onto_scanned)

    def apply(
        self, rules: str, document: LineageDocument = CHAIN, *, onto_scanned: bool = False, file: str = "rules.toml"
    ) -> ClassificationPlan:
        create_terms(self.terms, lacking_terms(self.terms, parse_rules(rules, file)))
        classification_plan = self.plan(rules, document, onto_scanned=onto_scanned, file=file)
        apply(classification_plan, self.marks, self.storage, terms=self.terms)
        return classification_plan

    def names(self, dataset: str, column: str = "mail") -> set[str]:
        key = ("column", column_name("fs_path", f"file:///data/{dataset}", column))
        return set(self.marks.classified([key])[key].names)

    def terms_of(self, dataset: str, column: str = "") -> set[str]:
        place = f"file:///data/{dataset}"
        key = ("column", column_name("fs_path", place, column)) if column else ("fs_path", place)
        return set(self.terms.classified([key])[key].names)

    def attach(self, name: str, dataset: str) -> None:
        """As somebody else does."""
        key = ("column", column_name("fs_path", f"file:///data/{dataset}", "mail"))
        self.marks.attach(name, [self.marks.classified([key])[key].guid])


def test_a_classification_follows_values_and_a_second_apply_makes_no_call() -> None:
    world = World()
    world.apply(PII)
    assert [world.names(name) for name in "abc"] == [{"PII"}, {"PII"}, set()], "scanned assets are left alone"
    assert [world.names(name, "n") for name in "abc"] == [set(), set(), set()]
    writes = world.marks.writes
    assert not world.apply(PII).has_changes
    assert world.marks.writes == writes


def test_scanned_assets_are_classified_on_request() -> None:
    world = World()
    assert len(world.plan(PII).scanned) == 1
    world.apply(PII, onto_scanned=True)
    assert [world.names(name) for name in "abc"] == [{"PII"}, {"PII"}, {"PII"}]


def test_a_mask_stops_a_classification_and_a_plain_path_beside_it_does_not() -> None:
    world = World()
    world.apply(PII + HASHED, onto_scanned=True)
    assert [world.names(name) for name in "abc"] == [{"PII"}, {"PII"}, set()]
    parallel_lineage = lineage(
        edges_between("a", "b", ("mail", "mail", "")),
        edges_between("b", "c", ("mail", "mail", "sha2(mail, ?)")),
        edges_between("a", "c", ("mail", "mail", "max(mail)")),
    )
    world.apply(PII + HASHED, parallel_lineage, onto_scanned=True)
    assert world.names("c") == {"PII"}, "an aggregation leaks"


def test_removing_a_rule_removes_our_classifications_and_keeps_those_of_others() -> None:
    world = World()
    world.attach("PII", "b")
    world.attach("OTHER", "a")
    assert [mark.qualified_name for mark in world.apply(PII).others] == [
        column_name("fs_path", "file:///data/b", "mail")
    ]
    assert [world.names(name) for name in "ab"] == [{"PII", "OTHER"}, {"PII"}]
    world.apply("")
    assert [world.names(name) for name in "ab"] == [{"OTHER"}, {"PII"}]
    assert attached(world.storage) == {}


def test_our_classification_stays_while_the_lineage_of_its_column_is_unknown() -> None:
    world = World()
    world.apply(PII)
    unknown_process = KnownProcess(process=_with(edges_between("a", "b", ("n", "n", "")), exact=False))
    mark_plan = world.apply(PII, lineage(unknown_process))
    assert [mark.qualified_name for mark in mark_plan.kept] == [column_name("fs_path", "file:///data/b", "mail")]
    assert world.names("b") == {"PII"}
    world.apply(PII, lineage(edges_between("a", "b", ("n", "n", ""))))
    assert world.names("b") == set(), "the plan knows that nothing arrives"


def _with(known_process: KnownProcess, **changes: object) -> Process:
    from msgspec.structs import replace as with_  # noqa: PLC0415 - dataclasses' has the same name

    return with_(known_process.process, **changes)


def test_certified_data_sets_are_classified_like_columns() -> None:
    world = World()
    world.apply('[[certified]]\ndatasets = "b"\n')
    key = ("fs_path", "file:///data/b")
    assert world.marks.classified([key])[key].names == {"Certified"}
    world.apply("")
    assert world.marks.classified([key])[key].names == frozenset()


def test_classifications_by_scans_are_origins_and_our_own_are_not() -> None:
    found_by_scans = '[[tag]]\nclassification = "PII"\nclassified_as = "MICROSOFT.*"\n'
    world = World()
    world.attach("MICROSOFT.PERSONAL.EMAIL", "a")
    world.apply(found_by_scans)
    assert world.names("b") == {"PII"}
    tag_rule = '[[tag]]\nclassification = "PII"\nclassified_as = "PII"\n'
    world.apply(tag_rule)
    assert world.names("b") == set(), "what we attached is no reason to keep it"


class _Killed:
    """Writes to the catalog, of which one fails; `late`: it takes effect all the same."""

    def __init__(self, *, call_count: int, late: bool) -> None:
        self._left = call_count
        self._late = late

    def die(self, act: Callable[[], None]) -> None:
        self._left -= 1
        if self._left >= 0 or self._late:
            act()
        if self._left < 0:
            self._left = 10**9
            raise CatalogUnavailable("it was killed")


class _KilledMarks(MemoryClassifications):
    def __init__(self, catalog: MemoryCatalog, killed: _Killed) -> None:
        super().__init__(catalog)
        self._killed = killed

    def attach(self, name: str, guids: Sequence[str]) -> None:
        self._killed.die(lambda: MemoryClassifications.attach(self, name, guids))

    def detach(self, name: str, guid: str) -> None:
        self._killed.die(lambda: MemoryClassifications.detach(self, name, guid))


class _KilledTerms(MemoryTerms):
    def __init__(self, catalog: MemoryCatalog, killed: _Killed) -> None:
        super().__init__(catalog, glossary="")
        self._killed = killed

    def create_glossary(self, name: str) -> None:
        self._killed.die(lambda: MemoryTerms.create_glossary(self, name))

    def create_terms(self, glossary: str, names: Sequence[str]) -> None:
        self._killed.die(lambda: MemoryTerms.create_terms(self, glossary, names))

    def attach(self, name: str, guids: Sequence[str]) -> None:
        self._killed.die(lambda: MemoryTerms.attach(self, name, guids))

    def detach(self, name: str, guid: str) -> None:
        self._killed.die(lambda: MemoryTerms.detach(self, name, guid))


@pytest.mark.parametrize("late", [False, True], ids=["before the call", "after it"])
def test_an_apply_killed_at_any_call_is_completed_by_the_next_one(late: bool) -> None:
    for call_count in count():
        world = World(glossary="")
        killed = _Killed(call_count=call_count, late=late)
        world.marks, world.terms = _KilledMarks(world.catalog, killed), _KilledTerms(world.catalog, killed)
        failures = 0
        for rules in (PII + TERMS, PII + TERMS, "", ""):
            try:
                world.apply(rules)
            except CatalogUnavailable:
                failures += 1
                world.apply(rules)
            assert world.names("a") == ({"PII"} if rules else set())
            assert world.names("b") == ({"PII"} if rules else set())
            assert world.terms_of("a", "mail") == ({"Email@Glossary"} if rules else set())
            assert world.terms_of("b") == ({"Customer@Glossary"} if rules else set())
        assert attached(world.storage) == {}
        if not failures:
            assert call_count == 10, "glossary, terms, three calls that attach, five that take away"
            return


class _LostAnswers(MemoryClassifications):
    """Loses answers of so many calls that attach, which then are tried again."""

    lost = 0

    def attach(self, name: str, guids: Sequence[str]) -> None:
        if not self.lost:
            super().attach(name, guids)
            return
        self.lost -= 1
        try:
            super().attach(name, guids)
            super().attach(name, guids)
        except CatalogRefused as error:
            error.after_lost_try = True
            raise


@pytest.mark.parametrize("lost_call", [0, 1, 2])
def test_a_classification_counts_as_ours_after_the_catalogs_answer_was_lost(lost_call: int) -> None:
    world = World()
    world.marks = marks = _LostAnswers(world.catalog)
    marks.lost = lost_call
    world.apply(PII)
    assert [world.names(name) for name in "ab"] == [{"PII"}, {"PII"}]
    assert len(attached(world.storage)) == 2
    world.apply("")
    assert [world.names(name) for name in "ab"] == [set(), set()]


@pytest.mark.parametrize(("lost_call", "own_count"), [(0, 1), (1, 2)])
def test_a_classification_that_another_user_attaches_meanwhile_is_ours_only_if_an_answer_was_lost(
    lost_call: int, own_count: int
) -> None:
    world = World()
    world.marks = marks = _LostAnswers(world.catalog)
    mark_plan = world.plan(PII)
    world.attach("PII", "b")
    marks.lost = lost_call
    apply(mark_plan, marks, world.storage, terms=world.terms)
    assert [world.names(name) for name in "ab"] == [{"PII"}, {"PII"}]
    assert len(attached(world.storage)) == own_count


# --- glossary terms


def test_terms_are_created_and_attached_to_columns_and_whole_data_sets() -> None:
    """A second apply makes no call that writes; a scanned data set is left alone."""
    world = World()
    mark_plan = world.apply(TERMS)
    assert world.terms.glossaries() == {"Glossary": {"Customer", "Email"}}
    assert [world.terms_of(name) for name in "abc"] == [set(), {"Customer@Glossary"}, set()]
    assert [world.terms_of(name, "mail") for name in "abc"] == [{"Email@Glossary"}, {"Email@Glossary"}, set()]
    assert [(mark.kind, mark.name) for mark in mark_plan.scanned] == [
        (AttachedKind.TERM, "Customer@Glossary"),
        (AttachedKind.TERM, "Email@Glossary"),
    ]
    assert world.marks.writes == 0
    writes = world.terms.writes
    assert not world.apply(TERMS).has_changes
    assert world.terms.writes == writes
    world.apply(TERMS, onto_scanned=True)
    assert (world.terms_of("c"), world.terms_of("c", "mail")) == ({"Customer@Glossary"}, {"Email@Glossary"})


def test_removing_a_rule_removes_our_terms_and_keeps_those_of_others() -> None:
    world = World()
    world.terms.create_terms("Glossary", ["Customer", "Other"])
    key = ("fs_path", "file:///data/b")
    guid = world.terms.classified([key])[key].guid
    world.terms.attach("Customer@Glossary", [guid])
    world.terms.attach("Other@Glossary", [guid])
    mark_plan = world.apply(TERMS)
    assert [mark.qualified_name for mark in mark_plan.others] == ["file:///data/b"]
    world.apply(PII)
    assert world.terms_of("a", "mail") == set()
    assert world.terms_of("b") == {"Customer@Glossary", "Other@Glossary"}
    assert {mark.kind for mark in attached(world.storage)} == {AttachedKind.CLASSIFICATION}
    assert world.names("a") == {"PII"}


def test_a_term_and_a_classification_of_one_name_are_two_rows() -> None:
    world = World()
    marks = [
        Mark(kind=kind, name="PII", type="column", qualified_name=column_name("fs_path", "file:///data/a", "mail"))
        for kind in AttachedKind
    ]
    note_attached(world.storage, marks, "r")
    forget_attached(world.storage, marks[0], "r")
    assert attached(world.storage) == {marks[1]: {"r"}}


def test_a_glossary_that_does_not_exist_is_refused_before_anything_is_written() -> None:
    """The first one is made where the catalog has none."""
    world = World()
    with pytest.raises(
        Misconfigured, match=r"rules.toml:2: there is no glossary Glosary; the catalog has Glossary"
    ) as e:
        world.apply('\n[[term]]\nname = "Customer@Glosary"\ndatasets = "b"\n' + PII)
    assert "Did you mean Customer@Glossary?" in str(e.value)
    assert (world.marks.writes, world.terms.writes) == (0, 0)
    world = World(glossary="")
    with pytest.raises(Misconfigured, match=r"no glossary Sales; the catalog has none\. Create it"):
        world.apply('[[term]]\nname = "Customer@Sales"\ndatasets = "b"\n')
    world.apply(TERMS)
    assert world.terms_of("b") == {"Customer@Glossary"}


# --- several rules files


OTHER = """
[[tag]]
classification = "PII"
datasets = "b"
columns = "n"
[[term]]
name = "Customer@Glossary"
datasets = "c"
"""


def test_two_rules_files_do_not_undo_one_another() -> None:
    world = World()
    world.apply(PII, file="crm/rules-crm.toml")
    planned = world.plan(OTHER, file="rules-ml.toml")
    assert (len(planned.attach), planned.detach) == (1, {}), "the term of c is left alone: a scan found c"
    world.apply(OTHER, file="rules-ml.toml")
    assert [world.names(*place) for place in (("a",), ("b",), ("b", "n"))] == [{"PII"}, {"PII"}, {"PII"}]
    assert not world.plan(PII, file="/ci/checkout/rules-crm.toml").has_changes, "the folder does not matter"
    world.apply("", file="rules-crm.toml")
    assert [world.names(*place) for place in (("a",), ("b",), ("b", "n"))] == [set(), set(), {"PII"}]
    world.apply("", file="rules-ml.toml")
    assert attached(world.storage) == {}


def test_what_two_files_give_goes_with_the_last_of_them() -> None:
    world = World()
    world.apply(PII, file="one.toml")
    joined = world.apply(PII, file="two.toml")
    assert (len(joined.joined), joined.has_changes, joined.others) == (2, False, ())
    report = world.apply("", file="one.toml")
    assert (len(report.left), report.has_changes) == (2, False)
    assert world.names("a") == {"PII"}
    assert len(world.apply("", file="two.toml").detach) == 2
    assert world.names("a") == set()
    assert attached(world.storage) == {}


def test_a_file_may_name_itself_so_that_two_of_one_name_are_apart() -> None:
    world = World()
    world.apply('name = "crm"\n' + PII)
    assert not world.plan(OTHER).detach
    assert len(world.plan('name = "crm"\n').detach) == 2
    assert set(attached(world.storage).values()) == {frozenset({"crm"})}


# --- attached classifications as tags


def test_attached_classifications_are_tags_of_the_document() -> None:
    world = World()
    world.apply(
        PII
        + TERMS
        + """
[[certified]]
datasets = "b"
"""
    )
    merged = with_classifications(CHAIN, attached(world.storage))
    names = {label(merged.datasets[merged.columns[tag.column].dataset], merged.columns[tag.column].name): tag.name
             for tag in merged.tags}  # fmt: skip
    assert names == {"a.mail": "PII", "b.mail": "PII"}, "terms are no tags"
    assert {dataset.name: dataset.tags for dataset in merged.datasets} == {"a": (), "b": ("Certified",), "c": ()}
    assert with_classifications(CHAIN, {}) is CHAIN
