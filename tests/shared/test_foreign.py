"""Foreign lineage is read around our data sets: as deep as asked, no more than what changed, within its time."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from shared import foreign
from shared.atlas.entities import PROCESS_TYPE, AssetEntity, ProcessEntity
from shared.catalog.port import AssetKey, ForeignProcess, ProcessLinks
from shared.foreign import ForeignLineage, ForeignReader
from tests.support.memory_catalog import MemoryCatalog

TYPE = "azure_datalake_gen2_path"
TODAY, TOMORROW = date(2026, 11, 26), date(2026, 11, 27)


class CountedCatalog(MemoryCatalog):
    """Counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.links_read = self.processes_read = 0

    def process_links(self, keys: Iterable[AssetKey]) -> dict[AssetKey, ProcessLinks]:
        key_list = list(keys)
        self.links_read += len(key_list)
        return super().process_links(key_list)

    def foreign_processes(self, guids: Iterable[str]) -> dict[str, ForeignProcess]:
        guid_list = list(guids)
        self.processes_read += len(guid_list)
        return super().foreign_processes(guid_list)

    def add(self, *names: str) -> None:
        self.create_assets(
            [AssetEntity(type=TYPE, qualified_name=name, attributes=(("name", name),)) for name in names]
        )

    def link(self, inputs: str, outputs: str, name: str = "") -> None:
        """Write a process of others between data sets of one letter each."""
        process = ProcessEntity(
            type=PROCESS_TYPE,
            qualified_name=name or f"theirs:{inputs}>{outputs}",
            attributes=(("name", name), ("columnMapping", "[]")),
            inputs=tuple(keys(inputs)),
            outputs=tuple(keys(outputs)),
        )
        self.write_processes([process], self.find(keys(inputs + outputs)))


def keys(letters: str) -> list[AssetKey]:
    return [(TYPE, letter) for letter in letters]


def reader(
    catalog: MemoryCatalog,
    *,
    depth: int = 2,
    day: date = TODAY,
    lineage: ForeignLineage | None = None,
    may_continue: Callable[[], bool] = lambda: True,
) -> ForeignReader:
    foreign_reader = ForeignReader(catalog=catalog, depth=depth, day=day, may_continue=may_continue)
    foreign_reader.begin(lineage or ForeignLineage())
    return foreign_reader


def names(lineage: ForeignLineage) -> list[str]:
    return [process.qualified_name.removeprefix("theirs:") for process in lineage.foreign]


@pytest.fixture
def catalog() -> CountedCatalog:
    """`m` is ours: made of a > b > c, and read on the way to x > y > z."""
    counted = CountedCatalog()
    counted.add(*"abcmxyzo")
    for pair in ("ab", "bc", "cm", "mx", "xy", "yz", "bo", "ox"):
        counted.link(*pair)
    counted.link("m", "x", "throughline:ours")
    return counted


@pytest.mark.parametrize(
    ("depth", "process_names"),
    [(1, ["c>m", "m>x"]), (2, ["b>c", "c>m", "m>x", "x>y"]), (9, ["a>b", "b>c", "c>m", "m>x", "x>y", "y>z"])],
)
def test_upstream_and_downstream_are_followed_so_far_and_ours_are_left_out(
    catalog: CountedCatalog, depth: int, process_names: list[str]
) -> None:
    assert names(reader(catalog, depth=depth).walk(keys("m"))) == process_names


def test_nothing_is_read_twice_on_a_day_and_everything_once_on_the_next(catalog: CountedCatalog) -> None:
    first = reader(catalog).walk(keys("m"))
    counts = catalog.links_read, catalog.processes_read
    assert reader(catalog, lineage=first).walk(keys("m")) == first
    assert (catalog.links_read, catalog.processes_read) == counts
    assert names(reader(catalog, day=TOMORROW, lineage=first).walk(keys("m"))) == names(first)
    assert catalog.links_read == 2 * counts[0]
    assert catalog.processes_read == 2 * counts[1] - 1, "ours stays ours"


def test_a_new_data_set_costs_what_is_around_it(catalog: CountedCatalog) -> None:
    remembered = reader(catalog, depth=1).walk(keys("m"))
    catalog.links_read = catalog.processes_read = 0
    assert names(reader(catalog, depth=1, lineage=remembered).walk(keys("mo"))) == ["b>o", "c>m", "m>x", "o>x"]
    assert (catalog.links_read, catalog.processes_read) == (1, 2)


def test_changed_processes_alone_are_read_again(catalog: CountedCatalog) -> None:
    remembered = reader(catalog).walk(keys("m"))
    catalog.links_read = catalog.processes_read = 0
    catalog.link("m", "o", "theirs:new")  # a new one
    catalog.link("b", "o", "theirs:b>c")  # one that no longer leads to us
    catalog.delete_process("theirs:c>m")
    new_reader = reader(catalog, lineage=remembered)
    guids = {guid for key in keys("mboc") for links in [catalog.process_links([key])[key]] for guid in links.readers}
    deleted = {row.guid for row in remembered.processes if row.process and row.process.qualified_name == "theirs:c>m"}
    catalog.links_read = 0
    new_reader.update(guids | deleted)
    assert names(new_reader.walk(keys("m"))) == ["m>x", "new", "o>x", "x>y"]
    assert catalog.links_read == 1, "o, which was not near before"
    assert catalog.processes_read == len(guids | deleted) + 1


def test_what_time_does_not_allow_waits_and_what_was_known_stays(catalog: CountedCatalog) -> None:
    remembered = reader(catalog).walk(keys("m"))

    def allowed(batches: int) -> Callable[[], bool]:
        answers: Iterator[bool] = iter([True] * batches)
        return lambda: next(answers, False)

    for batches in range(8):
        late_reader = reader(catalog, day=TOMORROW, lineage=remembered, may_continue=allowed(batches))
        assert names(late_reader.walk(keys("m"))) == names(remembered)
        assert bool(late_reader.waiting) == (batches < 7)
    lineage, rounds, waiting = ForeignLineage(), 0, 1
    while waiting:
        unfinished = reader(catalog, lineage=lineage, may_continue=allowed(1))
        lineage = unfinished.walk(keys("m"))
        rounds, waiting = rounds + 1, unfinished.waiting
    assert names(lineage) == names(remembered)
    assert rounds == 7


def test_more_processes_than_the_bound_are_left_out_and_counted(
    catalog: CountedCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "MAX_PROCESSES", 3)
    bounded = reader(catalog)
    assert len(bounded.walk(keys("m")).processes) == 3
    assert bounded.left_out


def test_deletions_that_no_search_lists_are_seen_on_the_next_day(catalog: CountedCatalog) -> None:
    remembered = reader(catalog).walk(keys("m"))
    catalog.delete_process("theirs:m>x")
    assert catalog.changed_processes(datetime.now(UTC) + timedelta(hours=1)) == frozenset()
    assert "m>x" in names(reader(catalog, lineage=remembered).walk(keys("m")))
    assert "m>x" not in names(reader(catalog, day=TOMORROW, lineage=remembered).walk(keys("m")))


def test_circles_end(catalog: CountedCatalog) -> None:
    catalog.link("z", "m")
    catalog.link("x", "m")
    assert len(names(reader(catalog, depth=9).walk(keys("m")))) == 10
