"""Which exit code a command ends with, by the class of an error, and what it says."""

import pytest
import typer
from typer.testing import CliRunner

from shared.errors import CatalogRefused, ContentLost, Misconfigured, StorageUnavailable
from shared.events.archive import ArchiveMissing
from throughline.cli.deploy.azure_cli import AzureCliError
from throughline.cli.ui.failures import reported
from throughline.cli.ui.teaching import TeachingApp
from throughline.local.errors import LocalError

HINT = "Is the local world still running?"
ERRORS: tuple[tuple[Exception, int, bool], ...] = (
    (StorageUnavailable("no answer"), 1, True),
    (CatalogRefused(status=400, code="X", detail="no answer"), 1, False),
    (ContentLost("no answer"), 1, False),
    (ArchiveMissing("no answer"), 1, False),
    (AzureCliError(command=("az",), exit_code=1, message="no answer"), 1, False),
    (Misconfigured("no answer"), 2, False),
    (LocalError("no answer"), 2, False),
)


@pytest.mark.parametrize(("error", "code", "hinted"), ERRORS, ids=[type(error).__name__ for error, *_ in ERRORS])
def test_a_command_ends_with_one_sentence_and_the_code_of_the_error(error: Exception, code: int, hinted: bool) -> None:
    def command() -> None:
        raise error

    commands = TeachingApp()
    for name in ("one", "other"):
        commands.add(name, command)
    result = CliRunner().invoke(commands, ["one"])
    assert (result.exit_code, "no answer" in result.output, HINT in result.output) == (code, True, hinted)


def test_a_command_says_what_was_done_before_storage_went_away(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), reported("Half is done: run it again"):
        raise StorageUnavailable("no answer")
    assert "no answer. Half is done: run it again" in capsys.readouterr().err
