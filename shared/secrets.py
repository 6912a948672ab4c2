"""Spellings without what opens a door: passwords, keys and signatures that users wrote into addresses.

Listeners take most of them out of JDBC's addresses, but not out of every driver's; mounts, paths and other clients send
them as they are. They must reach neither a qualified name nor a log, and a new password must not make a new data set.
So they are cut before anything else looks at a spelling:

- what stands before an `@` in an authority, but for `container@account` (`abfss`, `wasbs`);
- properties whose name says so, behind `?`, `;` or `,`: users, passwords, tokens, keys. The others stay;
- a whole query that is signed (`?sv=…&sig=…` of Azure, `?X-Amz-Signature=…`): its dates change with the signature.
"""

import re

_WITH_CONTAINER = frozenset({"abfs", "abfss", "wasb", "wasbs"})
_CONTAINER = re.compile(r"\A([^/?;:@]*):[^/?;]*@")
"""`container:secret@account`: a container's name never has a colon."""
_WITH_KEYS = frozenset({"s3", "s3a", "s3n", "oss", "obs", "cosn"})
"""Stores whose addresses held `KEY:SECRET@bucket` once. A secret may have a slash in it; a bucket never has a colon."""

_SUSPICIOUS = re.compile(r"[@?=]")
_JDBC = re.compile(r"jdbc:", re.IGNORECASE)
_DRIVER = re.compile(r"\A(oracle:\w+:).*@", re.DOTALL | re.IGNORECASE)
_AUTHORITY = re.compile(r"[^/?;]*")
_KEY = r"[\w.\- ]{0,40}(?:pass|pwd|secret|token|credential|key|sig|user|uid|login|auth|jaas|sasl|cert)[\w.\- ]{0,40}"
"""Bounded, like what stands in braces: a sender must not choose how long we look."""
_IS_SECRET = re.compile(rf"\s*{_KEY}=", re.IGNORECASE)
_IN_BRACES = re.compile(rf"[;?&]{_KEY}=\s*\{{(?:[^}}]|\}}\}}){{0,200}}\}}", re.IGNORECASE)
_AFTER_COLON = re.compile(rf":{_KEY}=.*", re.IGNORECASE | re.DOTALL)
_IN_LIST = re.compile(rf"[,(]\s*{_KEY}=[^,)]*", re.IGNORECASE)
_SIGNED = re.compile(r"\?(?:[^?]*&)?(?:sig|x-amz-\w+|x-goog-\w+)=.*", re.IGNORECASE | re.DOTALL)
_OF_DB2 = re.compile(r":(?:[\w.\- ]{1,40}=[^;]{0,400};){1,40}\.?")
"""The properties of an address of DB2, `database:user=ann;password=p;`, which the listener leaves in the name."""


HIDDEN = "***"
MAX_SHORT_TEXT = 300

_MAY_HOLD = re.compile(r"[=:@]|bearer|basic|sharedkey|(?<!\S)--?\w", re.IGNORECASE)
_SIGN = re.compile(r"[=:@\-]")
_WORD = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|sig|signature|authorization"
    r"|(?:account|access|api|client|encryption|functions?|master|private|secret|shared|signing|storage)[_.\- ]?key)"
    r"s?\d{0,4}(?:(?:[_.\-]|(?-i:[A-Z]))[\w.\-]{0,100})?"
)
"""A word that announces a secret, as names continue it: `passwords`, `token_2`, `secretText`, `account.key.lake`."""
_TELLS = r"[\\\"']{0,4}\s{0,20}(?:=>|:=|==|[=:])\s{0,20}"
"""Between a word and its value; the quotes of JSON within JSON have backslashes."""
_QUOTED = r"\\{1,3}\"[^\"]{0,400}\"|\"(?:[^\"\\]|\\.){0,400}\"|'[^']{0,400}'"
_VALUE = rf"(?:(?:bearer|basic)\s{{1,3}})?(?:\{{[^}}]{{0,200}}\}}|{_QUOTED}|\\{{0,3}}[\"']?[^\s;&,)\]}}\"']{{1,2000}})"
_A_NUMBER_OF_THEM = r"tokens[=:]\s?\d{1,9}\b"
_PROPERTY = r"[;?&,(][\w.\-]{0,40}(?:pass|key|user|uid|login|auth|jaas|sasl|cert)[\w.\-]{0,40}="
"""Of an address. It ends at a blank, unlike other texts: `PRIMARY KEY: id, sort.key=a` is none."""
_TOLD = re.compile(rf"((?!{_A_NUMBER_OF_THEM}){_WORD}{_TELLS}|{_PROPERTY}|[?&]code=){_VALUE}", re.IGNORECASE)
_OPTION = re.compile(rf"(?<!\S)(--?[\w\-]{{0,40}}?{_WORD}\s{{1,20}})(?!-){_VALUE}", re.IGNORECASE)
"""An option of a command, with its value as the next word."""
_SCHEME = re.compile(
    r"\b(bearer|basic|sharedkey\w{0,10})\s{1,3}"
    r"(?:(?=[\w.~+/:=\-]{0,40}[\d=])[\w.~+/:=\-]{6,8000}|[\w.~+/:=\-]{16,8000})",
    re.IGNORECASE,
)
"""Of an Authorization header. `basic report` and `bearer shares` are words."""
_USER = re.compile(r"(://)[^\s/?;:\"']{0,200}:[^\s/?;\"']{1,400}@")
_KEYS = re.compile(rf"\b((?:{'|'.join(sorted(_WITH_KEYS))})://)[^\s/@:\"']{{0,200}}:[^\s@\"']{{1,400}}@", re.IGNORECASE)
"""As in the addresses of `_WITH_KEYS`."""
_ORACLE = re.compile(r"\b(oracle:\w{1,20}:)[^\s@\"']{1,400}@", re.IGNORECASE)
_HIDDEN = (
    (_KEYS, rf"\1{HIDDEN}@"),
    (_USER, rf"\1{HIDDEN}@"),
    (_ORACLE, rf"\1{HIDDEN}@"),
    (_SCHEME, rf"\1 {HIDDEN}"),
    (_OPTION, rf"\1{HIDDEN}"),
    (_TOLD, rf"\1{HIDDEN}"),
)


def text_without_secrets(text: str) -> str:
    """A text that people wrote, or an error's, with `***` for what stands behind a word such as password, token or key,
    for tokens of an Authorization header, and for users, passwords and keys in addresses. All else stays as it was.
    """
    if _may_hold(text):
        for pattern, instead in _HIDDEN:
            text = pattern.sub(instead, text)
    return text


def _may_hold(text: str) -> bool:
    """Whether `_MAY_HOLD` matches. Most texts are short names, for which looking for signs and words is much faster."""
    if _SIGN.search(text) or not text.isascii():
        return _MAY_HOLD.search(text) is not None
    lowered = text.lower()
    return "bearer" in lowered or "basic" in lowered or "sharedkey" in lowered


def parameter_without_secrets(key: str, value: str) -> str:
    """The value of a property or parameter: `***` if its key announces a secret, else the text without secrets."""
    probe = f"{key}={value if value.isdecimal() else 'x'}"
    return HIDDEN if value and text_without_secrets(probe) != probe else text_without_secrets(value)


def short_text(text: str | None) -> str:
    """A text for people without secrets, and cut to MAX_SHORT_TEXT characters; empty if there is none."""
    return text_without_secrets(text)[:MAX_SHORT_TEXT] if text else ""


def without_secrets(namespace: str, name: str) -> tuple[str, str]:
    """Namespace and name as they were spelled, but for the secrets in them."""
    if "?" in name:
        name = _SIGNED.sub("", name)
    namespace = _JDBC.sub("", namespace, count=1) if namespace[:5].lower() == "jdbc:" else namespace
    if "=" in name and namespace[:4].lower() == "db2:":
        name = _OF_DB2.sub(".", name, count=1)
    if "@" in name:
        namespace, name = _whole_key(namespace, name)
    return (address_without_secrets(namespace) if _SUSPICIOUS.search(namespace) else namespace), name


def address_without_secrets(address: str) -> str:
    """An address of a store, or of a place in it, as it was spelled, but for the secrets in it."""
    address = _SIGNED.sub("", _DRIVER.sub(r"\1@", address))
    scheme, separator, remainder = address.partition("://")
    if not separator:
        return _without_properties(address)
    scheme_of = scheme.lower()
    remainder = (
        _CONTAINER.sub(r"\1@", remainder) if scheme_of in _WITH_CONTAINER else _without_user(scheme_of, remainder)
    )
    return f"{scheme}://{_without_properties(remainder)}"


def _without_user(scheme: str, remainder: str) -> str:
    authority = _AUTHORITY.match(remainder)
    end = authority.end() if authority else 0
    if scheme in _WITH_KEYS and ":" in remainder[:end] and "@" not in remainder[:end]:
        return remainder.partition("@")[2] or remainder[:end].partition(":")[0]
    return remainder[:end].rpartition("@")[2] + remainder[end:]


def _whole_key(namespace: str, name: str) -> tuple[str, str]:
    """A secret with a slash in it, which took a part of the authority into the path."""
    scheme, _, authority = namespace.partition("://")
    if scheme.lower() not in _WITH_KEYS or ":" not in authority or "@" in authority:
        return namespace, name
    bucket, _, path = name.partition("@")[2].partition("/")
    return f"{scheme}://{bucket}", path


def _without_properties(location: str) -> str:
    if "=" not in location:
        return location
    location = _IN_BRACES.sub("", location)
    base, _, query = location.partition("?")
    open_parts = ";".join(_IN_LIST.sub("", _AFTER_COLON.sub("", part)) for part in _open_ones(base.rstrip(";"), ";"))
    open_query = "&".join(";".join(_open_ones(part, ";")) for part in _open_ones(f"&{query}", "&") if part)
    return f"{open_parts}?{open_query}" if open_query else open_parts


def _open_ones(text: str, separator: str) -> list[str]:
    """The parts of a list but for its secret ones; the first is what the list belongs to."""
    first, *further_parts = text.split(separator)
    return [first, *(part for part in further_parts if not _IS_SECRET.match(part))]
