"""Helpers for tests of the command line."""

from dataclasses import replace

from typer.testing import CliRunner, Result

from shared.bootstrap import Worker
from shared.naming.names import BUILT_IN
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from shared.sweeping.sweep import SweepOptions
from tests.support.memory_catalog import MemoryCatalog, MemoryClassifications, MemoryTerms
from throughline.cli.main import app

runner = CliRunner()


class Parts:
    """The adapters of commands, with storage and catalog in memory; tests may replace the worker."""

    def __init__(self) -> None:
        self.storage = MemoryStorage()
        self.catalog = MemoryCatalog()
        self.worker = Worker(
            storage=self.storage,
            catalog=self.catalog,
            publishing=PublishOptions(batch=2),
            sweeping=SweepOptions(),
            names=BUILT_IN,
            classifications=MemoryClassifications(self.catalog),
            terms=MemoryTerms(self.catalog),
        )

    def run(self, *arguments: str, say: str = "") -> Result:
        """Run a command with these adapters."""
        return runner.invoke(app, arguments, input=say, obj=self.worker)

    def shadow(self) -> None:
        """Turn on shadow mode."""
        self.worker = replace(self.worker, publishing=replace(self.worker.publishing, shadow=True))
