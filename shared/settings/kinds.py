"""Parsers of settings: text to value. A setting is a row of the table.

Each parser raises ValueError with a sentence about the mistake.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

MAX_DAYS = 3650


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A parser of a number.

    - `bounds`: its unit, floor and ceiling, for people.
    - `fits`: whether a number is within the bounds.
    - `read`: makes the number of the text, `value` the setting's value of the number.
    """

    bounds: str
    fits: Callable[[float], bool]
    read: Callable[[str], float] = float
    value: Callable[[float], Any] = float

    def __call__(self, text: str) -> Any:
        """The value of a text. Raises ValueError."""
        try:
            number = self.read(text)
        except (ValueError, OverflowError):
            number = math.nan
        if not self.fits(number):
            raise ValueError(f"must be a number of {self.bounds}")
        return self.value(number)


def span(unit: str, *, allows_zero: bool = False) -> Number:
    """A parser of a time of up to ten years, in `minutes`, `hours` or `days`. `allows_zero`: 0 gives None."""
    unit_span = timedelta(**{unit: 1})
    maximum = timedelta(days=MAX_DAYS) / unit_span
    return Number(
        bounds=f"{unit}, {'0 or more' if allows_zero else 'above 0'}, at most {maximum:,.0f}",
        fits=lambda number: 0 < number <= maximum or (allows_zero and number == 0),
        value=lambda number: number * unit_span if number else None,
    )


def whole(unit: str, maximum: int, *, least: int = 1) -> Number:
    """A parser of a whole number from `least` to `maximum`."""
    return Number(
        bounds=f"{unit}, from {least} to {maximum:,}",
        fits=lambda number: least <= number <= maximum,
        read=int,
        value=int,
    )


def rate(unit: str, maximum: int) -> Number:
    """A parser of a number from 0 to `maximum`."""
    return Number(bounds=f"{unit}, from 0 to {maximum:,}", fits=lambda number: 0 <= number <= maximum)


def or_nothing(parse: Callable[[str], str]) -> Callable[[str], str]:
    """The same parser, also for the empty text."""
    return lambda text: parse(text) if text else ""


def one_of(*words: str) -> Callable[[str], str]:
    """A parser that takes one of these words in any case, and returns it in lower case; else it raises ValueError."""

    def parse(text: str) -> str:
        word = text.strip().lower()
        if word not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return word

    return parse


def connection(text: str) -> str:
    """A parser of a connection string of a storage account, or the empty text."""
    if text and text != "UseDevelopmentStorage=true" and "AccountName=" not in text and "Endpoint=" not in text:
        raise ValueError("must be a connection string (AccountName=…;…)")
    return text


def yes_or_no(text: str) -> bool:
    """A parser of true and false."""
    if text.lower() not in {"true", "false"}:
        raise ValueError("must be true or false")
    return text.lower() == "true"


_NODES = re.compile(r"[a-z0-9_*?]*[a-z][a-z0-9_*?]*")


def nodes(text: str) -> tuple[str, ...]:
    """A parser of nodes of Spark's job names, or patterns of them, separated by commas."""
    names = _separated(text)
    wrong = [node for node in names if not _NODES.fullmatch(node)]
    if wrong:
        raise ValueError(
            f"{', '.join(map(repr, wrong))}: an operation is a node of Spark's job names, such as append_data or"
            " execute_*_command: small letters, digits, _ and the wildcards * and ?, separated by commas"
        )
    return names


def _separated(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))


def patterns(text: str) -> tuple[str, ...]:
    """A parser of patterns of names with `*` and `?`, separated by commas."""
    texts = _separated(text)
    if text.strip() and not texts:
        raise ValueError("holds only commas: write patterns separated by commas, or leave it out")
    for pattern in texts:
        if not pattern.isprintable():
            raise ValueError(f"{pattern!r} holds characters that no name has")
        if not pattern.strip("*?"):
            raise ValueError(f"{pattern!r} matches everything: write a part of a name, or leave the setting out")
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A file of rules: its path and its text, not parsed yet."""

    place: str
    text: str


_MAX_FILE_BYTES = 1024 * 1024


def file(text: str) -> TextFile | None:
    """A parser of a file's path, absolute or relative to the working directory; empty: no file."""
    if not text:
        return None
    try:
        content = Path(text).read_bytes()
        if len(content) > _MAX_FILE_BYTES:
            raise ValueError(f"{text} is larger than {_MAX_FILE_BYTES} bytes")
        return TextFile(place=text, text=content.decode())
    except OSError as error:
        raise ValueError(f"{text} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{text} is no UTF-8 text") from error


_ALLOWED = ("https://", "http://127.0.0.1:", "http://localhost:")


def endpoint(text: str) -> str:
    """Parse the URL of an endpoint; slashes at its end are removed. Raises ValueError for http:// to another machine,
    and for a user or password.
    """
    if not text.startswith(_ALLOWED):
        raise ValueError("must start with https:// (http:// only for this machine)")
    if "@" in text.split("/")[2]:
        raise ValueError("must hold no user and no password: logs show endpoints")
    return text.rstrip("/")


def addresses(text: str) -> tuple[tuple[str, str], ...]:
    """A parser of addresses by name, as `name=https://…`, separated by white space."""
    by_name: dict[str, str] = {}
    for number, word in enumerate(text.split(), start=1):
        name, _, address = word.partition("=")
        if not name or name in by_name or not address.startswith(_ALLOWED):
            raise ValueError(  # without the address, which lets in
                f"entry {number} must be NAME=https://… (http:// only for this machine), each name once"
            )
        by_name[name] = address
    return tuple(by_name.items())


def tokens(text: str) -> tuple[tuple[str, str], ...]:
    """A parser of tokens by name, as `name=token`, separated by white space."""
    by_name: dict[str, str] = {}
    for number, word in enumerate(text.split(), start=1):
        name, _, token = word.partition("=")
        if not name or name in by_name or not token or not token.isascii():
            raise ValueError(f"entry {number} must be NAME=TOKEN, each name once")  # without the token
        by_name[name] = token
    return tuple(by_name.items())


_COLLECTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


def collection(text: str) -> str:
    """A parser of a collection's name, or the empty text."""
    if text and not _COLLECTION.fullmatch(text):
        raise ValueError(
            f"{text!r} is not the name of a collection: use the short name in the collection's address in Purview,"
            " not its title"
        )
    return text


class SettingSource(StrEnum):
    """The source from which a command takes a setting, with the reason."""

    RECORD = "the functions' record: it decides what is published, or what is kept"
    SHELL = "its own environment: where things are, how to sign in, how fast and how often, what is reported"
    NONE = "nowhere: only the receiver reads it, before it stores an event"


class Effect(StrEnum):
    """What a changed value affects after the functions have restarted with it."""

    WORK = "all further work"
    EVENTS = "events received from then on"
    RUNS = "runs processed from then on; earlier ones by `throughline replay`"
    PROCESSES = "processes published from then on; existing ones by `throughline replay`"
    CREATED = "assets and processes created from then on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its name in the environment, its default (None: it is required), and what it is for.

    `source` has no default, so that every new setting has to be classified. `of_receiver`: whether the receiver parses
    it; a wrong value of any other setting must not keep it from accepting events. `forgiven`: the receiver uses the
    default where the value is wrong, and the parser reports it.
    """

    name: str
    meaning: str
    source: SettingSource
    default: str | None = ""
    parse: Callable[[str], Any] = str
    effect: Effect = Effect.WORK
    of_receiver: bool = False
    forgiven: bool = False

    @property
    def bounds(self) -> str:
        """Unit, floor and ceiling of a number, for people."""
        return self.parse.bounds if isinstance(self.parse, Number) else ""
