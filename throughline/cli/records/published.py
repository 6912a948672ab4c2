"""Publishing at the end of a command, and its report."""

from shared.bootstrap import Worker
from shared.maintenance.publish_missing import publish_all
from throughline.cli.ui.console import counted, note, out, plain

_COLOURS = {"+": "green", "-": "red"}
_SHOWN = 20


def publish_and_report(parts: Worker) -> bool:
    """Publish what is due, and print counts and the names of what changed. False where the catalog refused something or
    did not answer.
    """
    published, waiting = publish_all(parts)
    number_left = waiting - published.refused
    out.print(
        f"catalog: {published.written:,} written, {published.removed:,} removed, {published.unchanged:,} unchanged"
    )
    for sign, process in published.changes[:_SHOWN]:
        out.print(f"  [{_COLOURS[sign]}]{sign}[/] {plain(process)}")
    if (surplus := published.written + published.removed - len(published.changes[:_SHOWN])) > 0:
        remainder = (
            f"{surplus:,} more" if len(published.changes) > _SHOWN else f"the columns of {counted(surplus, 'data set')}"
        )
        out.print(f"  and {remainder}")
    if published.held:
        note("shadow mode", f"{published.held:,} writes are kept from the catalog: `throughline shadow` lists them")
    if published.refused:
        note("refused", f"the catalog refused {counted(published.refused, 'process')}: `throughline status` shows why")
    if published.error:
        queue = (
            f"{counted(number_left, 'process')} stay in the publish queue, and are published once the catalog answers"
        )
        note("catalog", f"{published.error}. Nothing is lost: {queue}")
    elif number_left > 0:
        out.print(
            f"{counted(number_left, 'process')} more in the publish queue: "
            "being published by another worker, or waiting for "
            "their debounce time"
        )
    return not (published.error or published.refused)
