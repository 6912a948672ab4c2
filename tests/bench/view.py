"""The lineage page of a large estate: writing it, and opening, searching, following and panning in a real browser.

The goals are limits for a person's comfort (milliseconds, megabytes): each figure is compared with its goal instead of
another side. Chromium renders in software here.
"""

import random
import tempfile
import time
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

import msgspec

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.ingest.receiver import Receiver
from shared.lineage.document import LineageDocument
from shared.publishing.context import PublishContext, PublishOptions
from shared.publishing.publisher import Publisher
from shared.query.recorded_document import document_of_record
from shared.serving.view import page
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, stored_from_blob
from tests.bench.figures import Figure, against_goals
from tests.bench.sizes import Sizes, Steps
from tests.support.memory_catalog import MemoryCatalog
from tests.synth.estate import events
from tests.viewer.browser.driver import Browser

NAME = "view"
_SEARCHES = ("table_09", "customer_id_3", "amount", "orders.am", "stomerid")
_HALF_SECOND_OF_PANNING = """() => new Promise((done) => {
  const stage = document.querySelector("#stage");
  const began = performance.now();
  let frames = 0;
  const fire = (name, x) => stage.dispatchEvent(
    new PointerEvent(name, { clientX: x, clientY: 300, button: 0, bubbles: true }));
  fire("pointerdown", 300);
  const step = () => {
    fire("pointermove", 300 + 5 * (frames % 40));
    frames += 1;
    if (performance.now() - began < 1000) requestAnimationFrame(step);
    else { fire("pointerup", 300); done(frames / ((performance.now() - began) / 1000)); }
  };
  requestAnimationFrame(step);
})"""
_GO = """async (state) => {
  const began = performance.now();
  history.pushState(null, "", `#${state}`);
  dispatchEvent(new PopStateEvent("popstate"));
  const stage = document.querySelector("#stage");
  while (stage.getAttribute("aria-busy") === "true") await new Promise((done) => setTimeout(done));
  stage.getBoundingClientRect();
  return performance.now() - began;
}"""
_SEARCH = """(text) => {
  const input = document.querySelector("#search");
  const began = performance.now();
  input.value = text;
  input.dispatchEvent(new Event("input"));
  return performance.now() - began;
}"""


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure each figure against its goal, which holds for an estate of the default size."""
    steps.begin("the page: the estate", 3)
    storage = _recorded(sizes.view_datasets)
    steps.done()
    began = time.perf_counter()
    content = page(document_of_record(storage, PublishOptions(), expressions=True))
    file_seconds = time.perf_counter() - began
    document = document_of_record(storage, PublishOptions(), expressions=True)
    steps.done()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        path = Path(folder) / "page.html"
        path.write_bytes(content)
        usable = median(browser.open(path) for _ in range(sizes.view_openings))
        steps.done()
        browser_figures = _in_browser(browser, document, sizes)
    rows = [
        ("file", len(content) / 1e6, "MB", 2.5),
        ("the file from a record", file_seconds, "s", 10),
        ("usable after opening", usable, "ms", 1_500),
        *browser_figures,
    ]
    counts = {"datasets": len(document.datasets), "columns": len(document.columns), "edges": len(document.edges)}
    return against_goals(NAME, rows, counts)


def _in_browser(browser: Browser, document: LineageDocument, sizes: Sizes) -> list[tuple[str, float, str, float]]:
    draw = random.Random(1)
    searches = [browser.run(_SEARCH, text) for _ in range(sizes.view_openings) for text in _SEARCHES]
    written_outputs = {flow.output for flow in document.flows}
    deep = [
        number for number, column in enumerate(document.columns) if column.name and column.dataset in written_outputs
    ]
    ways, hops = [], []
    for _ in range(sizes.view_columns):
        column = document.columns[draw.choice(deep)]
        asset = document.datasets[column.dataset].qualified_name
        ways.append(browser.run(_GO, urlencode({"asset": asset, "column": column.name})))
        browser.run(_GO, urlencode({"asset": asset}))
        hops.append(browser.run(_GO, urlencode({"asset": asset, "more": f"<{_input(document, column.dataset)}"})))
    browser.run(_GO, urlencode({"asset": asset, "up": "3", "down": "3"}))
    frames = browser.run(_HALF_SECOND_OF_PANNING)
    memory = browser.ask("metrics")["JSHeapUsedSize"] / 1e6
    return [
        ("search, slowest", max(searches), "ms", 50),
        ("a column's whole lineage, slowest", max(ways), "ms", 300),
        ("expanding, slowest", max(hops), "ms", 150),
        ("panning", frames, "frames/s", 20),
        ("memory", memory, "MB", 300),
    ]


def _input(document: LineageDocument, dataset: int) -> str:
    flow = next(flow for flow in document.flows if flow.output == dataset)
    return document.datasets[flow.input].qualified_name


def _recorded(datasets: int) -> MemoryStorage:
    """Return the estate that `python -m tests.synth --datasets` writes, in memory."""
    storage = MemoryStorage()
    for event in events(datasets):
        Receiver(storage=storage, max_body_bytes=1_000_000).receive(msgspec.json.encode(event))
    delivery = Delivery(processor=ApplicationProcessor(storage=storage))
    for fact in list(storage.blobs(EVENTS)):
        delivery.deliver(stored_from_blob(fact.name), storage.get(EVENTS, fact.name) or b"")
    context = PublishContext(storage=storage, catalog=MemoryCatalog(), publishing=PublishOptions())
    while Publisher(context=context).publish().written:
        pass
    return storage
