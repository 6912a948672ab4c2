"""Remove query strings from spellings of data sets, for deployments that must not store them.

A query that is part of the identity stays (`snowflake://…?db=D`).
"""

import re

from shared.naming.canonical import canonical
from shared.secrets import without_secrets

_QUERY = re.compile(r"\?[^?/=]*=[^?/]*\Z")
"""At the end only: a path may contain a question mark."""


def without_query(namespace: str, name: str) -> tuple[str, str]:
    """Namespace and name without secrets and without a trailing query that does not change the identity. Idempotent."""
    namespace, name = without_secrets(namespace, name)
    name = _QUERY.sub("", name)
    bare = namespace.partition("?")[0]
    if bare != namespace and canonical(bare, name) == canonical(namespace, name):
        namespace = bare
    return namespace, name
