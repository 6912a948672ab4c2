"""Data sets' spellings without the query strings in them, for who does not want these stored.

A query that names the data set stays (`snowflake://…?db=D`): without it, it would be another one.
"""

import re

from shared.naming.datasets.canonical import canonical
from shared.secrets import without_secrets

_QUERY = re.compile(r"\?[^?/=]*=[^?/]*\Z")
"""At the end: a path may have a question mark in it."""


def without_query(namespace: str, name: str) -> tuple[str, str]:
    """Namespace and name without secrets, and without whatever query they end with that says nothing of where the data
    is. Done again it changes nothing.
    """
    namespace, name = without_secrets(namespace, name)
    name = _QUERY.sub("", name)
    bare = namespace.partition("?")[0]
    if bare != namespace and canonical(bare, name) == canonical(namespace, name):
        namespace = bare
    return namespace, name
