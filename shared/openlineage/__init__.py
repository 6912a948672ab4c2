"""The wire: decoding events, which of them matter, and merging the events of one run. Pure."""

from shared.openlineage.decoding import ENDS, Event, decode
from shared.openlineage.merging import END_STRENGTH, MergedDataset, MergedRun, merge, stronger_end
from shared.openlineage.operations import UNKNOWN, Operation, split_job_name
from shared.openlineage.selection import Ignore, Keep, select
from shared.openlineage.wire import InputField, OutputField, Transformation

__all__ = [
    "ENDS",
    "END_STRENGTH",
    "UNKNOWN",
    "Event",
    "Ignore",
    "InputField",
    "Keep",
    "MergedDataset",
    "MergedRun",
    "Operation",
    "OutputField",
    "Transformation",
    "decode",
    "merge",
    "select",
    "split_job_name",
    "stronger_end",
]
