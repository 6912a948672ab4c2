"""The text of an expression, as people write it in SQL, for them to read: columns by name, `?` for each literal.

A column of an inner query stands as what it is made of, so that a text names columns of data sets only. The writer
ends a text when it is long enough.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from shared.plans.nodes.document import Id, Node, id_of, kind, nodes
from shared.plans.nodes.expressions import IGNORED_FIELDS

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|\d+")
_NAMES = {
    "ArrayFilter": "filter",
    "ArrayTransform": "transform",
    "Average": "avg",
    "CreateArray": "array",
    "CreateMap": "map",
    "DateFormatClass": "date_format",
    "HyperLogLogPlusPlus": "approx_count_distinct",
    "InitCap": "initcap",
    "JsonToStructs": "from_json",
    "Lead": "lead",
    "MonotonicallyIncreasingID": "monotonically_increasing_id",
    "Murmur3Hash": "hash",
    "NTile": "ntile",
    "NullIf": "nullif",
    "ParseToDate": "to_date",
    "ParseToTimestamp": "to_timestamp",
    "RegExpExtract": "regexp_extract",
    "RegExpReplace": "regexp_replace",
    "StddevSamp": "stddev",
    "StringLPad": "lpad",
    "StringRPad": "rpad",
    "StringReplace": "replace",
    "StringSplit": "split",
    "StringTrim": "trim",
    "StringTrimLeft": "ltrim",
    "StringTrimRight": "rtrim",
    "StructsToJson": "to_json",
    "TruncDate": "trunc",
    "TruncTimestamp": "date_trunc",
    "VarianceSamp": "variance",
}
_ONE_WORD = frozenset(
    {"Sha1", "Sha2", "Md5", "Crc32", "XxHash64", "Base64", "UnBase64", "Atan2", "Log10", "Log2", "Log1p"}
)


def function_name(name: str) -> str:
    """The SQL name of an expression by its class: `DateAdd` is `date_add`."""
    if name in _ONE_WORD:
        return name.lower()
    return _NAMES.get(name) or "_".join(_WORD.findall(name)).lower() or name


MAX_TEXT = 300
"""Characters. The rest of a longer text is left out."""
_MAX_DEPTH = 40
CUT = "…"

OR, AND, NOT, COMPARED, ADDED, MULTIPLIED, ONE = range(1, 8)
"""How strongly the parts of a text belong together: a part in a stronger one needs brackets."""


class Text(NamedTuple):
    """A text, and how strongly its parts belong together."""

    text: str
    strength: int = ONE


Texts = Mapping[Id, Text]
"""What the columns of a plan are made of, if it is more than a column of their own name."""

Way = Callable[["Writer", Node], int]
"""Writes an expression of one class; returns how strongly its parts belong together."""


def cut(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + CUT


class Writer:
    """Writes the columns as `texts` say, and other expressions by their class as `ways` say, `other` the rest."""

    def __init__(self, texts: Texts, ways: Mapping[str, Way], other: Way) -> None:
        self.texts = texts
        self._ways = ways
        self._other = other
        self._pieces: list[str] = []
        self._left = MAX_TEXT
        self._depth = 0

    @property
    def text(self) -> str:
        """What is written."""
        return cut("".join(self._pieces))

    def put(self, *pieces: str) -> None:
        """Write these."""
        for piece in pieces:
            self._pieces.append(piece)
            self._left -= len(piece)

    def write(self, node: Node) -> int:
        """Write an expression; returns how strongly its parts belong together."""
        if self._left < 0:
            return ONE
        if self._depth >= _MAX_DEPTH:
            self.put(CUT)
            return ONE
        self._depth += 1
        strength = self._ways.get(kind(node), self._other)(self, node)
        self._depth -= 1
        return strength

    def part(self, node: Node, strength: int) -> None:
        """Write a part of an expression, in brackets if it is weaker."""
        start = len(self._pieces)
        self.put("")
        if self.write(node) < strength:
            self._pieces[start] = "("
            self.put(")")

    def listed(self, before: str, given: Iterable[Node], after: str = "") -> None:
        """Write expressions with commas between them, and what stands before and after them."""
        self.put(before)
        for place, each in enumerate(given):
            if self._left < 0:
                break
            if place:
                self.put(", ")
            self.write(each)
        self.put(after)


def text_of(node: Node, texts: Texts) -> Text:
    """The text of an expression."""
    writer = Writer(texts, _WAYS, _function)
    strength = writer.write(node)
    return Text(writer.text, strength)


def together(given: Iterable[Text]) -> Text:
    """Several ways to make one column, as those of a union's branches."""
    distinct = sorted({each.text for each in given})
    return Text(cut("; ".join(distinct)), ONE if len(distinct) == 1 else OR)


def _arguments(node: Node) -> Iterator[Node]:
    for name, value in node.items():
        if name not in IGNORED_FIELDS and name != "replacement":
            yield from (each for each in nodes(value) if kind(each) != "NumericEvalContext")


_FUNCTIONS_BY_NAME = frozenset({"PythonUDF", "PythonUDAF", "PythonUDTF", "ScalaUDF", "ApplyFunctionExpression"})


def _function(to: Writer, node: Node) -> int:
    given = node.get("udfName") or (node.get("name") if kind(node) in _FUNCTIONS_BY_NAME else None)
    to.listed(f"{given or function_name(kind(node))}(", _arguments(node), ")")
    return ONE


def _column(to: Writer, node: Node) -> int:
    found = to.texts.get(id_of(node) or ())
    to.put(found.text if found else str(node.get("name", CUT)))
    return found.strength if found else ONE


def _literal(to: Writer, _: Node) -> int:
    to.put("?")
    return ONE


def _named(to: Writer, node: Node) -> int:
    to.put(str(node.get("name", "?")))
    return ONE


def _below(field: str) -> Way:
    def write(to: Writer, node: Node) -> int:
        found = next(nodes(node.get(field)), None)
        return _literal(to, node) if found is None else to.write(found)

    return write


def _between(word: str, strength: int) -> Way:
    def write(to: Writer, node: Node) -> int:
        for place, each in enumerate(_arguments(node)):
            if place:
                to.put(f" {word} ")
            # Operators bind to the left: what stands on the right needs brackets even if it is as strong.
            to.part(each, strength + (1 if place and word not in {"AND", "OR"} else 0))
        return strength

    return write


def _around(before: str, after: str, strength: int) -> Way:
    def write(to: Writer, node: Node) -> int:
        to.put(before)
        for each in _arguments(node):
            to.part(each, strength)
        to.put(after)
        return strength

    return write


def _cast(to: Writer, node: Node) -> int:
    if kind(node.get("child")) in _LITERALS:
        return _literal(to, node)
    to.listed("CAST(", nodes(node.get("child")), " AS ")
    to.put(_PARAMETERS.split(str(node.get("t", "")), maxsplit=1)[0] or CUT, ")")
    return ONE


_LITERALS = frozenset({"Literal", "TypedNullLiteral"})
_PARAMETERS = re.compile("[(<]")


def _case(to: Writer, node: Node) -> int:
    to.put("CASE")
    for branch in node.get("branches", ()):
        if isinstance(branch, list) and len(branch) == 2:  # noqa: PLR2004 - condition and value
            to.listed(" WHEN ", nodes(branch[0]))
            to.listed(" THEN ", nodes(branch[1]))
    for each in nodes(node.get("elseValue")):
        to.put(" ELSE ")
        to.write(each)
    to.put(" END")
    return ONE


def _in(to: Writer, node: Node) -> int:
    given = [*nodes(node.get("value")), *nodes(node.get("values"))]
    for each in given[:1]:
        to.part(each, COMPARED)
    to.listed(" IN (", [*given[1:], *nodes(node.get("list"))], ")")
    return COMPARED


def _subquery(to: Writer, node: Node) -> int:
    to.put("EXISTS (subquery)" if kind(node) == "Exists" else "(subquery)")
    return ONE


def _aggregate(to: Writer, node: Node) -> int:
    for function in nodes(node.get("aggregateFunction")):
        if kind(function) in _FUNCTIONS_BY_NAME:
            to.write(function)
            continue
        distinct = "DISTINCT " if node.get("isDistinct") else ""
        to.listed(f"{function_name(kind(function))}({distinct}", _arguments(function), ")")
    for each in nodes(node.get("filter")):
        to.listed(" FILTER (WHERE ", (each,), ")")
    return ONE


def _window(to: Writer, node: Node) -> int:
    for function in nodes(node.get("windowFunction")):
        to.write(function)
    given = next(nodes(node.get("windowSpec")), {})
    to.put(" OVER (")
    groups, orders = list(nodes(given.get("partitionSpec"))), list(nodes(given.get("orderSpec")))
    if groups:
        to.listed("PARTITION BY ", groups)
    if orders:
        to.listed(" ORDER BY " if groups else "ORDER BY ", orders)
    to.put(")")
    return ONE


def _order(to: Writer, node: Node) -> int:
    for each in nodes(node.get("child")):
        to.write(each)
    if kind(node.get("direction")) == "Descending":
        to.put(" DESC")
    return ONE


def _struct(to: Writer, node: Node) -> int:
    to.listed("struct(", list(nodes(node.get("children")))[1::2], ")")
    return ONE


def _field(to: Writer, node: Node) -> int:
    for each in nodes(node.get("child")):
        to.part(each, ONE)
    to.put(".", str(node.get("name") or CUT))
    return ONE


def _field_of_elements(to: Writer, node: Node) -> int:
    for each in nodes(node.get("child")):
        to.part(each, ONE)
    field = node.get("field")
    to.put(".", str(field.get("name") or CUT) if isinstance(field, dict) else CUT)
    return ONE


def _item(to: Writer, node: Node) -> int:
    whole, *place = _arguments(node)
    to.part(whole, ONE)
    to.listed("[", place, "]")
    return ONE


def _lambda(to: Writer, node: Node) -> int:
    to.listed("", nodes(node.get("arguments")), " -> ")
    to.listed("", nodes(node.get("function")))
    return ONE


_COMPARISONS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "Like": "LIKE",
    "ILike": "ILIKE",
    "RLike": "RLIKE",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_WAYS: Mapping[str, Way] = {
    "AttributeReference": _column,
    "Literal": _literal,
    "TypedNullLiteral": _literal,
    "BoundReference": _literal,
    "NamedLambdaVariable": _named,
    **dict.fromkeys(("Alias", "UpCast", "KnownNotNull", "KnownNullable", "PromotePrecision"), _below("child")),
    **dict.fromkeys(("CheckOverflow", "CheckOverflowInTableWrite", "With"), _below("child")),
    "OuterReference": _below("e"),
    **dict.fromkeys(("Cast", "AnsiCast", "TryCast"), _cast),
    "Or": _between("OR", OR),
    "And": _between("AND", AND),
    "Not": _around("NOT ", "", NOT),
    **{name: _between(word, COMPARED) for name, word in _COMPARISONS.items()},
    "IsNull": _around("", " IS NULL", COMPARED),
    "IsNotNull": _around("", " IS NOT NULL", COMPARED),
    "In": _in,
    "InSubquery": _in,
    **{name: _between(word, ADDED) for name, word in {"Add": "+", "Subtract": "-", "TimeAdd": "+"}.items()},
    **{name: _between(word, MULTIPLIED) for name, word in {"Multiply": "*", "Divide": "/", "Remainder": "%"}.items()},
    "IntegralDivide": _between("DIV", MULTIPLIED),
    "UnaryMinus": _around("-", "", ONE),
    "CaseWhen": _case,
    **dict.fromkeys(("ScalarSubquery", "LateralSubquery", "ListQuery", "Exists"), _subquery),
    "AggregateExpression": _aggregate,
    "WindowExpression": _window,
    "SortOrder": _order,
    "CreateNamedStruct": _struct,
    "GetStructField": _field,
    "GetArrayStructFields": _field_of_elements,
    "GetArrayItem": _item,
    "GetMapValue": _item,
    "LambdaFunction": _lambda,
}
