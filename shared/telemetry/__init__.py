"""Telemetry of Throughline's own work: acts with facts, as log lines, spans and metrics.

The core and the pipeline know the port alone. The adapter for OpenTelemetry is named by `shared.adapters`, and only
where a setting asks for it.
"""
