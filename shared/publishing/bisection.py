"""A call to the catalog that is refused is halved until what is wrong stands by itself, and the rest goes through.

The answer is read, not assumed: Atlas takes all of a call or nothing, of others only a part may be in the answer. An
answer 500 may be about one entity as well; when both halves get it, it is about the catalog. Where something is not
there that was referred to, what was remembered is held against the catalog first.
"""

from collections.abc import Mapping, Sequence

from shared.catalog.port import AssetKey, Catalog
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.catalog_write import Published, Refusal, write
from shared.publishing.placeholders.creation import found_for
from shared.publishing.planner import Plan, PublishOptions
from shared.records.asset_matches import AssetMatch, expire_matches
from shared.storage.port import Storage

_NOT_FOUND = 404


def write_all(
    storage: Storage, catalog: Catalog, how: PublishOptions, plans: Sequence[Plan], done: Published
) -> list[Refusal]:
    """Write these in as few calls as go: what the catalog would not have by itself is returned.

    Raises CatalogRefused where nothing would go through for want of access, and CatalogUnavailable.
    """
    return _Sifting(storage, catalog, how, done).sift(plans)


class _Sifting:
    def __init__(self, storage: Storage, catalog: Catalog, how: PublishOptions, done: Published) -> None:
        self._storage = storage
        self._catalog = catalog
        self._how = how
        self._done = done

    def sift(self, plans: Sequence[Plan]) -> list[Refusal]:
        """Look up what these need, once, then write them."""
        try:
            found, named = found_for(self._storage, self._catalog, self._how, plans)
        except CatalogRefused as error:
            if error.no_access:
                raise
            if len(plans) == 1:
                return [Refusal(plan=plans[0], error=error, alone=True)]
            return [each for half in _halves(plans) for each in self.sift(half)]
        refused = self._write(named, found)
        if any(_is_missing(each.error) for each in refused) and self._refreshed(found):
            found, named = found_for(self._storage, self._catalog, self._how, [each.plan for each in refused])
            refused = self._write(named, found)
            plans = named
        if len(plans) == 1 and refused and not plans[0].dirty.alone:
            self._raise_if_away([refused])
        return self._again(refused, len(plans), found)

    def _again(self, refused: Sequence[Refusal], sent: int, found: dict[AssetKey, AssetMatch]) -> list[Refusal]:
        """What was refused in a call for so many, in smaller ones."""
        poisonous = [each for each in refused if each.alone]
        plans = [each.plan for each in refused if not each.alone]
        if not plans:
            return poisonous
        parts = _halves(plans) if len(plans) == sent else [plans]
        answers = [self._write(part, found) for part in parts]
        if len(parts) > 1 and all(len(part) == len(answer) for part, answer in zip(parts, answers, strict=True)):
            self._raise_if_away(answers)
        for part, answer in zip(parts, answers, strict=True):
            poisonous += self._again(answer, len(part), found)
        return poisonous

    def _refreshed(self, found: Mapping[AssetKey, AssetMatch]) -> bool:
        """Forget what was remembered of assets that the catalog does not have, or not under that guid: somebody has
        deleted them, or it is another catalog. Whether there were any.
        """
        known = [each for each in found.values() if each.guid]
        held = self._catalog.look_up([each.key for each in known])
        stale = [each for each in known if each.key not in held or held[each.key].guid != each.guid]
        expire_matches(self._storage, stale)
        return bool(stale)

    def _write(self, plans: Sequence[Plan], found: dict[AssetKey, AssetMatch]) -> list[Refusal]:
        self._how.beat()
        return write(self._storage, self._catalog, self._how, plans, found=found, done=self._done)

    @staticmethod
    def _raise_if_away(answers: Sequence[Sequence[Refusal]]) -> None:
        """The catalog chokes on everything."""
        errors = [each.error for answer in answers for each in answer]
        if all(isinstance(error, CatalogUnavailable) for error in errors):
            raise errors[0]


def _is_missing(error: Exception) -> bool:
    """Whether something that was referred to is not there."""
    return isinstance(error, CatalogRefused) and error.status == _NOT_FOUND


def _halves(plans: Sequence[Plan]) -> list[Sequence[Plan]]:
    middle = (len(plans) + 1) // 2
    return [plans[:middle], plans[middle:]]
