"""Names of functions in SQL, by the classes of Spark's expressions."""

import re

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
