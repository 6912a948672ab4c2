"""Routes of HTTP triggers: ASP.NET templates like `v1/{kind}/{id?}` or `{*rest}`; a parameter is a whole segment.

Format: https://learn.microsoft.com/azure/azure-functions/functions-bindings-http-webhook-trigger#customize-the-http-endpoint
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from throughline.local.host.config import HostConfig
from throughline.local.host.index import Function

_PARAMETER = re.compile(r"\{(?P<rest>\*?)(?P<name>\w+)(?P<optional>\??)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The route of one HTTP function; no methods means all."""

    function: Function
    methods: frozenset[str]
    path: re.Pattern[str]


def make_routes(functions: Iterable[Function], config: HostConfig) -> tuple[Route, ...]:
    """Return the routes, those with fewest parameters first."""
    routes = []
    for function in functions:
        data = function.trigger.data
        template = f"{config.extensions.http.route_prefix}/{data.get('route') or function.name}"
        path = "".join(map(_segment, template.strip("/").split("/")))
        methods = frozenset(method.upper() for method in data.get("methods") or ())
        routes.append(
            Route(function=function, methods=methods, path=re.compile(f"{path}/?", re.IGNORECASE | re.DOTALL))
        )
    return tuple(sorted(routes, key=lambda route: route.path.groups))


def find_route(routes: Iterable[Route], method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """Return the route for a request and its parameters; None (404, as in Azure) also for another method."""
    for route in routes:
        match = route.path.fullmatch(path)
        if match and (not route.methods or method in route.methods):
            return route, {name: value for name, value in match.groupdict().items() if value is not None}
    return None


def _segment(segment: str) -> str:
    """Return the pattern of one segment of a template, with the slash before it."""
    parameter = _PARAMETER.fullmatch(segment)
    if parameter is None:
        return f"/{re.escape(segment)}"
    value = f"/(?P<{parameter['name']}>{'.*' if parameter['rest'] else '[^/]+'})"
    return f"(?:{value})?" if parameter["rest"] or parameter["optional"] else value
