"""The wire: decoding events, which of them matter, and merging the events of one run. Pure."""

from shared.openlineage.bounds import BOUNDS, DATASETS, Bound
from shared.openlineage.choice import ANYTHING, Choice
from shared.openlineage.decoding import ENDS, Event, decode
from shared.openlineage.folding import fold
from shared.openlineage.merging import END_STRENGTH, MergedDataset, MergedRun, merge, stronger_end
from shared.openlineage.operations import UNKNOWN, Operation, node_of, split_job_name
from shared.openlineage.selection import DEFAULT_SELECTION, Ignore, Keep, Selection, dataset_names, select
from shared.openlineage.trimming import Hands, trimmed
from shared.openlineage.wire import Captured, Dataset, DatasetEvent, InputField, JobEvent, OutputField, Transformation

__all__ = [
    "ANYTHING",
    "BOUNDS",
    "DATASETS",
    "DEFAULT_SELECTION",
    "ENDS",
    "END_STRENGTH",
    "UNKNOWN",
    "Bound",
    "Captured",
    "Choice",
    "Dataset",
    "DatasetEvent",
    "Event",
    "Hands",
    "Ignore",
    "InputField",
    "JobEvent",
    "Keep",
    "MergedDataset",
    "MergedRun",
    "Operation",
    "OutputField",
    "Selection",
    "Transformation",
    "dataset_names",
    "decode",
    "fold",
    "merge",
    "node_of",
    "select",
    "split_job_name",
    "stronger_end",
    "trimmed",
]
