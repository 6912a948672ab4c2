"""Write a batch of plans: resolve their assets, then send them in as few calls as the catalog accepts.

A refused call is bisected. The answer is read, not assumed: Atlas accepts all of a call or nothing, others may answer
with a part. A 500 can be caused by one entity as well; when both halves of a call get it, the catalog is unavailable.
A 404 on something that was referred to makes remembered asset matches be checked first.
"""

from collections.abc import Mapping, Sequence

from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.placeholders.creation import resolve_plans
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.planner import Plan
from shared.publishing.writing.bisection import Bisection
from shared.publishing.writing.catalog_write import CatalogWriter, Refusal
from shared.records.asset_matches import AssetMatch, expire_matches

_NOT_FOUND = 404


def write_batch(writer: CatalogWriter, plans: Sequence[Plan]) -> list[Refusal]:
    """Write these plans. Return those that the catalog refused in a call of their own.

    Raises CatalogRefused without access, and CatalogUnavailable.
    """
    found = dict[AssetKey, AssetMatch]()
    errors: dict[str, CatalogRefused | CatalogUnavailable] = {}
    isolated: list[Refusal] = []
    bisection = Bisection(plans)
    while call := bisection.next_call():
        refused = _write_in_one_call(writer, call, found)
        if refused and len(plans) == 1 and not plans[0].queue_entry.isolated:
            raise_if_unavailable([refused[0].error])
        errors |= {each.plan.queue_entry.process: each.error for each in refused}
        isolated += [each for each in refused if each.isolated]
        bisection.answered(
            [each.plan for each in refused if not each.isolated],
            final=[each.plan for each in refused if each.isolated],
        )
        raise_if_unavailable([errors[plan.queue_entry.process] for plan in bisection.choked])
    return isolated


def _write_in_one_call(
    writer: CatalogWriter, plans: Sequence[Plan], found: dict[AssetKey, AssetMatch]
) -> list[Refusal]:
    """Resolve the assets of these plans that were not `found` yet (and add them there), and write the plans. Return
    those that were refused.
    """
    context = writer.context
    context.publishing.heartbeat()
    try:
        named = resolve_plans(context, plans, found)
    except CatalogRefused as error:
        if error.no_access:
            raise
        return [Refusal(plan=each, error=error, isolated=len(plans) == 1) for each in plans]
    refused = writer.write(named, found)
    if any(_is_missing(each.error) for each in refused) and _expire_stale(context, found):
        found.clear()
        refused = writer.write(resolve_plans(context, [each.plan for each in refused], found), found)
    return refused


def _expire_stale(context: PublishContext, found: Mapping[AssetKey, AssetMatch]) -> bool:
    """Expire remembered matches that the catalog lacks or has under another guid: deleted, or another catalog.
    Whether there were any.
    """
    known = [each for each in found.values() if each.guid]
    held = context.catalog.look_up([each.key for each in known])
    stale = [each for each in known if each.key not in held or held[each.key].guid != each.guid]
    expire_matches(context.storage, stale)
    return bool(stale)


def raise_if_unavailable(errors: Sequence[Exception]) -> None:
    """Raise the first of these errors where all are CatalogUnavailable."""
    if errors and all(isinstance(error, CatalogUnavailable) for error in errors):
        raise errors[0]


def _is_missing(error: Exception) -> bool:
    """Whether something that was referred to is not there."""
    return isinstance(error, CatalogRefused) and error.status == _NOT_FOUND
