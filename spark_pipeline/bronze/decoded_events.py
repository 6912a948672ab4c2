"""Events as the core reads them, kept beside their texts: whoever merges them reads no JSON again, and a third of the
bytes go through the engine. What another state of the core has read is not believed: then the text is read again.
"""

import hashlib
from importlib.resources import files

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.openlineage.decoding import Event, decode
from spark_pipeline.engine.arrow_cells import Record

_pack = msgspec.msgpack.Encoder().encode
"""What stands in a text in some order is kept in it: events of one instant are put in order by their content."""

_unpack = msgspec.msgpack.Decoder(Event).decode


def _code() -> str:
    """32 hexadecimal digits that stand for the code that decides what is kept of a text."""
    code = [each for each in files("shared.openlineage").iterdir() if each.name.endswith(".py")]
    known = hashlib.sha256(msgspec.__version__.encode())
    for each in (*sorted(code, key=lambda each: each.name), files("spark_pipeline.bronze") / "decoded_events.py"):
        known.update(each.read_bytes())
    return known.hexdigest()[:32]


DECODER = _code()
"""This state of the core."""


def kept(event: Event) -> bytes | None:
    """The event as MessagePack; None where that cannot say it (whole numbers of more than 64 bits, values very deep in
    one another).
    """
    try:
        return _pack(event)
    except (OverflowError, RecursionError):
        return None


def contents(events: DataFrame) -> DataFrame:
    """Rows of `bronze/events` that count (neither late nor ignored) with `content` and `plain`, to be read by
    `event_of`. The texts of what is kept are not even looked at, for an engine passes over files by their values.
    """
    by = f.col("decoded_by")
    ours = events.where(by == DECODER).withColumn("content", f.col("decoded")).withColumn("plain", f.lit(False))
    others = events.where(by.isNull() | (by != DECODER))
    texts = others.withColumn("content", f.col("text").cast("binary")).withColumn("plain", f.lit(True))
    return ours.unionByName(texts)


def event_of(row: Record) -> Event:
    """The event of a row with `content` and `plain`. Raises as `decode` does, and MsgspecError."""
    return decode(row.content) if row.plain else _unpack(row.content)
