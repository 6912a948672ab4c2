"""What is stored of an event when THROUGHLINE_REDACT is on: what lineage is made of, without anybody's data in it."""

from shared.naming.query_strings import without_query
from shared.openlineage.decoding import Event
from shared.openlineage.trimming import Redactors, trim
from shared.secrets import text_without_secrets
from shared.translation.application.context import needed_properties
from shared.translation.sql.statement_reader import redact


def _statement(sql: str, names_quoted: bool) -> str:
    return redact(sql.replace('"', "`") if names_quoted else sql, readable=True)


_REDACTORS = Redactors(
    statement=_statement,
    properties=needed_properties,
    spelling=without_query,
    job=text_without_secrets,
)


def redacted(event: Event) -> bytes:
    """The bytes to store instead of the received ones: without literals in the statement, without properties that name
    neither job nor place, without query strings, and without whatever lineage does not read.

    The same event always gives the same bytes, so that sending it again changes nothing. sqlglot is imported by the
    first event with a statement.
    """
    return trim(event, _REDACTORS)
