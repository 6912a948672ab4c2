"""Queue triggers, by the source of Microsoft's extension: none ran on the real host here.

https://github.com/Azure/azure-sdk-for-net, Microsoft.Azure.WebJobs.Extensions.Storage.Queues: QueueListener,
QueueProcessor.
"""

import base64
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tests.local.host_contract import Bench, contract_case
from tests.local.hosting import App, sample, wait_for
from throughline.local.host.storage import HostStorage


@contextmanager
def _app(bench: Bench, *texts: str) -> Iterator[tuple[App, HostStorage]]:
    """Yield a sample app that runs, and storage; its queue holds these texts, in Base64."""
    storage = HostStorage(bench.azurite.connection_string, Counter())
    storage.create_queue(bench.container)
    for text in texts:
        storage.put_text(bench.container, base64.b64encode(text.encode()).decode())
    with sample("queues", bench.scratch, bench.settings()) as app:
        app.start()
        yield app, storage


@contract_case("a queue trigger gets the text of a message in Base64, and how often it was tried")
def _texts(bench: Bench) -> None:
    with _app(bench, "one", "zwei ü") as (app, storage):
        assert wait_for(lambda: app.ended(2))
        assert sorted((note["content"], note["tries"]) for note in app.notes("end")) == [("one", 1), ("zwei ü", 1)]
        assert wait_for(lambda: storage.count_messages(bench.container) == 0)


@contract_case("a queue trigger tries a message maxDequeueCount times, then it is in QUEUE-poison, unchanged")
def _poison(bench: Bench) -> None:
    with _app(bench, "fail") as (app, storage):
        assert wait_for(lambda: app.get("/admin/host/calls")["poisoned"] == 1)
        assert [note["tries"] for note in app.notes("begin")] == [1, 2, 3]
        (message,) = storage.get_messages(f"{bench.container}-poison", 32, 1)
        assert message.content() == "fail"


@contract_case("a message that is no Base64 goes to QUEUE-poison without a call")
def _no_text(bench: Bench) -> None:
    with _app(bench, "one") as (app, storage):
        storage.put_text(bench.container, "plain text")
        assert wait_for(lambda: app.get("/admin/host/calls")["poisoned"] == 1)
        assert [note["content"] for note in app.notes("begin")] == ["one"]
        (message,) = storage.get_messages(f"{bench.container}-poison", 32, 1)
        assert message.text == "plain text"


@contract_case("a queue trigger runs at most batchSize + newBatchThreshold messages at once")
def _at_once(bench: Bench) -> None:
    with _app(bench, *["sleep 0.5"] * 6) as (app, _):
        assert wait_for(lambda: app.ended(6))
        running = peak = 0
        for note in app.notes("begin", "end"):
            running += 1 if note["what"] == "begin" else -1
            peak = max(peak, running)
        assert peak == 2
