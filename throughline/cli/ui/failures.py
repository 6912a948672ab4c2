"""Errors that end a command with one sentence, and its exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import CatalogRefused, CatalogUnavailable, Retry, StorageUnavailable, ThroughlineError
from shared.settings.reading import named
from throughline.cli.ui.console import fail


@contextmanager
def reported(hint_text: str = "") -> Iterator[None]:
    """End the command where Throughline raises an error on purpose: with exit code 1 where another system did not
    answer, refused, or lost something; else with 2, since what was given or set is wrong.

    Each command runs within this. `hint_text` is the sentence that follows where another system is the cause: what was
    done, and how to go on.
    """
    try:
        yield
    except ThroughlineError as error:
        from shared.events.archive import ArchiveMissing  # noqa: PLC0415 - slow to import, and seldom needed
        from throughline.cli.deploy.azure_cli import AzureCliError  # noqa: PLC0415 - the same

        if not isinstance(error, ArchiveMissing | AzureCliError | CatalogRefused | Retry):
            fail(str(error), code=2)
        is_silent = isinstance(error, StorageUnavailable | CatalogUnavailable)
        is_local = is_silent and not named(place=True)
        hint = hint_text or ("Is the local world still running? `throughline up` starts it" if is_local else "")
        fail(f"{error}. {hint}" if hint else str(error))
