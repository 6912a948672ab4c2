"""The hunt itself: it finds, writes and replays a planted failure; a seed gives the same cases again."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.fuzz.__main__ import main
from tests.fuzz.chain import survives
from tests.fuzz.corpus import corpus
from tests.fuzz.damage import JUNK
from tests.fuzz.hunt import WAYS, hunt, replay


def _trips_over_emoji(raws: Sequence[bytes]) -> int:
    if any(b"\\ud83d" in raw or "\U0001f600".encode() in raw for raw in raws):
        raise ZeroDivisionError
    return survives(raws)


def test_a_planted_failure_is_found_written_and_replayed(tmp_path: Path) -> None:
    bag = hunt(3, seconds=60, out=tmp_path / "new", through=_trips_over_emoji, most_failures=1)
    assert len(bag.failures) == 1
    failure = json.loads(bag.failures[0].read_text())
    assert failure["case"].startswith("3:")
    assert "ZeroDivisionError" in failure["error"]
    assert len(failure["events"]) == len(failure["readable"]) == 1, "events that do not cause the failure are left out"
    with pytest.raises(ZeroDivisionError):
        replay(bag.failures[0], _trips_over_emoji)
    replay(bag.failures[0])


@pytest.mark.parametrize("way", WAYS)
def test_a_seed_gives_the_same_damage_again(way: str) -> None:
    first, repetition, other = (WAYS[way](random.Random(seed), corpus()) for seed in ("1:x:0", "1:x:0", "1:x:1"))
    assert first == repetition
    assert first != other
    assert not set(first) <= {raw for run in corpus().runs for raw in run}


def test_damage_does_not_change_the_inserted_values() -> None:
    """The next case must find the same values."""
    text_before = repr(JUNK)
    for number in range(300):
        WAYS["structure"](random.Random(number), corpus())
    assert repr(JUNK) == text_before


def test_the_command_line_prints_seed_and_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "5", "--seconds", "0.5", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "seed 5" in output
    assert "events/s" in output
    assert "0 failed" in output
    assert main(["--seed", "5", "--permute", "3"]) == 0
    assert "3 cases" in capsys.readouterr().out
