"""Requests to this machine never go through a proxy: no proxy can reach what listens on another machine's loopback.

The usual variables decide (`HTTP_PROXY`, `NO_PROXY` …; in small letters they come first), and every client of this
process and of its children reads them: requests, urllib, Azure's SDKs. So the exception is put there, once.
"""

from collections.abc import Mapping

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NO_PROXY = ("no_proxy", "NO_PROXY")
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})


def without_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables to add to an environment, by which loopback needs no proxy; none where there is no proxy."""
    if not any(value for name, value in environment.items() if name.lower() in _PROXIES):
        return {}
    exceptions = next((environment[name] for name in _NO_PROXY if environment.get(name)), "")
    hosts = [host.strip() for host in exceptions.split(",") if host.strip()]
    if "*" in hosts:
        return {}
    return dict.fromkeys(_NO_PROXY, ",".join(dict.fromkeys((*hosts, *_LOOPBACK))))
