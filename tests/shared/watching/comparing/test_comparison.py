"""The changes between two snapshots of lineage: schemas, sources, masks; renames are one change."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from shared.lineage.dataset_facts import with_facts
from shared.lineage.document import NOT_SET, FailedTest, Kind
from shared.watching.comparing.changes import Change, ChangeKind, Severity, View
from shared.watching.comparing.comparison import changes, same, widens
from shared.watching.comparing.snapshot import (
    BrokenGate,
    Overdue,
    Snapshot,
    UnreadableSnapshotError,
    due,
    overdue,
    packed,
    snapshot_of,
    unpacked,
)
from shared.watching.messages import messages
from tests.support.states import name_of, random_state, state

JOBS = {
    "load": ["raw.id > orders.id", "raw.mail > orders.mail mask", "raw.sum > orders.sum", "raw.day > orders. filter"],
    "report": ["orders.id > report.id", "orders.sum > report.total", "orders.mail > report.mail"],
}
SCHEMAS = {
    "raw": "id:int mail:string sum:decimal(10,2) day:date",
    "orders": "id:int mail:string sum:decimal(10,2)",
    "report": "id:int total:decimal(10,2) mail:string",
}
BEFORE = state(JOBS, SCHEMAS)


def changes_between(snapshot_before: Snapshot, snapshot_after: Snapshot) -> list[tuple[str, str, str, str]]:
    """Changes as (kind, table, column, severity)."""
    return [
        (str(change.kind), change.dataset[1].removeprefix(name_of("")), change.column, str(change.severity))
        for change in changes(snapshot_before, snapshot_after)
    ]


def test_equal_states_have_no_changes_and_equal_bytes() -> None:
    second_state = state(dict(reversed(JOBS.items())), dict(reversed(SCHEMAS.items())))
    assert packed(second_state) == packed(BEFORE)
    assert unpacked(packed(BEFORE)) == BEFORE
    assert changes(BEFORE, second_state) == ()


def test_a_state_that_is_not_readable_is_refused() -> None:
    for data in (b"", b"{}", packed(BEFORE)[:40]):
        with pytest.raises(UnreadableSnapshotError):
            unpacked(data)


def test_a_state_with_any_damaged_bit_is_refused_or_read_as_it_was() -> None:
    """Some bits of gzip's header have no meaning."""
    packed_state = packed(BEFORE)
    refused = 0
    for position in range(8 * len(packed_state)):
        data = bytearray(packed_state)
        data[position // 8] ^= 1 << position % 8
        try:
            assert unpacked(bytes(data)) == BEFORE
        except UnreadableSnapshotError:
            refused += 1
    assert refused > 7 * len(packed_state)


@pytest.mark.parametrize(
    ("table", "columns", "expected"),
    [
        ("raw", "id:int mail:string sum:decimal(10,2) day:date new:int", [("column_added", "raw", "new", "harmless")]),
        ("raw", "id:long mail:string sum:decimal(10,2) day:date", [("type_widened", "raw", "id", "risky")]),
        ("raw", "id:short mail:string sum:decimal(10,2) day:date", [("type_changed", "raw", "id", "breaking")]),
        ("report", "id:long total:decimal(10,2) mail:string", [("type_widened", "report", "id", "harmless")]),
        ("report", "id:string total:decimal(10,2) mail:string", [("type_changed", "report", "id", "risky")]),
        ("raw", "id:INTEGER mail:string sum:decimal(10,2) day:date", []),
    ],
)
def test_the_severity_of_a_schema_change_follows_its_possible_harm(table: str, columns: str, expected: object) -> None:
    assert changes_between(BEFORE, state(JOBS, {**SCHEMAS, table: columns})) == expected


def test_a_dropped_column_is_breaking_where_it_is_read_and_is_one_change() -> None:
    """The reader's lost source is no separate change."""
    jobs = {**JOBS, "load": [arrow for arrow in JOBS["load"] if "raw.mail" not in arrow]}
    state_after = state(jobs, {**SCHEMAS, "raw": "id:int sum:decimal(10,2) day:date"})
    assert changes_between(BEFORE, state_after) == [("column_dropped", "raw", "mail", "breaking")]


def test_dropping_a_column_that_only_filters_rows_is_breaking() -> None:
    jobs = {**JOBS, "load": JOBS["load"][:3]}
    state_after = state(jobs, {**SCHEMAS, "raw": "id:int mail:string sum:decimal(10,2)"})
    assert changes_between(BEFORE, state_after) == [("column_dropped", "raw", "day", "breaking")]


def test_a_dropped_column_that_nothing_reads_is_risky() -> None:
    jobs = {**JOBS, "report": JOBS["report"][:2]}
    state_after = state(jobs, {**SCHEMAS, "report": "id:int total:decimal(10,2)"})
    assert changes_between(BEFORE, state_after) == [("column_dropped", "report", "mail", "risky")]


def test_a_rename_is_one_change_for_all_columns_made_from_it() -> None:
    jobs = {
        "load": [arrow.replace("raw.mail", "raw.email") for arrow in JOBS["load"]],
        "report": JOBS["report"],
    }
    state_after = state(jobs, {**SCHEMAS, "raw": "id:int email:string sum:decimal(10,2) day:date"})
    assert changes_between(BEFORE, state_after) == [("column_renamed", "raw", "mail", "breaking")]
    (change,) = changes(BEFORE, state_after)
    assert (change.before, change.after) == ("mail", "email")


def test_renames_of_one_type_are_distinguished_by_their_readers() -> None:
    state_before = state({"a": ["s.x > t.x", "s.y > t.y"]}, {"s": "x:int y:int", "t": "x:int y:int"})
    state_after = state({"a": ["s.one > t.x", "s.two > t.y"]}, {"s": "one:int two:int", "t": "x:int y:int"})
    assert [(change.before, change.after) for change in changes(state_before, state_after)] == [
        ("x", "one"),
        ("y", "two"),
    ]


def test_ambiguous_renames_are_a_drop_and_an_addition() -> None:
    jobs = {"a": ["s.k > t.k"]}
    state_before = state(jobs, {"s": "k:int x:int y:int", "t": "k:int"})
    state_after = state(jobs, {"s": "k:int one:int two:int", "t": "k:int"})
    assert (
        sorted(change.kind for change in changes(state_before, state_after))
        == ["column_added"] * 2 + ["column_dropped"] * 2
    )


def test_a_new_or_lost_source_is_a_change_of_the_data_set_made_from_it() -> None:
    extended_jobs = {**JOBS, "load2": ["other.sum > orders.sum"]}
    state_after = state(extended_jobs, {**SCHEMAS, "other": "sum:int"})
    assert changes_between(BEFORE, state_after) == [("source_came", "orders", "", "risky")]
    assert changes_between(state_after, BEFORE) == [("source_went", "orders", "", "risky")]
    (change,) = changes(BEFORE, state_after)
    assert change.others == (("azure_datalake_gen2_path", name_of("other"), ""),)
    assert change.processes == ("throughline:v1://load2",)


def test_a_column_that_is_made_of_another_column_is_a_change() -> None:
    jobs = {**JOBS, "report": ["orders.id > report.id", "orders.sum > report.total", "orders.sum > report.mail"]}
    assert changes_between(BEFORE, state(jobs, SCHEMAS)) == [
        ("column_source_came", "report", "mail", "risky"),
        ("column_source_went", "report", "mail", "risky"),
    ]


def test_new_data_sets_and_jobs_are_no_change() -> None:
    assert changes(BEFORE, state({**JOBS, "copy": ["report.id > copy.id"]}, {**SCHEMAS, "copy": "id:int"})) == ()


def test_a_schema_that_no_run_reports_any_more_is_no_change() -> None:
    assert changes(BEFORE, state(JOBS, {key: SCHEMAS[key] for key in ("orders", "report")})) == ()


def test_a_placeholder_that_was_scanned_is_no_change() -> None:
    def moved(table: str) -> Snapshot:
        jobs = {name: [line.replace("raw.", f"{table}.") for line in lines] for name, lines in JOBS.items()}
        return state(jobs, {table: SCHEMAS["raw"], **{key: SCHEMAS[key] for key in ("orders", "report")}})

    assert changes(moved("?raw"), BEFORE) == ()
    assert [str(change.kind) for change in changes(moved("raw2"), BEFORE)] == ["source_came", "source_went"]


def test_a_lost_mask_names_the_columns_that_are_plain_now() -> None:
    state_after = state({**JOBS, "load": [arrow.removesuffix(" mask") for arrow in JOBS["load"]]}, SCHEMAS)
    (change,) = changes(BEFORE, state_after)
    assert (change.kind, change.severity, change.column) == (ChangeKind.MASK_LOST, Severity.BREAKING, "mail")
    assert [(name.removeprefix(name_of("")), column) for _, name, column in change.others] == [
        ("orders", "mail"),
        ("report", "mail"),
    ]


def test_a_path_around_a_mask_is_a_lost_mask() -> None:
    state_after = state(
        {**JOBS, "around": ["raw.mail > tmp.mail", "tmp.mail > report.mail"]}, {**SCHEMAS, "tmp": "mail:string"}
    )
    lost_changes = [change for change in changes(BEFORE, state_after) if change.kind is ChangeKind.MASK_LOST]
    assert [[name.removeprefix(name_of("")) for _, name, _ in change.others] for change in lost_changes] == [["report"]]
    assert lost_changes[0].processes == ("throughline:v1://around", "throughline:v1://around")


def test_code_in_the_place_of_a_mask_may_lose_it() -> None:
    through_code = [pair.replace(" mask", " code") for pair in JOBS["load"]]
    (change,) = changes(BEFORE, state({**JOBS, "load": through_code}, SCHEMAS))
    assert (change.kind, change.severity, change.column) == (ChangeKind.MASK_UNCERTAIN, Severity.RISKY, "mail")
    (message,) = messages(BEFORE, state({**JOBS, "load": through_code}, SCHEMAS), comparison="x", now=MONDAY)
    assert message.title == "Mask uncertain: raw, 1 column"
    assert "may reach orders.mail, report.mail plain, through code" in message.changes[0].text
    assert {dataset.qualified_name for dataset in message.hit.datasets} == {name_of("orders"), name_of("report")}


def test_a_plain_path_beside_code_is_a_lost_mask() -> None:
    state_after = state(
        {**JOBS, "load": [*JOBS["load"], "raw.mail > orders.mail code"], "a": ["raw.mail > report.mail"]}, SCHEMAS
    )
    names_by_kind = {
        change.kind: [name for _, name, _ in change.others]
        for change in changes(BEFORE, state_after)
        if "mask" in change.kind
    }
    assert names_by_kind == {ChangeKind.MASK_LOST: [name_of("report")], ChangeKind.MASK_UNCERTAIN: [name_of("orders")]}


def test_a_mask_in_the_place_of_code_or_code_in_that_of_a_copy_is_no_lost_mask() -> None:
    through_code = state({**JOBS, "load": [pair.replace(" mask", " code") for pair in JOBS["load"]]}, SCHEMAS)
    plain = state({**JOBS, "load": [pair.replace(" mask", "") for pair in JOBS["load"]]}, SCHEMAS)
    for first, second in ((through_code, BEFORE), (through_code, plain), (plain, through_code)):
        assert changes(first, second) == ()


def test_removing_a_mask_beside_a_plain_path_is_no_change() -> None:
    state_before = state({**JOBS, "plain": ["raw.mail > report.mail", "raw.mail > orders.mail"]}, SCHEMAS)
    unmasked = {**JOBS, "load": [arrow.removesuffix(" mask") for arrow in JOBS["load"]]}
    state_after = state({**unmasked, "plain": ["raw.mail > report.mail", "raw.mail > orders.mail"]}, SCHEMAS)
    assert changes(state_before, state_after) == ()


def test_broken_gates_and_overdue_jobs_are_changes_only_when_they_begin() -> None:
    moment = datetime(2026, 11, 23, 6, tzinfo=UTC)
    late = (Overdue(process="throughline:v1://load", last_start=moment, due=moment + timedelta(hours=2)),)
    gate = (BrokenGate(policy="training", rule="no_tag PII", sentence="raw.mail reaches report.mail"),)
    state_after = state(JOBS, SCHEMAS, overdue=late, broken=gate)
    assert {str(change.kind) for change in changes(BEFORE, state_after)} == {"job_overdue", "gate_broken"}
    assert changes(state_after, state_after) == ()
    assert changes(state_after, BEFORE) == ()
    second_overdue = (
        Overdue(process="throughline:v1://load", last_start=moment + timedelta(days=2), due=moment + timedelta(days=3)),
    )
    assert [str(change.kind) for change in changes(state_after, state(JOBS, SCHEMAS, overdue=second_overdue))] == [
        "job_overdue"
    ]


# --- masks against a naive oracle


_PLAIN, _PERHAPS, _MASKED = range(3)


def _ways(view: View, start: int, visited_columns: frozenset[int], *, way_kind: int) -> Iterator[tuple[int, int]]:
    """Each column at the end of a path, and how its value arrives there: plain, plain or not, or masked."""
    for edge in view.graph.out_of(start):
        if edge.kind is Kind.CONDITION or edge.output in visited_columns:
            continue
        through = max(way_kind, _MASKED if edge.masked else _PERHAPS if edge.kind is Kind.OPAQUE else _PLAIN)
        yield edge.output, through
        yield from _ways(view, edge.output, visited_columns | {edge.output}, way_kind=through)


def _exposure(snapshot: Snapshot) -> dict[tuple[object, object], set[int]]:
    """By pairs of columns: how values arrive on the paths between them."""
    view = View(snapshot.document)
    exposed: dict[tuple[object, object], set[int]] = {}
    for number in range(len(snapshot.document.columns)):
        for column, manner in _ways(view, number, frozenset({number}), way_kind=_PLAIN):
            exposed.setdefault((view.key(number), view.key(column)), set()).add(manner)
    return exposed


def test_lost_masks_are_those_of_a_naive_walk() -> None:
    kinds = {ChangeKind.MASK_LOST: _PLAIN, ChangeKind.MASK_UNCERTAIN: _PERHAPS}
    lost_counts = Counter[int]()
    for seed in range(1000):
        chance = random.Random(seed)
        state_before, state_after = random_state(chance), random_state(chance)
        was, now = _exposure(state_before), _exposure(state_after)
        expected = {
            pair: min(now[pair])
            for pair, ways in was.items()
            if ways == {_MASKED} and min(now.get(pair, {_MASKED})) != _MASKED
        }
        lost_masks = {
            ((*change.dataset, change.column), other): kinds[change.kind]
            for change in changes(state_before, state_after)
            if change.kind in kinds
            for other in change.others
        }
        assert lost_masks.items() <= expected.items(), seed
        for start, end in expected.keys() - lost_masks.keys():  # another column on a way without a mask is named for it
            assert any(
                other == end and min(now.get((start, named), {_MASKED})) != _MASKED for named, other in lost_masks
            ), seed
        lost_counts.update(lost_masks.values())
    assert min(lost_counts[exposure] for exposure in kinds.values()) > 30


# --- types


@pytest.mark.parametrize(
    ("type_before", "type_after", "wider"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("float", "double", True),
        ("long", "double", False),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(10,4)", False),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(10,2)", False),
        ("varchar(10)", "string", True),
        ("varchar(10)", "varchar(20)", True),
        ("varchar(20)", "varchar(10)", False),
        ("date", "timestamp", True),
        ("string", "int", False),
    ],
)
def test_a_type_widens_where_it_holds_every_value(type_before: str, type_after: str, wider: bool) -> None:
    assert widens(type_before, type_after) is wider


def test_spellings_of_one_type_are_equal() -> None:
    assert same("INTEGER", "int")
    assert same("Decimal(10, 2)", "decimal(10,2)")
    assert not same("int", "long")


# --- rhythm

MONDAY = datetime(2026, 11, 2, 6, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_a_steady_job_is_due_one_and_a_half_gaps_after_its_last_start() -> None:
    starts = [MONDAY + number * HOUR for number in range(10)]
    assert due(starts) == starts[-1] + 1.5 * HOUR


def test_one_gap_in_ten_may_be_longer() -> None:
    starts = [MONDAY + number * HOUR for number in range(12) if number != 5]
    assert due(starts) == starts[-1] + 1.5 * HOUR


def test_a_job_of_weekdays_is_not_late_on_saturday() -> None:
    starts = [MONDAY + number * DAY for number in range(19) if number % 7 < 5]
    assert starts[-1].strftime("%a") == "Fri"
    expected = due(starts)
    assert expected is not None
    assert expected - starts[-1] == 3 * DAY + 6 * HOUR


def test_a_job_without_rhythm_is_never_due() -> None:
    chance = random.Random(3)
    assert due(sorted(MONDAY + chance.random() * 30 * DAY for _ in range(30))) is None
    assert due([MONDAY + number * HOUR for number in range(4)]) is None


@pytest.mark.parametrize(
    ("hours", "expected"),
    [((0, 24, 48, 72, 96), True), ((0, 24, 48, 72), False), ((0, 24, 48, 72, 96, 130), False)],
)
def test_a_job_is_overdue_by_its_own_starts(hours: tuple[int, ...], expected: bool) -> None:
    """Each start has a second step a minute later, which is no start of its own."""
    starts = [MONDAY + timedelta(hours=hour, minutes=minute) for hour in hours for minute in (0, 1)]
    overdue_job = overdue("job", starts, MONDAY + timedelta(hours=133))
    assert (overdue_job is not None) == expected
    assert overdue_job is None or (overdue_job.last_start, overdue_job.due) == (
        starts[-2],
        starts[-2] + timedelta(hours=36),
    )


def _failing(*tests: tuple[str, str, str], jobs: Mapping[str, Sequence[str]] = JOBS, hour: int = 0) -> Snapshot:
    """The state with these failed tests: table, column, test."""
    document = state(jobs, SCHEMAS).document
    failures = [
        (name_of(table), FailedTest(NOT_SET, column, name, MONDAY + timedelta(hours=hour), "dq"))
        for table, column, name in tests
    ]
    return snapshot_of(with_facts(document, failed_tests=failures))


def test_a_test_that_begins_to_fail_is_a_change_once() -> None:
    first_failure, two_failures = [("raw", "id", "unique")], [("raw", "id", "unique"), ("orders", "", "row_count")]
    assert changes_between(BEFORE, _failing(*first_failure)) == [("test_failed", "raw", "id", "risky")]
    assert changes_between(_failing(*first_failure), _failing(*two_failures)) == [
        ("test_failed", "orders", "", "risky")
    ]
    assert packed(_failing(*first_failure)) == packed(_failing(*first_failure, hour=5)), "it failed again"
    assert changes_between(_failing(*two_failures), _failing()) == []


def test_the_message_of_a_failed_test_names_the_columns_downstream() -> None:
    (message,) = messages(BEFORE, _failing(("raw", "id", "unique")), comparison="x", now=MONDAY)
    assert (message.title, [change.text for change in message.changes]) == (
        "Quality of raw: 1 test failed",
        ["the test unique failed on column id"],
    )
    assert [(column.qualified_name.removeprefix(name_of("")), column.column) for column in message.hit.columns] == [
        ("orders", "id"),
        ("report", "id"),
    ]


def test_a_snapshot_has_no_times() -> None:
    """Another run of the same lineage gives the same snapshot."""
    document = BEFORE.document
    assert packed(snapshot_of(document)) == packed(BEFORE)
    assert document.times == ()


def test_every_change_names_its_subject() -> None:
    assert Change(topic="gate", severity="risky", kind="gate_broken", policy="p").subject == ("policy", "p")  # type: ignore[arg-type]
