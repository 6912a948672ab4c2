"""The first cases of `make fuzz`: real events with wrong parts are refused or understood, nothing else."""

from pathlib import Path

from tests.fuzz.hunt import hunt

CASES = 2_500
ENOUGH = 3_000


def test_real_events_with_wrong_parts_are_refused_or_understood(tmp_path: Path) -> None:
    """The message of a failure has the command that repeats it."""
    bag = hunt(1, out=tmp_path, cases=CASES, ways=["structure"])
    assert not bag.failures, bag.failures[0].read_text()
    assert bag.events > ENOUGH
    assert bag.refused < bag.events / 2, "refused events test little"
