"""`make bench` runs and writes its figures. Speed is not tested here."""

import json
import math
import re
import signal
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from shared.openlineage.decoding import decode
from shared.translation.reference import translate_history
from tests.bench import beside, publish_missing
from tests.bench.__main__ import BENCHMARKS, main, run
from tests.bench.costs import measure as measure_costs
from tests.bench.day import Needs, simulate
from tests.bench.figures import Figure, Rounds
from tests.bench.host_calls import calls_of, events_a_second
from tests.bench.month import PRICES, ROOT, bill, quantities
from tests.bench.replay import Replay, families
from tests.bench.sizes import Sizes
from tests.bench.worker import BenchError
from tests.plugins.sample import Sample

PRICE_LIST = tomllib.loads(PRICES.read_text())

TINY = Sizes(
    decode_rounds=1,
    decode_bytes=1,
    decode_scenarios=6,
    plan_rounds=1,
    plan_bytes=1_000_000,
    curve_rounds=1,
    run_events=(10, 20),
    table_columns=(10, 20),
    receiver_rounds=1,
    receiver_events=12,
    receiver_clients=(2,),
    storage_rounds=1,
    storage_calls=2,
    call_processes=20,
    import_rounds=1,
    start_rounds=1,
    start_commands=1,
    chain_rounds=1,
    chain_events=12,
    plan_jar_blocks=2,
    plan_jar_writes=1,
    plan_jar_wide=1,
    view_datasets=60,
    view_openings=1,
    view_columns=1,
    dbt_models=4,
    load_events=24,
    senders=2,
    deadline=60.0,
)


def test_every_benchmark_reports_its_figures(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """All run on tiny sizes, on the real host, Azurite and catalog; Spark's and all scenarios with `--proofs` only."""
    proofs = request.config.getoption("--proofs")
    left_out = set() if proofs else {"plan-jar"}
    sizes = replace(TINY, decode_scenarios=None, view_openings=3, view_columns=9) if proofs else TINY
    out = tmp_path / "folder" / "bench.json"
    with (tmp_path / "table.txt").open("w") as table:
        figures = run(
            [benchmark for benchmark in BENCHMARKS if benchmark not in left_out],
            sizes,
            out=out,
            quick=True,
            console=Console(file=table, width=120),
        )
    document = json.loads(out.read_text())
    assert document["machine"]["cpus"] >= 1
    assert document["commit"]
    assert [figure["name"] for figure in document["figures"]] == [figure.name for figure in figures]
    assert {figure["benchmark"] for figure in document["figures"]} | left_out == {
        *(
            "dbt",
            "decode",
            "plan",
            "spark-plans",
            "plan-jar",
            "curve",
            "calls",
            "storage",
            "receiver",
            "import",
            "start",
            "load",
            "view",
            "address",
            "govern",
            "end to end",
        ),
    }
    (unchanged,) = (figure for figure in document["figures"] if figure["name"] == "unchanged process")
    assert (unchanged["value"], unchanged["meets_goal"]) == (0, True)
    for each in document["figures"]:
        if each is unchanged:
            continue
        assert each["value"] > 0, each
        assert each["other"] > 0, each
        assert math.isfinite(each["ratio"]), each
        assert each["ratio"] > 0, each
    printed = (tmp_path / "table.txt").read_text()
    assert [figure.name for figure in figures if figure.name[:30] not in printed] == [], "long names are cut"

    world = document["figures"][-2]["details"]["rounds"][0]
    states = world["status"]
    assert states["received"] == states["published"] + states["skipped"] + states["waiting"] + states["dead"]
    assert states["dead"] == 0
    assert states["received"] >= world["events"] >= TINY.chain_events
    assert world["azurite"]["blobs"] == world["chain_azurite"]["blobs"]


def test_another_commit_is_measured_beside_this_tree(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the whole local world too with `--proofs` only."""
    modes = ["process", "world"] if request.config.getoption("--proofs") else ["process"]
    assert beside.main(["HEAD", "--rounds", "1", "--events", "12", "--calls", "20", "--modes", *modes]) == 0
    output = capsys.readouterr().out
    for row in ("events a second", "ms an event: azurite", "ms an event: functions", "all processes", "limit: events"):
        lines = [line for line in output.splitlines() if row in line]
        assert len(lines) >= len(modes)
        assert all(float(line.split()[-1]) > 0 for line in lines), "the ratio of the last round"
    assert re.search(r"put blob \d+\.\d\d, insert row \d", output)


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    """A disturbed round does not change it; the goal says which side of it is good."""
    rounds = Rounds(ours=(2.0, 2.0, 90.0), others=(1.0, 1.0, 1.0))
    figure = rounds.figure(benchmark="b", name="n", unit="ms", compared_with="c", goal="<= 1.3", scale=10)
    assert (figure.value, figure.other, figure.ratio) == (20.0, 10.0, 2.0)
    assert figure.meets_goal is False
    assert _with_goal(">= 0.6").meets_goal is True
    assert _with_goal("").meets_goal is None


def _with_goal(goal: str) -> Figure:
    return Rounds(ours=(3.0,), others=(4.0,)).figure(benchmark="", name="", unit="", compared_with="", goal=goal)


def test_a_replayed_application_is_a_new_run_of_the_same_job(sample: Sample) -> None:
    """New run ids and later times, the same results and processes; the same seed gives the same events."""
    family_sample = [families()[index] for index in sample(range(len(families())))]
    count = len(family_sample)
    replay = Replay(seed=1, among=family_sample)
    first, second = ([replay.application() for _ in range(count)] for _ in range(2))
    for first_application, other in zip(first, second, strict=True):
        assert not {item.run for item in first_application} & {item.run for item in other}
        events_before, events_after = ([decode(item.raw) for item in items] for items in (first_application, other))
        assert [event.type for event in events_before] == [event.type for event in events_after]
        assert min(event.time for event in events_before) < min(event.time for event in events_after)
        assert sorted(run.state for run in translate_history(events_before).runs) == sorted(
            run.state for run in translate_history(events_after).runs
        )
        assert translate_history(events_before).processes == translate_history(events_after).processes
    second_replay = Replay(seed=1, among=family_sample)
    assert [item.run for item in second_replay.application()] == [item.run for item in first[0]]


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message lists the known ones."""
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "nothing"])
    assert "end-to-end" in capsys.readouterr().err


def test_requests_are_counted_by_azure_s_billing_classes() -> None:
    """A new job, and the same job again: stored each time, without a call to the catalog for unchanged processes."""
    costs = measure_costs(["customer_master"])
    for turn in ("a new job", "the same job again"):
        assert costs[f"{turn}: receiver"]["blob write"] == pytest.approx(1, abs=0.01)
        assert costs[f"{turn}: receiver"]["table"] >= 1
        assert costs[f"{turn}: parser"]["table"] > 0
    assert costs["a new job: publisher"]["catalog"] > 0
    assert "catalog" not in costs["the same job again: publisher"]
    assert costs["archive"]["blob delete"] > 0
    assert set(costs["idle sweep"]) == {"blob list", "blob other", "table"}


def test_requests_of_the_host_are_counted_and_limit_the_event_rate_of_an_account() -> None:
    event_grid, queue = calls_of("eventGrid"), calls_of("queue")
    assert (event_grid["blob other"], event_grid["blob read"], event_grid["queue"]) == (4, 1, 3)
    assert event_grid["blob write"] == 0, "there is no receipt"
    assert queue == event_grid - Counter({"blob other": 4})
    own_calls = {"receiver": {"table": 1.0, "blob write": 1.0, "catalog": 50.0}, "parser": {"table": 10.0}}
    assert events_a_second(own_calls, "eventGrid") == 20_000 / (12 + 8)
    assert events_a_second(own_calls, "queue") == 20_000 / (12 + 4)
    with pytest.raises(ValueError, match="none of eventGrid, queue"):
        calls_of("carrier pigeon")


@pytest.mark.parametrize(
    ("exit_code", "message", "result"),
    [
        (0, "", 0),
        (130, "stopped: What was written is on record: `throughline publish --missing --resume` continues", 130),
        (130, "", 0),
        (-signal.SIGINT, "", 0),
    ],
    ids=["complete", "stopped", "complete before the interrupt", "complete before the interpreter's end"],
)
def test_an_interrupted_command_is_resumed_only_if_it_is_not_complete(
    exit_code: int, message: str, result: int
) -> None:
    assert publish_missing.result_of(exit_code, message) == result


def test_a_failed_command_fails_its_benchmark() -> None:
    with pytest.raises(BenchError, match="exit code 1: no storage"):
        publish_missing.result_of(1, "no storage")


def test_a_command_that_is_stopped_repeatedly_is_measured(tmp_path: Path) -> None:
    """`python -m tests.bench.publish_missing`: a new, an emptied and an unchanged catalog, with real Azurite."""
    out = tmp_path / "publish-missing.json"
    assert publish_missing.main(["--processes", "40", "--rate", "0", "--lost", "--stop", "2", "--out", str(out)]) == 0
    new, lost_figure, unchanged = json.loads(out.read_text())["figures"]
    assert (new["what"], lost_figure["what"], unchanged["what"]) == ("new", "lost", "unchanged")
    assert unchanged["calls"] <= 5
    assert new["calls"] > max(10, 2 * unchanged["calls"])
    assert lost_figure["calls"] > max(10, 2 * unchanged["calls"])
    assert new["peak_mb"] > 0


def test_a_month_is_priced_by_counts_and_a_file_of_prices() -> None:
    """An event costs two table transactions and a blob; a tick of the sweeper lists once; the host adds its own."""
    requests = {"receiver": {"table": 2.0, "blob write": 1.0, "catalog": 9.0}, "idle sweep": {"blob list": 1.0}}
    amounts = quantities(requests, log_bytes=2e9, event_bytes=1000, events=1_000_000)
    assert (amounts["table"], amounts["write"], amounts["read"], amounts["queue"]) == (
        2_000_000,
        1_043_200,
        1_000_000,
        3_000_000,
    )
    assert (amounts["machine"], amounts["stored"], amounts["logs"], amounts["notice"]) == (1460, 1.0, 2.0, 1_000_000)
    lines = {line.name: line for line in bill(amounts, PRICE_LIST["prices"])}
    assert lines["table"].amount == pytest.approx(2_000_000 / 10_000 * PRICE_LIST["prices"]["table"]["price"])
    with pytest.raises(KeyError, match="table"):
        bill(amounts, {name: row for name, row in PRICE_LIST["prices"].items() if name != "table"})


def test_the_page_on_costs_has_the_month_that_its_prices_give() -> None:
    """The page's quantities are rounded, so the amounts differ by a few cents."""
    page = (ROOT / "docs/operate/costs.md").read_text().partition("## One month")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([\d,.]+) ?([MK]?)[^|]* \| ([\d.]+) \|", page, re.MULTILINE)
    scale = {"": 1, "K": 1_000, "M": 1_000_000}
    used = {name: float(number.replace(",", "")) * scale[unit] for name, number, unit, _ in rows}
    amounts = {name: float(amount) for name, _, _, amount in rows}
    computed = {line.name: line.amount for line in bill(used, PRICE_LIST["prices"])}
    assert amounts == pytest.approx(computed, abs=0.1)
    together = re.search(r"^\| \*\*together\*\* \| \| \| \*\*([\d.]+)\*\* \|", page, re.MULTILINE)
    assert together
    assert float(together[1]) == pytest.approx(sum(amounts.values()), abs=0.05)
    assert used["rule"] == len(json.loads((ROOT / "infra/alerts.json").read_text())["log"])


def test_a_day_is_late_only_where_a_limit_is_exceeded() -> None:
    """Every event is counted; what waits is done later, and more accounts or shards shorten the wait."""
    needs = Needs(receiver=2, behind=13, queue_rows=2.26)
    calm = simulate(needs, events=50e6, peak=1)
    assert (calm.longest_wait, calm.late_seconds, calm.throttled) == (0, 0, 0)
    assert abs(calm.events - 50e6) < 50_000
    night = simulate(needs, events=50e6, peak=3)
    shards = simulate(needs, events=50e6, peak=3, shards=16)
    assert night.longest_wait > shards.longest_wait > 600
    assert simulate(needs, events=50e6, peak=3, accounts=2).late_seconds == 0
    assert simulate(needs, events=5e9, peak=1).throttled > 0
