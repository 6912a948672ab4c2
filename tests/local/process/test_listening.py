"""Ports of the local servers: free ones that stay free, and an error for one that is taken."""

from pathlib import Path

import pytest

from throughline.local.process.listening import PortError, listen

OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


@pytest.mark.skipif(not OUTGOING.exists(), reason="only Linux says from which ports it takes those of connections")
def test_no_outgoing_connection_takes_the_port_while_a_server_restarts() -> None:
    first, last = map(int, OUTGOING.read_text().split())
    for _ in range(20):
        with listen(0, "the catalog", "name another one") as listener:
            assert not first <= listener.getsockname()[1] <= last


def test_each_server_gets_a_port_of_its_own() -> None:
    listeners = [listen(0, "the catalog", "name another one") for _ in range(50)]
    try:
        assert len({listener.getsockname()[1] for listener in listeners}) == 50
    finally:
        for each in listeners:
            each.close()


@pytest.mark.parametrize(
    ("port", "reason"), [(-1, "it must be from 0 to 65535"), (65_536, "it must be from 0 to 65535")]
)
def test_a_number_that_is_no_port_is_refused(port: int, reason: str) -> None:
    with pytest.raises(PortError, match=f"port {port} for the catalog can't be used \\({reason}\\)"):
        listen(port, "the catalog", "name another one")


def test_a_taken_port_is_refused_with_the_next_step() -> None:
    with listen(0, "the catalog", "name another one") as listener:
        port = listener.getsockname()[1]
        with pytest.raises(PortError, match=r"stop what listens there, or name another one$"):
            listen(port, "the catalog", "name another one")
