"""A few rounds of `make soak`: parts of a world are killed while events are sent, and nothing is lost or doubled."""

from pathlib import Path

from tests.soak.siege import Siege, differences, settle_down
from throughline.local.world import World


def test_no_event_is_lost_or_doubled_when_the_functions_host_is_killed(tmp_path: Path) -> None:
    with World(home=tmp_path / "world", usual_ports=False) as world:
        siege = Siege(world=world, seed=3)
        rounds = list(siege.rounds(3))
        assert len(rounds) == siege.tally.killed == 3
        settle_down(world, seconds=180, hurry=True)
        assert world.functions.restarts >= 1
        assert differences(world, siege.sent) == []
        assert differences(world, siege.sent[:-1])[0] != "", "a missing event is detected"
