"""Whether a server on this machine answers."""

import requests


def answer_of(url: str, *, seconds: float = 5) -> requests.Response | None:
    """Return the successful answer to GET; None without one within `seconds`."""
    try:
        answer = requests.get(url, timeout=seconds)
    except requests.RequestException:
        return None
    return answer if answer.ok else None
