"""What events declare of jobs and data sets: owners, descriptions, tags; without secrets, and bounded."""

from collections.abc import Iterable, Sequence

from shared.model import NOTHING_DECLARED, Declared
from shared.openlineage.run import TagValue
from shared.secrets import text_without_secrets

_MAX_OWNERS = 20
_MAX_OWNER = 1_000
_MAX_DESCRIPTION = 8_000
_MAX_TAGS = 10_000


def declared_as(owners: Sequence[str], description: str, tags: Sequence[TagValue]) -> Declared:
    """The owners as one text, the description, and the tags."""
    if not (owners or description or tags):
        return NOTHING_DECLARED
    return Declared(
        owner=text_without_secrets(", ".join(owners[:_MAX_OWNERS]))[:_MAX_OWNER],
        description=text_without_secrets(description)[:_MAX_DESCRIPTION],
        tags=tuple((key, text_without_secrets(value), column) for key, value, column in tags[:_MAX_TAGS]),
    )


def joined_declarations(declarations: Iterable[Declared]) -> Declared:
    """Several as one, whatever their order: of different texts the longest, then the greatest; all tags."""
    different = set(declarations) - {NOTHING_DECLARED}
    if len(different) < 2:  # noqa: PLR2004 - one, or none
        return different.pop() if different else NOTHING_DECLARED
    return Declared(
        owner=fullest(each.owner for each in different),
        description=fullest(each.description for each in different),
        tags=tuple(sorted({tag for each in different for tag in each.tags}))[:_MAX_TAGS],
    )


def fullest(texts: Iterable[str]) -> str:
    """Of several texts the longest, then the greatest."""
    return max(texts, key=lambda text: (len(text), text), default="")
