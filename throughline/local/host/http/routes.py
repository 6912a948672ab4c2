"""Routes of HTTP triggers: ASP.NET templates like `v1/{kind}/{id?}/{*rest}`, without constraints.

Format: https://learn.microsoft.com/azure/azure-functions/functions-bindings-http-webhook-trigger#customize-the-http-endpoint
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from throughline.local.host.config import HostConfig
from throughline.local.host.index import Function
from throughline.local.host.settings import AppError

_PARAMETER = re.compile(r"\{(?P<rest>\*?)(?P<name>\w+)(?P<optional>\??)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The route of one HTTP function; no methods means all."""

    function: Function
    methods: frozenset[str]
    path: re.Pattern[str]
    parameters: int


def make_routes(functions: Iterable[Function], config: HostConfig) -> tuple[Route, ...]:
    """Return the routes, those with fewest parameters first. Raises AppError for invalid templates."""
    routes, problems, prefix = [], [], config.extensions.http.route_prefix.strip("/")
    for function in functions:
        data = function.trigger.data
        template = "/".join(filter(None, (prefix, data.get("route") or function.name)))
        try:
            path = _compile(template)
        except ValueError as error:
            problems.append(f"{function.name}/function.json: route {template!r}: {error}")
            continue
        methods = frozenset(method.upper() for method in data.get("methods") or ())
        routes.append(Route(function=function, methods=methods, path=path, parameters=path.groups))
    if problems:
        raise AppError(problems)
    return tuple(sorted(routes, key=lambda route: route.parameters))


def find_route(routes: Iterable[Route], method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """Return the route for a request and its parameters; None (404, as in Azure) also for another method."""
    for route in routes:
        match = route.path.fullmatch(path)
        if match and (not route.methods or method in route.methods):
            return route, {name: value for name, value in match.groupdict().items() if value is not None}
    return None


def _compile(template: str) -> re.Pattern[str]:
    pattern = ""
    for segment in template.strip("/").split("/"):
        position, inside = 0, ""
        optional = False
        for parameter in _PARAMETER.finditer(segment):
            inside += _literal(segment[position : parameter.start()])
            value = ".*" if parameter["rest"] else "[^/]+"
            inside += f"(?P<{parameter['name']}>{value})"
            optional = bool(parameter["optional"] or parameter["rest"])
            position = parameter.end()
        inside += _literal(segment[position:])
        pattern += f"(?:/{inside})?" if optional else f"/{inside}"
    return re.compile(f"{pattern}/?", re.IGNORECASE | re.DOTALL)


def _literal(text: str) -> str:
    if "{" in text or "}" in text:
        raise ValueError(f"{text!r} has a brace that belongs to no parameter (there are no constraints here)")
    return re.escape(text)
