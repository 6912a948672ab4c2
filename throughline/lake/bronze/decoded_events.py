"""Decoded events, stored beside their texts: merging then parses no JSON, and a third of the bytes go through the
engine. A row that another version of the decoder wrote is decoded again from its text.
"""

import hashlib
from importlib.resources import files

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.openlineage.decoding import Event, decode
from throughline.lake.engine.arrow_cells import Record

_pack = msgspec.msgpack.Encoder().encode
"""The order of a text's fields is kept: events of the same instant are sorted by their content."""

_unpack = msgspec.msgpack.Decoder(Event).decode


def _code() -> str:
    """32 hexadecimal digits: the digest of the code that decodes events."""
    code = [path for path in files("shared.openlineage").iterdir() if path.name.endswith(".py")]
    code_digest = hashlib.sha256(msgspec.__version__.encode())
    for module_file in (
        *sorted(code, key=lambda module_file: module_file.name),
        files("throughline.lake.bronze") / "decoded_events.py",
    ):
        code_digest.update(module_file.read_bytes())
    return code_digest.hexdigest()[:32]


DECODER = _code()
"""The version of the decoder."""


def kept(event: Event) -> bytes | None:
    """The event as MessagePack; None if it has no such form (integers of more than 64 bits, very deep nesting)."""
    try:
        return _pack(event)
    except (OverflowError, RecursionError):
        return None


def contents(events: DataFrame) -> DataFrame:
    """Rows of `bronze/events` that count (neither late nor ignored) with `content` and `plain`, for
    `event_of`. Texts are read only of rows without a current decoded form; an engine skips files by their values.
    """
    decoder = f.col("decoded_by")
    decoded_rows = (
        events.where(decoder == DECODER).withColumn("content", f.col("decoded")).withColumn("plain", f.lit(False))
    )
    other_rows = events.where(decoder.isNull() | (decoder != DECODER))
    texts = other_rows.withColumn("content", f.col("text").cast("binary")).withColumn("plain", f.lit(True))
    return decoded_rows.unionByName(texts)


def event_of(row: Record) -> Event:
    """The event of a row with `content` and `plain`. Raises as `decode` does, and MsgspecError."""
    return decode(row.content) if row.plain else _unpack(row.content)
