"""How the text of a setting becomes its value: each parser raises ValueError with what is wrong, in words.

Used by the table, and by nobody else.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

_LONGEST = timedelta(days=3650)


def span(unit: timedelta) -> Callable[[str], timedelta]:
    """A parser of a number of units, up to ten years."""

    def parse(text: str) -> timedelta:
        number = float(text)
        if not 0 < number <= _LONGEST / unit:
            raise ValueError(f"must be above 0 and at most {_LONGEST / unit:.0f}")
        return number * unit

    return parse


def whole(most: int) -> Callable[[str], int]:
    """A parser of a whole number from 1."""

    def parse(text: str) -> int:
        number = int(text)
        if not 0 < number <= most:
            raise ValueError(f"must be from 1 to {most}")
        return number

    return parse


def rate(most: float) -> Callable[[str], float]:
    """A parser of so many a second; 0 for no bound."""

    def parse(text: str) -> float:
        number = float(text)
        if not 0 <= number <= most:
            raise ValueError(f"must be from 0 to {most:g}")
        return number

    return parse


def one_of(*words: str) -> Callable[[str], str]:
    """A parser of one of these words; capitals do not count."""

    def parse(text: str) -> str:
        word = text.strip().lower()
        if word not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return word

    return parse


def connection(text: str) -> str:
    """A parser of a connection string of a storage account; nothing is none."""
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
    """A parser of nodes of Spark's job names, or patterns of them, with commas between."""
    found = tuple(node for part in text.split(",") if (node := part.strip()))
    wrong = [node for node in found if not _NODES.fullmatch(node)]
    if wrong:
        raise ValueError(
            f"{', '.join(map(repr, wrong))}: an operation is a node of Spark's job names, such as append_data or"
            " execute_*_command: small letters, digits, _ and the wildcards * and ?, with commas between"
        )
    return found


def patterns(text: str) -> tuple[str, ...]:
    """A parser of patterns of names with `*` and `?`, with commas between."""
    found = tuple(pattern for part in text.split(",") if (pattern := part.strip()))
    if text.strip() and not found:
        raise ValueError("holds only commas: write patterns with commas between, or leave it out")
    for pattern in found:
        if not pattern.isprintable():
            raise ValueError(f"{pattern!r} holds characters that no name has")
        if not pattern.strip("*?"):
            raise ValueError(f"{pattern!r} fits everything: write a part of a name, or leave the setting out")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesFile:
    """The file of names, unread in meaning: where it was, and its text."""

    place: str
    text: str


_LARGEST_FILE = 1024 * 1024


def file(text: str) -> NamesFile | None:
    """A parser of a file's path, absolute or from where the program runs; nothing is no file."""
    if not text:
        return None
    try:
        content = Path(text).read_bytes()
        if len(content) > _LARGEST_FILE:
            raise ValueError(f"{text} is larger than {_LARGEST_FILE} bytes")
        return NamesFile(place=text, text=content.decode())
    except OSError as error:
        raise ValueError(f"{text} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{text} is no UTF-8 text") from error


def endpoint(text: str) -> str:
    """A parser of an end point's address, without the slash at its end."""
    if not text.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise ValueError("must start with https:// (http:// only for this machine)")
    if "@" in text.split("/")[2]:
        raise ValueError("must hold no user and no password: they would end up in logs")
    return text.rstrip("/")


_COLLECTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


def collection(text: str) -> str:
    """A parser of the name of a collection; nothing is none."""
    if text and not _COLLECTION.fullmatch(text):
        raise ValueError(
            f"{text!r} is no name of a collection: it is the short one in the collection's address in Purview, not the"
            " one that is shown"
        )
    return text
