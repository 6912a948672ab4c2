"""Telemetry of Throughline's own work: acts with facts, as log lines, spans and metrics.

The core and the pipeline know the port alone. Only `shared.adapters` imports the adapter for OpenTelemetry, if a
setting asks for it.
"""
