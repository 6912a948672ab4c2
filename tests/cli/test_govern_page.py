"""docs/get-started/govern.md, command by command: each prints what the page shows.

Over the local catalog, on storage in memory. Two things are replaced: `throughline send` posts to a
receiver, and here its events are received, processed and published without HTTP; and Slack is a server of this machine.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shared.bootstrap import assemble
from shared.publishing.publisher import Publisher
from shared.settings.reading import load
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import context_of
from tests.support.webhook_server import webhook_server
from throughline.local.catalog.server import CatalogServer

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/get-started/govern.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
"""Language and text: TOML is a file, `text` is output, and a block without a language has commands."""
SLACK = "https://hooks.slack.com/services/…"


def worker(parts: Parts, catalog: CatalogServer, **settings: str) -> None:
    """The commands work with this catalog, and by these settings."""
    environment = {
        "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        "THROUGHLINE_CATALOG_ENDPOINT": catalog.endpoint,
        "THROUGHLINE_CATALOG_TOKEN": catalog.token,
        **settings,
    }
    assembled_parts = assemble(load(catalog=True, environment=environment), storage=parts.storage)
    parts.worker = replace(assembled_parts, to_record={})


def process_events_of(parts: Parts, file: str) -> None:
    """Process and publish the events of a file, as the world does."""
    for place in post(parts.storage, *(ROOT / file).read_bytes().splitlines()):
        deliver_event(parts.storage, place)
    publishing, catalog = parts.worker.publishing, parts.worker.catalog
    while Publisher(context=context_of(parts.storage, catalog, publishing)).publish().written:
        pass


def commands_of(block: str) -> Iterator[tuple[str, list[str], int]]:
    """The lines of a block: the program, its arguments, and the exit code that the page names."""
    for line in block.splitlines():
        command, _, ends = line.partition("  # ends with ")
        program, *arguments = command.split()
        yield program, arguments, int(ends or 0)


def test_the_commands_on_the_page_print_what_it_shows(
    tmp_path: Path, fresh_catalog: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parts, printed, shown_count = Parts(), "", 0
    worker(parts, fresh_catalog)
    with webhook_server() as server:
        for language, text in BLOCKS:
            if language == "toml":
                name = re.match(r"# (\S+)\n", text)
                assert name, "a file begins with its name"
                Path(name[1]).write_text(text)
            elif language == "text":
                assert printed.splitlines() == text.splitlines()
                printed, shown_count = "", shown_count + 1
            for program, arguments, ends in commands_of(text) if not language else ():
                if program == "export":
                    name_of_setting, _, value = arguments[0].partition("=")
                    assert SLACK in value
                    worker(
                        parts, fresh_catalog, **{name_of_setting: value.strip('"').replace(SLACK, server.url("slack"))}
                    )
                elif program == "throughline" and arguments[0] == "send":
                    assert not printed, "the page shows all that was printed before"
                    process_events_of(parts, arguments[1])
                elif program == "throughline":
                    result = parts.run(*arguments)
                    assert result.exit_code == ends, result.output
                    printed += result.output.lstrip("\n")
                else:
                    assert (program, arguments) == ("source", [".venv/bin/activate"])
        assert printed == ""
        assert shown_count == 7
        assert server.wrong == []
        texts = [message["text"] for message in server.bodies("slack")]
    assert len(texts) == 3
    assert sum("Mask lost" in text for text in texts) == 2
    assert sum("Gate broken" in text for text in texts) == 1
