"""Purview's documented limits, and texts cut to them: nothing longer is ever sent.

A name has at most 4 KB of UTF-8, a property 32 KB, an asset 2 MB (Microsoft's page on the catalog's limits).
"""

from shared.naming.stores.families import bounded

LONGEST_NAME = 4 * 1024
"""Atlas accepts longer names, but takes minutes for each."""
LONGEST_PROPERTY = 32 * 1024
LARGEST_ASSET = 2 * 1024 * 1024

_ENDING = "…"


def name_within(name: str) -> str:
    """A name; one that is too long is cut and ends with a digest of the whole, so that it stays unique."""
    return bounded(name, LONGEST_NAME, most_bytes=LONGEST_NAME)


def text_within(text: str, most: int = LONGEST_PROPERTY) -> str:
    """A text for people, cut at its end where it is too long."""
    if len(text.encode(errors="surrogatepass")) <= most:
        return text
    kept = text.encode(errors="surrogatepass")[: most - len(_ENDING.encode())]
    return kept.decode(errors="ignore") + _ENDING


def references_within(keys: list[tuple[str, str]], left: int) -> list[tuple[str, str]]:
    """The first of these assets whose references fit into so many bytes, as a server stores a reference: type, name,
    guid and JSON around them.
    """
    for number, (kind, name) in enumerate(keys):
        left -= len(kind) + len(name.encode(errors="surrogatepass")) + _AROUND
        if left < 0:
            return keys[:number]
    return keys


_AROUND = 200
"""Bytes of guid, keys and signs of one reference."""
