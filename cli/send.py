"""`throughline send`: post files of events, as a listener does."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import requests
import typer

from cli.console import err, fail, out, progress_bar
from cli.files import Found, UnreadableFileError, events_in
from local.world import running_world

_TRIES = 6
_TIMEOUT = 30


def send(
    files: Annotated[list[Path], typer.Argument(help="JSON, JSON-lines or .gz files of events; - for standard input")],
    *,
    url: Annotated[str, typer.Option(help="The receiver; by default that of the world on this machine")] = "",
    key: Annotated[str, typer.Option(envvar="THROUGHLINE_KEY", help="Its function key")] = "",
    at_once: Annotated[int, typer.Option(min=1, max=32, help="Events under way at once")] = 4,
) -> None:
    """Post events to a receiver, one request for each. Sending the same again changes nothing.

    Waits and tries again while the receiver says that it is busy. Exit code 1 when an event was refused.

    \b
    throughline send events.jsonl
    throughline send backlog/*.jsonl.gz --url https://NAME.azurewebsites.net --key ...
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if not url:
        world = running_world()
        if not world:
            fail("no receiver: give --url, or start a world with `make up`", code=2)
        url = world.receiver_url
    try:
        events = [found for path in files for found in events_in(path)]
    except UnreadableFileError as error:
        fail(str(error), code=2)
    headers = {"Content-Type": "application/json; charset=UTF-8", **({"x-functions-key": key} if key else {})}
    session = requests.Session()
    session.mount("http", requests.adapters.HTTPAdapter(pool_maxsize=at_once))
    refused: list[str] = []
    kept = ignored = 0

    def post(found: Found) -> tuple[Found, requests.Response | str]:
        return found, _post(session, f"{url.rstrip('/')}/api/v1/lineage", found.raw, headers)

    with progress_bar() as progress, ThreadPoolExecutor(at_once) as pool:
        task = progress.add_task("sending", total=len(events))
        for found, answer in pool.map(post, events):
            progress.advance(task)
            if isinstance(answer, str):
                refused.append(f"{found.place}: {answer}")
            elif answer.json().get("status") == "ignored":
                ignored += 1
            else:
                kept += 1
    out.print(f"{kept:,} kept, {ignored:,} ignored, {len(refused):,} refused")
    for sentence in refused:
        err.print(f"[yellow]refused:[/] {sentence}", soft_wrap=True)
    if refused:
        raise typer.Exit(1)


def _post(session: requests.Session, url: str, raw: bytes, headers: dict[str, str]) -> requests.Response | str:
    """The answer, or why there is none that counts."""
    reason = ""
    for attempt in range(_TRIES):
        try:
            answer = session.post(url, data=raw, headers=headers, timeout=_TIMEOUT, allow_redirects=False)
        except requests.RequestException as error:
            reason = f"no answer: {type(error).__name__}"
        else:
            if answer.status_code in {200, 201}:
                return answer
            reason = f"{answer.status_code}: {answer.text[:300]}"
            if answer.status_code not in {429, 500, 502, 503, 504}:
                return reason
        time.sleep(min(0.2 * 2**attempt, 5))
    return reason
