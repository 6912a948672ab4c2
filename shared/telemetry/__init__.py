"""What Throughline tells of its own work: acts with facts, told as log lines, spans and metrics.

The core and the pipeline know the port alone. The adapter for OpenTelemetry is named by `shared.adapters`, and only
where a setting asks for it.
"""

from shared.telemetry.acts import Acts, Sink
from shared.telemetry.cleaning import text_without_secrets
from shared.telemetry.kinds import (
    BATCH,
    CALL,
    EVENT,
    KINDS,
    LETTER,
    PROCESS,
    PUBLISHING,
    RUN,
    SWEEP,
    Instrument,
    Kind,
    Metric,
    Side,
)
from shared.telemetry.lines import line_of, write_line
from shared.telemetry.port import SILENT, Act, Fact, Telemetry

__all__ = [
    "BATCH",
    "CALL",
    "EVENT",
    "KINDS",
    "LETTER",
    "PROCESS",
    "PUBLISHING",
    "RUN",
    "SILENT",
    "SWEEP",
    "Act",
    "Acts",
    "Fact",
    "Instrument",
    "Kind",
    "Metric",
    "Side",
    "Sink",
    "Telemetry",
    "line_of",
    "text_without_secrets",
    "write_line",
]
