"""The text of an expression, as people write it in SQL, for them to read: columns by name, `?` for each literal.

A column of an inner query stands as what it is made of, so that a text names columns of data sets only. The writer
ends a text when it is long enough.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

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


class Text(msgspec.Struct, frozen=True, gc=False):
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

    def listed(self, opening: str, listed: Iterable[Node], closing: str = "") -> None:
        """Write expressions with commas between them, and what stands before and after them."""
        self.put(opening)
        for place, node in enumerate(listed):
            if self._left < 0:
                break
            if place:
                self.put(", ")
            self.write(node)
        self.put(closing)


def text_of(node: Node, texts: Texts) -> Text:
    """The text of an expression."""
    writer = Writer(texts, _WAYS, _function)
    strength = writer.write(node)
    return Text(writer.text, strength)


def together(texts: Iterable[Text]) -> Text:
    """Several ways to make one column, as those of a union's branches."""
    distinct = sorted({text.text for text in texts})
    return Text(cut("; ".join(distinct)), ONE if len(distinct) == 1 else OR)


def _arguments(node: Node) -> list[Node]:
    return [
        argument
        for name, value in node.items()
        if not isinstance(value, str) and name not in IGNORED_FIELDS and name != "replacement"
        for argument in nodes(value)
        if kind(argument) != "NumericEvalContext"
    ]


_FUNCTIONS_BY_NAME = frozenset({"PythonUDF", "PythonUDAF", "PythonUDTF", "ScalaUDF", "ApplyFunctionExpression"})


def _function(writer: Writer, node: Node) -> int:
    sql_name = node.get("udfName") or (node.get("name") if kind(node) in _FUNCTIONS_BY_NAME else None)
    writer.listed(f"{sql_name or function_name(kind(node))}(", _arguments(node), ")")
    return ONE


def _column(writer: Writer, node: Node) -> int:
    column_text = writer.texts.get(id_of(node) or ())
    writer.put(column_text.text if column_text else str(node.get("name", CUT)))
    return column_text.strength if column_text else ONE


def _literal(writer: Writer, _: Node) -> int:
    writer.put("?")
    return ONE


def _named(writer: Writer, node: Node) -> int:
    writer.put(str(node.get("name", "?")))
    return ONE


def _below(field: str) -> Way:
    def write(writer: Writer, node: Node) -> int:
        children = nodes(node.get(field))
        return writer.write(children[0]) if children else _literal(writer, node)

    return write


def _between(word: str, strength: int) -> Way:
    def write(writer: Writer, node: Node) -> int:
        for place, argument in enumerate(_arguments(node)):
            if place:
                writer.put(f" {word} ")
            # Operators bind to the left: what stands on the right needs brackets even if it is as strong.
            writer.part(argument, strength + (1 if place and word not in {"AND", "OR"} else 0))
        return strength

    return write


def _around(opening: str, closing: str, strength: int) -> Way:
    def write(writer: Writer, node: Node) -> int:
        writer.put(opening)
        for argument in _arguments(node):
            writer.part(argument, strength)
        writer.put(closing)
        return strength

    return write


def _cast(writer: Writer, node: Node) -> int:
    if kind(node.get("child")) in _LITERALS:
        return _literal(writer, node)
    writer.listed("CAST(", nodes(node.get("child")), " AS ")
    writer.put(_PARAMETERS.split(str(node.get("t", "")), maxsplit=1)[0] or CUT, ")")
    return ONE


_LITERALS = frozenset({"Literal", "TypedNullLiteral"})
_PARAMETERS = re.compile("[(<]")


def _case(writer: Writer, node: Node) -> int:
    writer.put("CASE")
    for branch in node.get("branches", ()):
        if isinstance(branch, list) and len(branch) == 2:  # noqa: PLR2004 - condition and value
            writer.listed(" WHEN ", nodes(branch[0]))
            writer.listed(" THEN ", nodes(branch[1]))
    for default in nodes(node.get("elseValue")):
        writer.put(" ELSE ")
        writer.write(default)
    writer.put(" END")
    return ONE


def _in(writer: Writer, node: Node) -> int:
    operands = [*nodes(node.get("value")), *nodes(node.get("values"))]
    for operand in operands[:1]:
        writer.part(operand, COMPARED)
    writer.listed(" IN (", [*operands[1:], *nodes(node.get("list"))], ")")
    return COMPARED


def _subquery(writer: Writer, node: Node) -> int:
    writer.put("EXISTS (subquery)" if kind(node) == "Exists" else "(subquery)")
    return ONE


def _aggregate(writer: Writer, node: Node) -> int:
    for function in nodes(node.get("aggregateFunction")):
        if kind(function) in _FUNCTIONS_BY_NAME:
            writer.write(function)
            continue
        distinct = "DISTINCT " if node.get("isDistinct") else ""
        writer.listed(f"{function_name(kind(function))}({distinct}", _arguments(function), ")")
    for condition in nodes(node.get("filter")):
        writer.listed(" FILTER (WHERE ", (condition,), ")")
    return ONE


def _window(writer: Writer, node: Node) -> int:
    for function in nodes(node.get("windowFunction")):
        writer.write(function)
    specification: Node = next(iter(nodes(node.get("windowSpec"))), {})
    writer.put(" OVER (")
    groups, orders = nodes(specification.get("partitionSpec")), nodes(specification.get("orderSpec"))
    if groups:
        writer.listed("PARTITION BY ", groups)
    if orders:
        writer.listed(" ORDER BY " if groups else "ORDER BY ", orders)
    writer.put(")")
    return ONE


def _order(writer: Writer, node: Node) -> int:
    for child in nodes(node.get("child")):
        writer.write(child)
    if kind(node.get("direction")) == "Descending":
        writer.put(" DESC")
    return ONE


def _struct(writer: Writer, node: Node) -> int:
    writer.listed("struct(", nodes(node.get("children"))[1::2], ")")
    return ONE


def _field(writer: Writer, node: Node) -> int:
    for child in nodes(node.get("child")):
        writer.part(child, ONE)
    writer.put(".", str(node.get("name") or CUT))
    return ONE


def _field_of_elements(writer: Writer, node: Node) -> int:
    for child in nodes(node.get("child")):
        writer.part(child, ONE)
    field = node.get("field")
    writer.put(".", str(field.get("name") or CUT) if isinstance(field, dict) else CUT)
    return ONE


def _item(writer: Writer, node: Node) -> int:
    array, *place = _arguments(node)
    writer.part(array, ONE)
    writer.listed("[", place, "]")
    return ONE


def _lambda(writer: Writer, node: Node) -> int:
    writer.listed("", nodes(node.get("arguments")), " -> ")
    writer.listed("", nodes(node.get("function")))
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
