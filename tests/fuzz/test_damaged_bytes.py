"""The first cases of `make fuzz`: real events with broken bytes are refused or understood, nothing else."""

from pathlib import Path

from tests.fuzz.hunt import hunt

CASES = 2_500
ENOUGH = 3_000


def test_real_events_with_broken_bytes_are_refused_or_understood(tmp_path: Path) -> None:
    """The message of a failure has the command that repeats it."""
    bag = hunt(1, out=tmp_path, cases=CASES, ways=["bytes"])
    assert not bag.failures, bag.failures[0].read_text()
    assert bag.events > ENOUGH
    assert 0 < bag.refused < bag.events, "some should still be readable"
