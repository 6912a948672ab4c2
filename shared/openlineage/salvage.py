"""Decode an event that has faults: repair its JSON, keep its valid parts, list the paths of the others.

Each part is decoded by itself from its raw bytes, and unused ones are skipped, so a huge plan beside a bad facet costs
nothing extra. JSON is repaired only if its bytes could not be decoded: Python's `json.dumps`, which OpenLineage's
Python client uses, emits two things that RFC 8259 forbids: NaN and infinities (in column statistics), and escapes of
unpaired surrogates (in truncated text).
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.json import Decoder

from shared.openlineage.facets import Wire, is_crowded
from shared.openlineage.run_facets import RunFacets
from shared.openlineage.wire import (
    Dataset,
    DatasetEvent,
    DatasetFacets,
    Envelope,
    InputFacets,
    Job,
    JobEvent,
    JobFacets,
    OutputFacets,
    Run,
    RunEvent,
)

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""Any escape, from its backslash; the group is an unpaired surrogate."""
_NO_NUMBER = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?(NaN|Infinity)', re.DOTALL)
"""A whole string, or (the group) NaN or Infinity outside of strings."""
_REPLACEMENT = rb"\ufffd"
"""The escape of U+FFFD, the replacement character (Unicode 16, 23.8)."""


def repaired(raw: bytes) -> bytes | None:
    """The bytes with null for NaN and infinities and U+FFFD for unpaired surrogates; None if there are none."""
    better = raw
    if b"NaN" in better or b"Infinity" in better:
        better = _replaced(better, _NO_NUMBER, b"null")
    if _SURROGATE.search(better):
        better = _replaced(better, _ESCAPE, _REPLACEMENT)
    return None if better is raw else better


def _replaced(raw: bytes, pattern: re.Pattern[bytes], instead: bytes) -> bytes:
    """The bytes with `instead` for every match of the pattern's group; the same object if there is none."""
    pieces = list(_pieces(raw, pattern, instead))
    return b"".join(pieces) if len(pieces) > 1 else raw


def _pieces(raw: bytes, pattern: re.Pattern[bytes], instead: bytes) -> Iterator[bytes]:
    end = 0
    for match in pattern.finditer(raw):
        if match[1]:
            yield raw[end : match.start()]
            yield instead
            end = match.end()
    yield raw[end:]


_MAX_OMITTED = 1000
"""Paths listed; further ones are only counted."""


class _Part:
    """Reads a part that is used as a whole or not at all."""

    def __init__(self, kind: Any) -> None:
        self._whole: Decoder[Any] = Decoder(kind)

    def read(self, raw: Raw, path: str, omitted: list[str]) -> Any:
        """The part without what is invalid or too large in it, the paths of which are added to `omitted`; UNSET if
        nothing of it is left.
        """
        value = UNSET if is_crowded(raw) else _attempt(self._whole, raw)
        return self.apart(raw, path, omitted) if value is UNSET else value

    def apart(self, _raw: Raw | bytes, path: str, omitted: list[str]) -> Any:
        """The same of a part that can't be read as a whole."""
        omitted.append(path)
        return UNSET


class _Struct(_Part):
    """Reads an object field by field, and first as a whole unless it has fields that are read apart themselves, by
    `inside`. The other required fields identify the object: it is left out without them.
    """

    def __init__(self, kind: type[Wire], **inside: _Part) -> None:
        super().__init__(kind | None)
        self._kind = kind
        self._never_whole = bool(inside)
        self._readers: list[tuple[str, str, _Part]] = []
        parts = []
        for field in msgspec.structs.fields(kind):
            reader = inside.get(field.name) or _Part(field.type)
            self._readers.append((field.name, field.encode_name, reader))
            kind_of: Any = Raw | UnsetType
            if field.required:
                kind_of = reader.parts if isinstance(reader, _Struct) else field.type
            default = msgspec.NODEFAULT if field.required else UNSET
            parts.append((field.name, kind_of, msgspec.field(name=field.encode_name, default=default)))
        self.parts: type[msgspec.Struct] = msgspec.defstruct(f"Parts{kind.__name__}", parts, kw_only=True)
        self._decoder: Decoder[Any] = Decoder(self.parts)

    def read(self, raw: Raw, path: str, omitted: list[str]) -> Any:
        """The object without what is invalid in it, as `_Part.read`."""
        return (self.apart if self._never_whole else super().read)(raw, path, omitted)

    def apart(self, raw: Raw | bytes, path: str, omitted: list[str]) -> Any:
        """The valid fields."""
        parts = _attempt(self._decoder, raw)
        return super().apart(raw, path, omitted) if parts is UNSET else self.of(parts, path, omitted)

    def of(self, parts: msgspec.Struct, path: str, omitted: list[str]) -> Any:
        """The object of its parts: raw ones, and the required ones, which are decoded already."""
        values = {}
        for name, wire_name, reader in self._readers:
            value = getattr(parts, name)
            part_path = f"{path}.{wire_name}" if path else wire_name
            if isinstance(value, Raw):
                value = reader.read(value, part_path, omitted)
            elif isinstance(reader, _Struct) and value is not UNSET:
                value = reader.of(value, part_path, omitted)
            if value is not UNSET:
                values[name] = value
        return self._kind(**values)


class _List(_Part):
    """Reads a list element by element."""

    def __init__(self, kind: Any, element: _Part) -> None:
        super().__init__(tuple[kind, ...] | None)
        self._element = element

    def apart(self, raw: Raw | bytes, path: str, omitted: list[str]) -> Any:
        """The valid elements."""
        parts = UNSET if is_crowded(raw) else _attempt(_RAW_LIST, raw)
        if parts is UNSET:
            return super().apart(raw, path, omitted)
        values = (self._element.read(part, f"{path}[{index}]", omitted) for index, part in enumerate(parts))
        return tuple(value for value in values if value is not UNSET)


_RAW_LIST = Decoder(list[Raw])

_DATASET = _Struct(
    Dataset,
    facets=_Struct(DatasetFacets),
    input_facets=_Struct(InputFacets),
    output_facets=_Struct(OutputFacets),
)
_DATASETS = _List(Dataset, _DATASET)
_JOB = _Struct(Job, facets=_Struct(JobFacets))
_RUN = _Struct(Run, facets=_Struct(RunFacets))
_RUN_EVENT = _Struct(RunEvent, run=_RUN, job=_JOB, inputs=_DATASETS, outputs=_DATASETS)
_JOB_EVENT = _Struct(JobEvent, job=_JOB, inputs=_DATASETS, outputs=_DATASETS)
_DATASET_EVENT = _Struct(DatasetEvent, dataset=_DATASET)


def salvage(raw: bytes, envelope: Envelope) -> tuple[RunEvent | JobEvent | DatasetEvent, tuple[str, ...]]:
    """The valid parts of the event that `envelope` identifies, and the paths of its omitted parts."""
    omitted: list[str] = []
    kind = _RUN_EVENT if envelope.run else _JOB_EVENT if envelope.job else _DATASET_EVENT
    event = kind.apart(raw, "", omitted)
    if len(omitted) > _MAX_OMITTED:
        omitted[_MAX_OMITTED:] = [f"and {len(omitted) - _MAX_OMITTED} more"]
    return event, tuple(omitted)


def _attempt(reader: Decoder[Any], raw: Raw | bytes) -> Any:
    """Decode a part; UNSET if it is invalid."""
    try:
        return reader.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UNSET
