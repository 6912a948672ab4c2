"""`throughline send`: post files of events, as a listener does."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import requests
import typer

from cli.context.target import HOME, Home
from cli.ui.console import fail, note, out, progress_bar
from cli.ui.event_files import Found, UnreadableFileError, events_in
from local.world import running_world

_TRIES = 6
_TIMEOUT = 30
_COME_AGAIN = frozenset({429, 500, 502, 503, 504})
_MOST_REASONS = 10


def send(
    files: Annotated[list[Path], typer.Argument(help="JSON, JSON-lines or .gz files of events; - for standard input")],
    *,
    url: Annotated[str, typer.Option(help="The receiver; by default that of the world on this machine")] = "",
    key: Annotated[str, typer.Option(envvar="THROUGHLINE_KEY", help="Its function key")] = "",
    at_once: Annotated[int, typer.Option(min=1, max=32, help="Events under way at once")] = 4,
    home: Home = HOME,
) -> None:
    """Post events to a receiver, one request for each. Sending the same again changes nothing.

    Waits and tries again while the receiver says that it is busy. Exit code 1 when an event was not taken.

    \b
    throughline send events.jsonl
    throughline send backlog/*.jsonl.gz --url https://NAME.azurewebsites.net --key ...
    """  # noqa: D301 - \b keeps the lines of the examples apart
    sender = _Sender(url=_receiver(url, home), key=key)
    answers: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    try:
        total = None if Path("-") in files else sum(1 for _ in _events(files))  # read twice: far cheaper than to send
        events = _events(files)
        first = list(islice(events, 1))
        for found in first:  # alone: when nobody is there, one sentence is enough
            _tell_apart(sender, sender.post(found), answers, reasons)
        with progress_bar() as progress, ThreadPoolExecutor(at_once) as pool:
            task = progress.add_task("sending", total=total)
            progress.advance(task, len(first))
            try:
                for answer in chain.from_iterable(pool.map(sender.post, chunk) for chunk in _chunks(events, at_once)):
                    progress.advance(task)
                    _tell_apart(None, answer, answers, reasons)
            except KeyboardInterrupt:
                sender.stop.set()
                raise
    except UnreadableFileError as error:
        fail(str(error), code=2)
    out.print(f"{answers['kept']:,} kept, {answers['ignored']:,} ignored, {answers['refused']:,} refused")
    for reason, count in reasons.most_common(_MOST_REASONS):
        note("refused", reason if count == 1 else f"{reason} (and {count - 1:,} more like it)")
    if answers["refused"]:
        raise typer.Exit(1)


def _receiver(url: str, home: Path) -> str:
    if not url:
        world = running_world(home)
        if not world:
            fail("no receiver: give --url, or start a world with `make up`", code=2)
        url = world.receiver_url
    if not url.startswith(("http://", "https://")):
        fail(f"--url must start with http:// or https://, not {url!r}", code=2)
    return url.rstrip("/")


def _events(files: list[Path]) -> Iterator[Found]:
    return chain.from_iterable(events_in(path) for path in files)


def _chunks(events: Iterator[Found], at_once: int) -> Iterator[list[Found]]:
    """So many at a time that every worker is busy, and no more: files may be larger than memory."""
    while chunk := list(islice(events, 25 * at_once)):
        yield chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What became of an event: kept, ignored or refused; `status` is 0 when nobody answered."""

    kind: str
    status: int
    reason: str = ""
    place: str = ""


def _tell_apart(sender: "_Sender | None", answer: _Answer, answers: Counter[str], reasons: Counter[str]) -> None:
    """Count an answer. `sender` is given with the first one, which tells whether to go on at all."""
    if sender and answer.status == 0:
        fail(f"nothing answers at {sender.url}: {answer.reason}", code=2)
    if sender and answer.status in {401, 403, 404}:
        fail(f"{sender.url} is no receiver, or --key is not its key: it answers {answer.status}", code=2)
    answers[answer.kind] += 1
    if answer.kind == "refused":
        reasons[f"{answer.place}: {answer.reason}" if answer.status == 400 else answer.reason] += 1  # noqa: PLR2004


class _Sender:
    """Posts events over kept connections until it is told to stop."""

    def __init__(self, *, url: str, key: str) -> None:
        self.url = url
        self.stop = threading.Event()
        self._headers = {"Content-Type": "application/json; charset=UTF-8", **({"x-functions-key": key} if key else {})}
        self._session = requests.Session()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, requests.adapters.HTTPAdapter(pool_maxsize=32))

    def post(self, found: Found) -> _Answer:
        """Post one event, again and again while the receiver is busy."""
        answer = _Answer(kind="refused", status=0, reason="it was not sent", place=found.place)
        for attempt in range(_TRIES):
            if self.stop.wait(min(0.1 * 2**attempt, 5) if attempt else 0):
                break
            answer = self._once(found)
            if answer.status and answer.status not in _COME_AGAIN:
                break
        return answer

    def _once(self, found: Found) -> _Answer:
        try:
            response = self._session.post(
                f"{self.url}/api/v1/lineage",
                data=found.raw,
                headers=self._headers,
                timeout=_TIMEOUT,
                allow_redirects=False,
            )
            body = response.json() if response.status_code in {200, 201} else {}
        except requests.JSONDecodeError:
            return _Answer(kind="refused", status=404, reason="the answer is no JSON", place=found.place)
        except requests.RequestException as error:
            return _Answer(kind="refused", status=0, reason=f"no answer ({type(error).__name__})", place=found.place)
        if response.status_code in {200, 201}:
            kind = "ignored" if body.get("status") == "ignored" else "kept"
            return _Answer(kind=kind, status=response.status_code)
        reason = f"{response.status_code}: {response.text[:300]}"
        return _Answer(kind="refused", status=response.status_code, reason=reason, place=found.place)
