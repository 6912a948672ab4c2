"""Reading events from files and folders: one JSON object, an array, or JSON lines; gzipped or not."""

import contextlib
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

import msgspec

from shared.errors import Refused, ThroughlineError
from shared.openlineage.decoding import Event, decode
from throughline.cli.records.file_kinds import HEAD, no_events, sentence_of

_as_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_as_one = msgspec.json.Decoder(msgspec.Raw).decode
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class UnreadableFileError(ThroughlineError):
    """The file cannot be read; the message says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFound:
    """The bytes of one event, and where they were (`file:line`, or `file[index]` in an array)."""

    place: str
    raw: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFile:
    """The events of one file, decoded; `refused`: those that could not be, each with its place and the reason."""

    path: Path
    events: tuple[Event, ...]
    refused: tuple[str, ...]


_OBJECT = re.compile(rb'^\s*\[?\s*\{\s*"', re.MULTILINE)
"""A line at which a JSON object begins, or an array of objects."""

_EVENT_FILE = re.compile(r"\.(?:json|jsonl|ndjson)(?:\.gz)?$", re.IGNORECASE)


def files_of(paths: Iterable[Path]) -> list[Path]:
    """The paths, with the files of events that lie below a folder instead of it: `*.json`, `*.jsonl` and `*.ndjson`,
    gzipped or not, sorted; without those in hidden folders. Raises UnreadableFileError if a folder has none.
    """
    return [file for path in paths for file in (_files_below(path) if path.is_dir() else [path])]


def _files_below(folder: Path) -> list[Path]:
    def fail(error: OSError) -> NoReturn:
        raise UnreadableFileError(f"{error.filename} can't be read: {error.strerror or error}") from error

    files: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(place) / name for name in names if _EVENT_FILE.search(name) and not name.startswith(".")]
    if not files:
        raise UnreadableFileError(f"{folder} has no file of events: none ends with .json, .jsonl or .ndjson (or .gz)")
    return sorted(files)


def read_file(path: Path) -> EventFile:
    """All events of a file. Raises UnreadableFileError as `events_in` does."""
    events: list[Event] = []
    refused: list[str] = []
    for event in events_in(path):
        try:
            events.append(decode(event.raw))
        except Refused as refusal:
            refused.append(f"{event.place}: {refusal}")
    return EventFile(path=path, events=tuple(events), refused=tuple(refused))


def events_in(path: Path) -> Iterator[EventFound]:
    """All events of a file (`-`: standard input), undecoded and in order. Raises UnreadableFileError, also for a file
    that is known to be something else.
    """
    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        with contextlib.ExitStack() as open_files:
            raw_file: Any = _open(path, open_files)
            stream = io.BufferedReader(raw_file, HEAD)
            if sentence := sentence_of(name, stream.peek(HEAD)[:HEAD]):
                raise UnreadableFileError(sentence)
            yield from _split(stream, name)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFileError(f"{name} can't be read: {getattr(error, 'strerror', None) or error}") from error


def _open(path: Path, open_files: contextlib.ExitStack) -> BinaryIO:
    stream: Any = sys.stdin.buffer if str(path) == "-" else open_files.enter_context(path.open("rb"))
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)
    if buffered.peek(2)[:2] != _GZIP:
        return buffered
    return cast("BinaryIO", open_files.enter_context(gzip.open(buffered)))


def _split(stream: BinaryIO, name: str) -> Iterator[EventFound]:
    """JSON lines are read line by line, so that a file may be larger than memory; other forms are read whole."""
    lines = ((number, line.removeprefix(_BYTE_ORDER_MARK).strip()) for number, line in enumerate(stream, start=1))
    for number, line in lines:
        if not line:
            continue
        if line.startswith(b"[") or not _is_whole(line):
            remainder = b"\n".join([line, *(text_line for _, text_line in lines)])
            yield from _whole(remainder, name, number)
            return
        yield EventFound(place=f"{name}:{number}", raw=line)
        break
    for number, line in lines:
        if line:
            yield EventFound(place=f"{name}:{number}", raw=line)


def _is_whole(line: bytes) -> bool:
    try:
        _as_one(line)
    except (msgspec.DecodeError, RecursionError):  # the latter: nested too deeply, which decoding it reports
        return False
    return True


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _whole(text: bytes, name: str, line: int) -> Iterator[EventFound]:
    """Raises UnreadableFileError if the text is no JSON, and no line of it begins an object."""
    if text.startswith(b"["):
        try:
            array = _as_array(text)
        except (msgspec.DecodeError, RecursionError):
            array = None
        if array is not None:
            for index, raw in enumerate(array):
                yield EventFound(place=f"{name}[{index}]", raw=bytes(raw))
            return
    if _is_whole(text):
        yield EventFound(place=name, raw=text)
        return
    if not _OBJECT.search(text):
        raise UnreadableFileError(no_events(name, "a text without JSON" if _is_text(text) else "a binary file"))
    for number, text_line in enumerate(
        text.split(b"\n"), start=line
    ):  # broken somewhere: each line is reported by its number
        if text_line:
            yield EventFound(place=f"{name}:{number}", raw=text_line)
