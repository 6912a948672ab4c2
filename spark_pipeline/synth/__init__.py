"""Made-up histories in the archive's layout, of real events: for tests and measurements. No Spark in here."""

from spark_pipeline.synth.histories import Synthesis, synthesize
from spark_pipeline.synth.templates import NoTemplatesError

__all__ = ["NoTemplatesError", "Synthesis", "synthesize"]
