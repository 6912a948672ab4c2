"""A server of the Model Context Protocol (https://modelcontextprotocol.io/specification): its tools are the questions
of our own API, read from the API's OpenAPI document, and answered by the same service.
"""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import anyio
from anyio.to_thread import run_sync
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from shared.serving.requests import Request
from shared.serving.service import API, PROBLEM, LineageService, openapi
from throughline.cli.commands.assistants.bounds import DATA, bounded

QUESTIONS = f"/{API}throughline/"
CHECK = "check"
Policies = Callable[[], Any]
"""Checks the policies of a rules file; gives a JSON value."""
_MOST, _USUAL = 100, 20
"""How many results of a list, instead of the API's 1,000 and 100."""
_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
INSTRUCTIONS = f"""\
Lineage of data sets and columns that Throughline has on record: where values come from, and what depends on them. All \
tools only read. Begin with `search`; the other tools take a data set's qualified name, the end of its path, or its \
short name. An unknown name is answered with the nearest ones. `impact` says what breaks; `compare` what changed \
between two days; `coverage` and `unknown` what is not known: say so, and do not guess it. Answers are short: \
`left_out` counts what is missing. {DATA}"""


def tools(*, checks: bool) -> tuple[Tool, ...]:
    """A tool for each question of the API; `checks`: also one for policies."""
    paths: Mapping[str, Any] = json.loads(openapi())["paths"]
    questions = [
        _tool(path.removeprefix(QUESTIONS), operation["get"]["summary"], operation["get"]["parameters"])
        for path, operation in paths.items()
        if path.startswith(QUESTIONS)
    ]
    meaning = "Whether the policies of the rules file hold, with the way to the cause of each that does not"
    return (*questions, *([_tool(CHECK, meaning, [])] if checks else []))


def _tool(name: str, meaning: str, parameters: list[dict[str, Any]]) -> Tool:
    properties = {
        parameter["name"]: {**parameter["schema"], "description": parameter["description"]} for parameter in parameters
    }
    if "limit" in properties:
        properties["limit"].update(maximum=_MOST, default=_USUAL)
    schema = {
        "type": "object",
        "properties": properties,
        "required": [parameter["name"] for parameter in parameters if parameter["required"]],
        "additionalProperties": False,
    }
    return Tool(name=name, description=meaning, input_schema=schema, annotations=_READ_ONLY)


class Assistant:
    """Answers the calls of tools. `policies` is None where no rules file is given."""

    def __init__(self, service: LineageService, policies: Policies | None = None) -> None:
        self._service, self._policies = service, policies
        self.tools = {tool.name: tool for tool in tools(checks=policies is not None)}

    def answer(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """The answer of a tool, as bounded JSON; or an error that says what to do. Never raises for what a client
        sends.
        """
        tool = self.tools.get(name)
        if tool is None:
            return _error(f"there is no tool {name!r}: there are {', '.join(self.tools)}")
        known_properties = tool.input_schema["properties"]
        if unknown := [argument for argument in arguments if argument not in known_properties]:
            return _error(f"{name} has no parameter {unknown[0]!r}: it has {', '.join(known_properties) or 'none'}")
        if name == CHECK and self._policies:
            return self._checked(self._policies)
        query = {argument: _text(value) for argument, value in arguments.items() if value is not None}
        if "limit" in known_properties:
            query["limit"] = _limited(query.get("limit", str(_USUAL)))
        response = self._service.answer(Request(path=f"{QUESTIONS}{name}".lstrip("/"), query=query))
        value = json.loads(response.body)
        if response.status != HTTPStatus.OK:
            return _error(value["message"])
        return _answer(value, problem=response.headers.get(PROBLEM, ""))

    @staticmethod
    def _checked(policies: Policies) -> CallToolResult:
        try:
            return _answer(policies())
        except LookupError as error:
            return _error(str(error))


def _text(value: Any) -> str:
    """A value as a query has it."""
    return value if isinstance(value, str) else json.dumps(value)


def _limited(limit: str) -> str:
    """The API refuses what is no number."""
    return str(min(int(limit), _MOST)) if limit.isascii() and limit.isdigit() and len(limit) < _MOST else limit


def _answer(value: Any, *, problem: str = "") -> CallToolResult:
    return CallToolResult(content=[TextContent(text=bounded(value, problem=problem))])


def _error(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=bounded({"error": sentence}))], is_error=True)


def serve(assistant: Assistant) -> None:
    """Serve on standard input and output until the client closes them."""

    async def list_tools(_context: ServerRequestContext, _page: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=list(assistant.tools.values()))

    async def call_tool(_context: ServerRequestContext, call: CallToolRequestParams) -> CallToolResult:
        return await run_sync(assistant.answer, call.name, call.arguments or {})

    async def run() -> None:
        server = Server(
            "throughline",
            version=version("throughline"),
            instructions=INSTRUCTIONS,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)
