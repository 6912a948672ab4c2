"""Read files of Bitol's standards (YAML or JSON) with the lines of all values, and check them by a pydantic model."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from shared.errors import Misconfigured
from shared.rules_file import Place, RulesSource, did_you_mean
from shared.texts import visible

if TYPE_CHECKING:
    import pydantic

    Model = TypeVar("Model", bound=pydantic.BaseModel)

CONTRACT, PRODUCT = "DataContract", "DataProduct"
"""What a file may be, by its `kind`."""
TERMS = "throughlineTerms"
"""The custom property with the glossary terms of a table or a column: TERM or TERM@GLOSSARY, one or a list."""
DATASET = "throughlineDataset"
"""The custom property that names a data set as the lineage has it."""


def read_standard_file(text: str, place: str) -> RulesSource:
    """Read a file in YAML or JSON. Raises Misconfigured with the line of the first mistake of syntax."""
    try:
        import yaml  # noqa: PLC0415 - an extra: only contracts need it
    except ImportError as error:
        raise Misconfigured(f"{place} is YAML: install `throughline[contracts]` to read it") from error
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        for node in _scalars(tree):  # the standard's dates are texts; JSON writes some characters as two
            node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            if node.tag == "tag:yaml.org,2002:timestamp":
                node.tag = "tag:yaml.org,2002:str"
        values = yaml.SafeLoader("").construct_document(tree) if tree else None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it can't be read"
        raise Misconfigured(f"{place}:{mark.line + 1 if mark else 1}: this is not valid YAML: {problem}") from error
    if not isinstance(values, dict):
        raise Misconfigured(f"{place}:1: write an object with `apiVersion`, `kind` and what the standard demands")
    return RulesSource(place=place, tables=values, lines=dict(_lines(tree, ())))


def checked(source: RulesSource, model: "type[Model]") -> "Model":
    """The file as a model. Raises Misconfigured with all mistakes, each with its line."""
    import pydantic  # noqa: PLC0415 - an extra: only contracts need it

    try:
        parsed = model.model_validate(source.tables)
    except pydantic.ValidationError as error:
        mistakes = [
            (mistake["loc"], mistake["msg"]) for mistake in error.errors(include_input=False, include_url=False)
        ]
    else:
        mistakes = list(_unknown_keys(parsed, source.tables, ()))
        if not mistakes:
            return parsed
    problems = [f"{source.place}:{source.line(*loc)}: {'.'.join(map(str, loc))}: {text}" for loc, text in mistakes]
    raise Misconfigured("\n".join(map(visible, problems)))


def _unknown_keys(parsed: Any, raw: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """The keys that the standard does not have: the model ignores those of its parts, and a misspelled promise would be
    none.
    """
    if isinstance(raw, list) and isinstance(parsed, list):
        for number, (part, raw_part) in enumerate(zip(parsed, raw, strict=True)):
            yield from _unknown_keys(part, raw_part, (*place, number))
    elif isinstance(raw, dict) and hasattr(parsed, "model_fields_set"):
        fields = {field.alias or name: name for name, field in type(parsed).model_fields.items()}
        for key, value in raw.items():
            if key in fields:
                yield from _unknown_keys(getattr(parsed, fields[key]), value, (*place, key))
            else:
                yield (*place, key), f"the standard has no such key.{did_you_mean([str(key)], fields)}"


def custom_values(properties: Iterable[Any] | None, name: str) -> tuple[str, ...]:
    """The values of a custom property, which may be a list."""
    values = [extra.value for extra in properties or () if extra.property == name and extra.value]
    return tuple(str(part) for value in values for part in (value if isinstance(value, list) else [value]))


def owner_of(team: Any) -> str:
    """The owners in a team, with commas between: its members in such a role who have not left, else its name."""
    members = team if isinstance(team, list) else (team.members if team else None) or ()
    owners = [member.username for member in members if "owner" in (member.role or "").lower() and not member.dateOut]
    return ", ".join(filter(None, owners)) or getattr(team, "name", None) or ""


def _scalars(node: Any) -> Iterator[Any]:
    """All nodes of YAML that have no parts."""
    waiting, passed = [node], set()
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in passed:
            continue
        passed.add(id(part))
        if isinstance(part.value, list):
            waiting += [child for pair in part.value for child in (pair if isinstance(pair, tuple) else (pair,))]
        else:
            yield part


def _lines(node: Any, place: Place) -> Iterator[tuple[Place, int]]:
    """The line of each value; `place`: the keys that lead to the node."""
    yield place, node.start_mark.line + 1
    if not isinstance(node.value, list):
        return
    for number, part in enumerate(node.value):
        key, value = (part[0].value, part[1]) if isinstance(part, tuple) else (number, part)
        yield from _lines(value, (*place, key))
