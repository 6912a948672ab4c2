"""Verify: blobs against tables against the catalog, and mending what differs.

Nothing is noted of how far it has come, for nothing has to be: what was mended is not found again, so whoever is
stopped begins anew, and doing it twice writes nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from shared.errors import ContentLost, WriteConflict
from shared.maintenance.replay import publish_all
from shared.maintenance.verify.inconsistencies import Inconsistency, Kind, Stage, Survey, World
from shared.maintenance.verify.kinds import KINDS
from shared.maintenance.verify.scanners import WALKS
from shared.publishing.catalog_write import Published


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One damage of a kind: `mended` is None where mending was not asked for; `why` not, if it could not be."""

    kind: Kind
    damage: Inconsistency
    mended: bool | None = None
    why: str = ""


_PUBLISHED_BEFORE = frozenset({Stage.PROCESSES, Stage.PLACED})
"""Stages that look at what earlier ones had published: what they mended must not be taken for damage."""
_IN_CATALOG = frozenset({Stage.PLACED})
"""Stages whose mending changes the catalog at once; the others leave that to the publisher, who minds shadow mode."""


def verify(
    world: World, *, fix: bool = False, stopped: Callable[[], bool] = lambda: False
) -> Iterator[Found | Published]:
    """All damage, stage by stage, as it is found. With `fix` each is mended at once, and what that changed is
    published before what the catalog holds is looked at and at the end: those counts come too.

    Goes no further once `stopped`. Raises StorageUnavailable, CatalogUnavailable or CatalogRefused: what was mended by
    then stays so.
    """
    world = replace(world, survey=Survey())
    for stage, walk in WALKS.items():
        if fix and stage in _PUBLISHED_BEFORE:
            yield publish_all(world.storage, world.catalog, world.publishing)[0]
        kinds = [kind for kind in KINDS if kind.stage is stage]
        for item in walk(world):
            for kind in kinds:
                for damage in kind.find(world, item):
                    yield _mended(world, kind, damage) if fix else Found(kind=kind, damage=damage)
            if stopped():
                return
    if fix:
        yield publish_all(world.storage, world.catalog, world.publishing)[0]


def _mended(world: World, kind: Kind, damage: Inconsistency) -> Found:
    if world.publishing.shadow and kind.stage in _IN_CATALOG:
        return Found(kind=kind, damage=damage, mended=False, why="shadow mode leaves the catalog as it is")
    try:
        mended = kind.mend(world, damage)
        why = "" if mended else "it changed meanwhile, or can't be mended: verify again"
    except (WriteConflict, ContentLost) as error:
        mended, why = False, str(error)
    return Found(kind=kind, damage=damage, mended=mended, why=why)
