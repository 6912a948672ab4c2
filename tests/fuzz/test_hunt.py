"""The hunt itself: it finds what is planted, writes it down and replays it; a seed gives the same cases again."""

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


def test_what_is_planted_is_found_written_and_replayed(tmp_path: Path) -> None:
    bag = hunt(3, seconds=60, out=tmp_path / "new", through=_trips_over_emoji, most_failures=1)
    assert len(bag.failures) == 1
    said = json.loads(bag.failures[0].read_text())
    assert said["case"].startswith("3:")
    assert "ZeroDivisionError" in said["error"]
    assert len(said["events"]) == len(said["readable"]) == 1, "events that are not needed are left out"
    with pytest.raises(ZeroDivisionError):
        replay(bag.failures[0], _trips_over_emoji)
    replay(bag.failures[0])


@pytest.mark.parametrize("way", WAYS)
def test_a_seed_gives_the_same_damage_again(way: str) -> None:
    first, again, other = (WAYS[way](random.Random(seed), corpus()) for seed in ("1:x:0", "1:x:0", "1:x:1"))
    assert first == again
    assert first != other
    assert not set(first) <= {raw for run in corpus().runs for raw in run}


def test_the_damage_does_not_change_what_is_put_in() -> None:
    """The same junk must be there for the next case."""
    before = repr(JUNK)
    for number in range(300):
        WAYS["structure"](random.Random(number), corpus())
    assert repr(JUNK) == before


def test_the_command_line_tells_seed_and_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "5", "--seconds", "0.5", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "seed 5" in told
    assert "events/s" in told
    assert "0 failed" in told
    assert main(["--seed", "5", "--permute", "3"]) == 0
    assert "3 cases" in capsys.readouterr().out
