"""Requests and responses of the page and the API, and the parameters of a request, checked against their bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from http import HTTPStatus
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A GET request: `path` without the slash in front, decoded; `query` and `headers`, these in lower case."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """Status, body and headers."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class RefusedRequestError(Exception):
    """A request that has no answer: the status, and a sentence that says what to do."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def bad_request(message: str) -> RefusedRequestError:
    """A parameter is wrong."""
    return RefusedRequestError(HTTPStatus.BAD_REQUEST, message)


def not_found(message: str) -> RefusedRequestError:
    """What is asked for is not there."""
    return RefusedRequestError(HTTPStatus.NOT_FOUND, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of the query. A number is from `least` to `largest`, a text has at most `largest` characters, a
    choice is one of `choices`. Without a `default` it may be left out (None) unless it is `required`. `argument`: its
    name in the function that answers, where that is not `name`.
    """

    name: str
    meaning: str
    kind: Literal["text", "number", "flag", "day", "choice"] = "text"
    default: str = ""
    least: int = 0
    largest: int = 4096
    required: bool = False
    choices: tuple[str, ...] = ()
    argument: str = ""

    def value(self, query: Mapping[str, str]) -> Any:
        """The value in a query: a str, int, bool or date; None where it is left out. Raises RefusedRequestError."""
        text = query.get(self.name, "") or self.default
        if not text:
            if self.required:
                raise bad_request(f"the parameter {self.name} is missing: {self.meaning}")
            return None
        if len(text) > self.largest and self.kind == "text":
            raise bad_request(f"{self.name} must have at most {self.largest:,} characters")
        try:
            return self._parsed(text)
        except (KeyError, ValueError):
            raise bad_request(f"{self.name} must be {self._form}") from None

    def _parsed(self, text: str) -> Any:
        """Raises ValueError or KeyError for a text of another form."""
        if self.kind == "flag":
            return _FLAGS[text]
        if self.kind == "day":
            return date.fromisoformat(text[:_DAY])
        if self.kind == "choice":
            return self.choices[self.choices.index(text)]
        if self.kind == "number":
            if not text.isascii() or not text.isdigit() or not self.least <= int(text[:_DIGITS]) <= self.largest:
                raise ValueError(text)
            return int(text)
        return text

    @property
    def _form(self) -> str:
        return {
            "flag": "true or false",
            "day": "a day in UTC, such as 2026-11-26",
            "choice": f"one of {', '.join(self.choices)}",
            "number": f"a whole number from {self.least:,} to {self.largest:,}",
            "text": "a text",
        }[self.kind]


_DIGITS = 12
_DAY = len("2026-11-26")
_FLAGS = {"true": True, "false": False, "True": True, "False": False}
"""The Marquez client of Python sends its own spelling."""

LIMIT = Parameter(name="limit", meaning="how many results", kind="number", default="100", least=1, largest=1000)
OFFSET = Parameter(name="offset", meaning="how many to leave out", kind="number", default="0", largest=10_000_000)
AS_OF = Parameter(
    name="as_of", meaning="lineage as it was at the end of this day in UTC, such as 2026-11-20", kind="day"
)
COMPARE_WITH = Parameter(name="compare", meaning="the page marks what changed since the end of this day", kind="day")
"""A parameter of the page."""
