"""Acts as spans and metrics of OpenTelemetry, and where these go: the console, a collector by OTLP, or Application
Insights. Imported only where a setting asks for it.

All work for a run is in one trace, in whichever process and however much later: the trace's id is made of the run's id.
So the receiver passes nothing on to the parser and the publisher. No provider is registered globally: telemetry of
other libraries stays separate.

The SDK's own settings (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_METRIC_EXPORT_INTERVAL …) hold for all of
them. Microsoft's exporter is imported by the thread that exports, when it first has something to send: that takes
longer than all that the receiver needs. A process that ends before its first batch is sent, five seconds after its
first span, sends nothing there.
"""

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

from opentelemetry.context import Context
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    ConsoleMetricExporter,
    MetricExporter,
    MetricExportResult,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from shared.errors import Misconfigured
from shared.telemetry.port import KINDS, Act, Instrument, Metric, Side

_NAME = "throughline"
_KINDS = {
    Side.SERVER: SpanKind.SERVER,
    Side.CONSUMER: SpanKind.CONSUMER,
    Side.CLIENT: SpanKind.CLIENT,
    Side.INTERNAL: SpanKind.INTERNAL,
}
_FAILED = frozenset({"refused", "unavailable", "dead"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0, 86400.0)
"""From a warm request to a lag of a day; OpenTelemetry's own bounds are for milliseconds."""

_Record = Callable[[float, dict[str, str]], None]


def trace_of(run_id: str) -> int:
    """The id of a run's trace: 128 evenly distributed bits, as sampling by them needs; those of a UUID are not."""
    return int.from_bytes(hashlib.blake2b(run_id.encode(), digest_size=16).digest()) or 1


class _RunIds(RandomIdGenerator):
    """Random ids, except for a trace whose id is given."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: ContextVar[int] = ContextVar("wanted", default=0)

    def generate_trace_id(self) -> int:
        """The given id of a trace, or a random one."""
        return self.wanted.get() or super().generate_trace_id()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Where spans and metrics go."""

    spans: tuple[SpanProcessor, ...] = ()
    metrics: tuple[MetricReader, ...] = ()


class ActListener:
    """A listener to acts that makes spans and metrics of them."""

    def __init__(self, exports: Exports) -> None:
        resource = own_resource()
        self._ids = _RunIds()
        self._traces = TracerProvider(resource=resource, id_generator=self._ids)
        for processor in exports.spans:
            self._traces.add_span_processor(processor)
        self._meters = MeterProvider(resource=resource, metric_readers=exports.metrics)
        self._tracer: Tracer = self._traces.get_tracer(_NAME)
        self._records = _records(self._meters.get_meter(_NAME))

    def __call__(self, act: Act) -> None:
        """Export an act that has ended."""
        for metric in act.kind.metrics:
            self._measure(metric, act)
        if act.kind.span:
            span = self._span(act)
            span.set_attributes({f"{_NAME}.{name}": fact for name, fact in act.facts.items()})
            if act.runs:
                span.set_attribute(f"{_NAME}.runs", act.runs)
            if "error" in act.facts or act.facts.get("state") in _FAILED:
                span.set_status(Status(StatusCode.ERROR, str(act.facts.get("error") or act.facts.get("state"))))
            for link in self._links(act):
                span.add_link(link)
            span.end(act.began + round(act.seconds * 1e9))

    def flush(self) -> None:
        """Send all that is buffered."""
        self._traces.force_flush()
        self._meters.force_flush()

    def shutdown(self) -> None:
        """Send all that is buffered, and end."""
        self._traces.shutdown()
        self._meters.shutdown()

    def _measure(self, metric: Metric, act: Act) -> None:
        number = {"": 1, "seconds": act.seconds}.get(metric.fact, act.facts.get(metric.fact))
        if isinstance(number, int | float):
            self._records[metric.name](number, {label: str(act.facts.get(label, "")) for label in metric.labels})

    def _span(self, act: Act) -> Span:
        """The span of an act. If the act is still open, its span starts when the first act within it ends."""
        if isinstance(act.kept, Span):
            return act.kept
        joins = bool(act.kind.joins and act.runs)
        parent = self._span(act.within) if act.within and not joins else None
        token = self._ids.wanted.set(trace_of(act.runs[0]) if joins else 0)
        try:
            act.kept = span = self._tracer.start_span(
                act.kind.span,
                context=set_span_in_context(parent, Context()) if parent else Context(),
                kind=_KINDS[act.kind.side],
                start_time=act.began,
            )
        finally:
            self._ids.wanted.reset(token)
        return span

    def _links(self, act: Act) -> Iterable[SpanContext]:
        """To the runs in whose trace it is not, and to the act that it is a part of from another trace."""
        joins = act.kind.joins and act.runs
        for run in act.runs[1 if joins else 0 :]:
            trace = trace_of(run)
            flags = TraceFlags(TraceFlags.SAMPLED)
            yield SpanContext(trace, trace & 0xFFFFFFFFFFFFFFFF or 1, is_remote=True, trace_flags=flags)
        if joins and act.within and act.within.kind.span:
            yield self._span(act.within).get_span_context()


def own_resource() -> Resource:
    """The resource of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES; our own name without them."""
    resource = Resource.create()
    unnamed = str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service")
    return resource.merge(Resource({SERVICE_NAME: _NAME})) if unnamed else resource


def _records(meter: Meter) -> dict[str, _Record]:
    """The function that records the values of each metric."""
    metrics = {metric.name: metric for kind in KINDS for metric in kind.metrics}
    return {name: _record(meter, metric) for name, metric in metrics.items()}


def _record(meter: Meter, metric: Metric) -> _Record:
    if metric.instrument is Instrument.COUNTER:
        return meter.create_counter(metric.name, metric.unit, metric.meaning).add
    if metric.instrument is Instrument.GAUGE:
        return meter.create_gauge(metric.name, metric.unit, metric.meaning).set
    return meter.create_histogram(
        metric.name, metric.unit, metric.meaning, explicit_bucket_boundaries_advisory=_SECONDS
    ).record


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

        exporter_options = {"connection_string": connection_string, "disable_offline_storage": True}
        # Without this it asks the global provider, and there is none.
        named = TracerProvider(resource=own_resource(), shutdown_on_exit=False)
        return AzureMonitorTraceExporter(**exporter_options, tracer_provider=named), AzureMonitorMetricExporter(
            **exporter_options
        )

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
