"""Listening on loopback, with a clear error when a port is taken."""

import random
import socket

from throughline.local.errors import LocalError

_BACKLOG = 2048
_FREE = range(20_000, 32_000)
"""Ports outside of the range from which systems take those of outgoing connections: none of these takes one while its
server restarts.
"""
_TRIES = 20


class PortError(LocalError):
    """The port can't be listened on; the message says which, why, and what to do."""


def listen(port: int, server: str, otherwise: str) -> socket.socket:
    """Return a socket that listens on 127.0.0.1:`port` (0: a free one) for `server`.

    Raises PortError, whose message ends in the advice `otherwise`.
    """
    for candidate in () if port else random.sample(_FREE, _TRIES):
        try:
            return _listening(candidate)
        except OSError:
            continue
    try:
        return _listening(port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "it must be from 0 to 65535"
        raise PortError(
            f"port {port} for {server} can't be used ({reason}): stop what listens there, or {otherwise}"
        ) from error


def _listening(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(_BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening
