"""Where spans and metrics go: the console, a collector by OTLP, or Application Insights.

The SDK's own settings (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_METRIC_EXPORT_INTERVAL …) hold for all of
them. Microsoft's exporter is imported by the thread that exports, when it first has something to send: that takes
longer than all that the receiver needs. A process that ends before its first batch is sent, five seconds after its
first span, sends nothing there.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from opentelemetry.sdk.metrics import Counter, Histogram
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    ConsoleMetricExporter,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter, SpanExportResult

from shared.errors import Misconfigured
from shared.telemetry.otel import ActListener, Exports, own_resource

_DELTA: dict[type, AggregationTemporality] = {
    Counter: AggregationTemporality.DELTA,
    Histogram: AggregationTemporality.DELTA,
}
"""For Application Insights, which adds up what it is sent."""


def listener(destination: str, connection_string: str) -> ActListener:
    """A listener whose spans and metrics go to `console`, `otlp` or `azure`; only the last needs the connection string.
    Raises Misconfigured.

    The SDK's providers send the rest at the end of the process.
    """
    if destination == "azure":
        return ActListener(azure(connection_string))
    return ActListener({"console": console, "otlp": otlp}[destination]())


def console() -> Exports:
    """To standard error, one JSON object a line: standard output belongs to the calling program."""
    return _exports(
        ConsoleSpanExporter(out=sys.stderr, formatter=lambda span: f"{span.to_json(indent=None)}\n"),
        ConsoleMetricExporter(out=sys.stderr, formatter=lambda data: f"{data.to_json(indent=None)}\n"),
    )


def otlp() -> Exports:
    """To a collector, by HTTP. Raises Misconfigured where the package for it is missing: the deployed functions lack
    it, since its protobuf may conflict with the platform's.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415 - not deployed
            OTLPMetricExporter,
        )
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - the same
    except ImportError as error:
        raise Misconfigured(
            "THROUGHLINE_TELEMETRY=otlp needs a package: add opentelemetry-exporter-otlp-proto-http to requirements.txt"
        ) from error
    return _exports(OTLPSpanExporter(), OTLPMetricExporter())


def azure(connection_string: str) -> Exports:
    """To Application Insights. Nothing is written to disk while it is unreachable. Raises Misconfigured without a
    connection string.
    """
    if not connection_string:
        raise Misconfigured("APPLICATIONINSIGHTS_CONNECTION_STRING is missing: THROUGHLINE_TELEMETRY=azure needs it")

    @cache
    def both() -> tuple[SpanExporter, MetricExporter]:
        from azure.monitor.opentelemetry.exporter import (  # noqa: PLC0415 - as the module says
            AzureMonitorMetricExporter,
            AzureMonitorTraceExporter,
        )

        how = {"connection_string": connection_string, "disable_offline_storage": True}
        # Without this it asks the global provider, and there is none.
        named = TracerProvider(resource=own_resource(), shutdown_on_exit=False)
        return AzureMonitorTraceExporter(**how, tracer_provider=named), AzureMonitorMetricExporter(**how)

    return _exports(_LateSpans(lambda: both()[0]), _LateMetrics(lambda: both()[1]))


def _exports(spans: SpanExporter, metrics: MetricExporter) -> Exports:
    return Exports(spans=(BatchSpanProcessor(spans),), metrics=(PeriodicExportingMetricReader(metrics),))


class _LateSpans(SpanExporter):
    """An exporter that is made when there is something to export."""

    def __init__(self, make: Callable[[], SpanExporter]) -> None:
        self._make = make
        self._made: SpanExporter | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """As the SDK says."""
        self._made = self._made or self._make()
        return self._made.export(spans)

    def shutdown(self) -> None:
        """As the SDK says."""
        if self._made:
            self._made.shutdown()


class _LateMetrics(MetricExporter):
    """The same for metrics, whose temporality has to be known before."""

    def __init__(self, make: Callable[[], MetricExporter]) -> None:
        super().__init__(preferred_temporality=dict(_DELTA))
        self._make = make
        self._made: MetricExporter | None = None

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> MetricExportResult:
        """As the SDK says."""
        self._made = self._made or self._make()
        return self._made.export(metrics_data, timeout_millis, **kwargs)

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """As the SDK says."""
        return self._made.force_flush(timeout_millis) if self._made else True

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        """As the SDK says."""
        if self._made:
            self._made.shutdown(timeout_millis, **kwargs)
