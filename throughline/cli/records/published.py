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
    done, waiting = publish_all(parts)
    left = waiting - done.refused
    out.print(f"catalog: {done.written:,} written, {done.removed:,} removed, {done.unchanged:,} unchanged")
    for sign, process in done.changes[:_SHOWN]:
        out.print(f"  [{_COLOURS[sign]}]{sign}[/] {plain(process)}")
    if (rest := done.written + done.removed - len(done.changes[:_SHOWN])) > 0:
        remainder = f"{rest:,} more" if len(done.changes) > _SHOWN else f"the columns of {counted(rest, 'data set')}"
        out.print(f"  and {remainder}")
    if done.held:
        note("shadow mode", f"{done.held:,} writes are kept from the catalog: `throughline shadow` lists them")
    if done.refused:
        note("refused", f"the catalog refused {counted(done.refused, 'process')}: `throughline status` shows why")
    if done.error:
        queue = f"{counted(left, 'process')} stay in the publish queue, and are published once the catalog answers"
        note("catalog", f"{done.error}. Nothing is lost: {queue}")
    elif left > 0:
        out.print(
            f"{counted(left, 'process')} more in the publish queue: being published by another worker, or waiting for "
            "their debounce time"
        )
    return not (done.error or done.refused)
