"""Secrets at all places of events, settings and errors: none gets into a log, a row, a name, an entity or an error."""

import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused, CatalogUnavailable, Misconfigured, Refused, StorageUnavailable
from shared.events.dead_letters import add_dead_letter, dead_letters
from shared.ingest.receiver import Redact, note_refusal, refused
from shared.publishing.context import PublishOptions
from shared.redaction import redacted
from shared.reporting.status import status
from shared.secrets import text_without_secrets
from shared.settings.reading import load
from shared.storage.memory import MemoryStorage
from tests.support.memory_catalog import MemoryCatalog
from tests.support.planted import BEARER, REFUSED, SECRET, contains_secret, events, stored_texts
from tests.support.processing import deliver_blob
from tests.support.publishing import publish
from tests.support.receiving import receive, receive_batch

MOST = 10**6


class Quoting(MemoryCatalog):
    """A catalog that fails in turns, and quotes the request when it does."""

    def __init__(self) -> None:
        super().__init__()
        self.moods = ["away", "refused"]

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        mood = self.moods.pop(0) if self.moods else ""
        if mood == "away":
            raise CatalogUnavailable(f"502: GET /?sig={SECRET} Authorization: {BEARER}", after=0)
        if mood == "refused":
            raise CatalogRefused(status=400, code="x", detail=f"bad request, headers: {{'Authorization': '{BEARER}'}}")
        return super().write_processes(processes, guids)


def run_all(storage: MemoryStorage, catalog: MemoryCatalog, *, redact: Redact | None = None) -> None:
    for raw in events():
        receive(storage, raw, most_bytes=MOST, redact=redact)
    receive_batch(storage, b"[" + b",".join((*events(), REFUSED[0])) + b"]", most_bytes=MOST, redact=redact)
    for raw in REFUSED:
        try:
            receive(storage, raw, most_bytes=MOST, redact=redact)
        except Refused as refusal:
            note_refusal(storage, raw, refusal)
    for fact in storage.blobs("events"):
        deliver_blob(storage, fact.name)
    for number, error in enumerate((ValueError(f"token={SECRET}"), KeyError(f"https://ann:{SECRET}@h"))):
        add_dead_letter(storage, f"x{number}", f"{number:032}", error)
    later_moment = datetime.now(UTC)
    for _ in range(4):
        later_moment += timedelta(days=1)
        publish(storage, catalog, PublishOptions(now=lambda now=later_moment: now))  # type: ignore[misc]  # mypy can't type a default


@pytest.mark.parametrize("redact", [None, redacted], ids=["as sent", "redacted"])
def test_no_secret_gets_out(redact: Redact | None, caplog: pytest.LogCaptureFixture) -> None:
    storage, catalog = MemoryStorage(), Quoting()
    with caplog.at_level(logging.DEBUG):
        run_all(storage, catalog, redact=redact)
    assert catalog.processes, "the lineage was published in the end"
    assert not catalog.moods
    current_status = status(storage)
    assert current_status.reconciles
    assert [place for place, text in stored_texts(storage, raw=redact is not None) if contains_secret(text)] == []
    assert [text for text in caplog.messages if contains_secret(text)] == []
    entities: list[AssetEntity | ProcessEntity] = [*catalog.assets.values(), *catalog.processes.values()]
    assert [repr(entity) for entity in entities if contains_secret(repr(entity))] == []
    assert not contains_secret(repr(current_status))
    assert not contains_secret(repr(list(dead_letters(storage))))


def test_the_search_finds_planted_secrets_in_unredacted_events() -> None:
    """Events that are stored as they were sent hold them all."""
    storage = MemoryStorage()
    run_all(storage, MemoryCatalog())
    secret_places = [place for place, text in stored_texts(storage, raw=True) if contains_secret(text)]
    assert len(secret_places) >= 4
    assert all(place.startswith(("events/", "ignored/")) for place in secret_places)


SETTINGS = {
    "connection string": {"AzureWebJobsStorage": f"key {SECRET}"},
    "endpoint": {"THROUGHLINE_CATALOG_ENDPOINT": f"ftp://ann:{SECRET}@x"},
    "address of blobs": {"AzureWebJobsStorage__blobServiceUri": f"blob?sig={SECRET}"},
}


@pytest.mark.parametrize("wrong", SETTINGS.values(), ids=SETTINGS)
def test_a_wrong_setting_is_not_quoted(wrong: dict[str, str]) -> None:
    with pytest.raises(Misconfigured) as error_info:
        load(catalog=True, environment={"THROUGHLINE_CATALOG_TOKEN": SECRET, **wrong})
    assert not contains_secret(str(error_info.value))


def test_the_repr_of_the_settings_shows_no_secret() -> None:
    environment = {
        "AzureWebJobsStorage": f"AccountName=a;AccountKey={SECRET}",
        "THROUGHLINE_CATALOG_ENDPOINT": "https://x.purview.azure.com",
        "THROUGHLINE_CATALOG_TOKEN": SECRET,
    }
    assert not contains_secret(repr(load(catalog=True, environment=environment)))


TEXTS: dict[str, tuple[str, str]] = {
    "a header": (f"Authorization: {BEARER}", "Authorization: ***"),
    "a bearer": (f"sent {BEARER} to x", "sent Bearer *** to x"),
    "basic": (f"authorization: Basic {SECRET}== x", "authorization: *** x"),
    "json": (f'{{"access_token": "{SECRET}", "a": 1}}', '{"access_token": ***, "a": 1}'),
    "connection string": (
        f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={SECRET}==;x=1",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=***;x=1",
    ),
    "shared access": (f"SharedAccessKey={SECRET}=;y", "SharedAccessKey=***;y"),
    "a signed address": (f"https://a/b?sv=1&sig={SECRET}%3D&x=1", "https://a/b?sv=1&sig=***&x=1"),
    "a function's key": (f"https://a/api?code={SECRET}", "https://a/api?code=***"),
    "its header": (f"x-functions-key: {SECRET}", "x-functions-key: ***"),
    "a user": (f"https://ann:{SECRET}@h/p", "https://***@h/p"),
    "spark": (
        f"fs.azure.account.key.a.dfs.core.windows.net={SECRET}",
        "fs.azure.account.key.a.dfs.core.windows.net=***",
    ),
    "spark's other keys": (f"fs.s3a.secret.key={SECRET} x", "fs.s3a.secret.key=*** x"),
    "spark's secret of an account": (
        f"fs.azure.account.oauth2.client.secret.a.dfs.core.windows.net={SECRET}",
        "fs.azure.account.oauth2.client.secret.a.dfs.core.windows.net=***",
    ),
    "spark's signature": (
        f"fs.azure.sas.fixed.token.c.a.dfs.core.windows.net={SECRET}",
        "fs.azure.sas.fixed.token.c.a.dfs.core.windows.net=***",
    ),
    "a key with a slash": (f"copy s3a://AKIA1:wJa/{SECRET}@b/x", "copy s3a://***@b/x"),
    "json in json": (f'"{{\\"password\\":\\"{SECRET}\\",\\"a\\":1}}"', '"{\\"password\\":***,\\"a\\":1}"'),
    "json that is cut off": (f'{{"password": "{SECRET}', '{"password": ***'),
    "json in json that is cut off": (f'{{\\"password\\": \\"{SECRET}', '{\\"password\\": ***'),
    "a quote in a password": (f'{{"password": "a\\"{SECRET}", "a": 1}}', '{"password": ***, "a": 1}'),
    "blanks": (f"password    =    {SECRET}", "password    =    ***"),
    "an arrow": (f"password => '{SECRET}', a", "password => ***, a"),
    "an assignment": (f"password := {SECRET}", "password := ***"),
    "a plural": (f"passwords={SECRET} x", "passwords=*** x"),
    "tokens that are no number of them": (f"tokens={SECRET}", "tokens=***"),
    "a key of encryption": (f"encryption_key={SECRET} x", "encryption_key=*** x"),
    "a word that goes on": (f"token_2: {SECRET}, secretText={SECRET}", "token_2: ***, secretText=***"),
    "an option": (f"psql --password {SECRET} --db x", "psql --password *** --db x"),
    "an option of Java": (f"java -storepass-secret {SECRET}", "java -storepass-secret ***"),
    "a short bearer": ("Bearer abc123 of x", "Bearer *** of x"),
    "a bearer among other letters": ("Zugriff gewährt: BEARER abc123", "Zugriff gewährt: BEARER ***"),
    "basic without a sign": ("with BASIC YW5uOmh1bnRlcjI4 sent", "with BASIC *** sent"),
    "storage's own scheme without a sign": ("SharedKeyLite abcdefghijklmnop x", "SharedKeyLite *** x"),
    "an option without a sign beside it": ("psql -password hunter22", "psql -password ***"),
    "basic alone": ("with Basic YW5uOmh1bnRlcjI= sent", "with Basic *** sent"),
    "storage's own scheme": (f"SharedKey acct:{SECRET}= x", "SharedKey *** x"),
    "a password with an at": (f"postgres://ann:a@{SECRET}@h/x", "postgres://***@h/x"),
    "properties of an address": (
        f"jdbc:redshift://h/db;UID=ann;PWD={SECRET}?user=ann&pass={SECRET}",
        "jdbc:redshift://h/db;UID=***;PWD=***&pass=***",
    ),
    "oracle": (f"jdbc:oracle:thin:ann/{SECRET}@//h:1521/svc", "jdbc:oracle:thin:***@//h:1521/svc"),
    "a camel": (f'{{"clientSecret": "{SECRET}", "a": 1}}', '{"clientSecret": ***, "a": 1}'),
    "aws": (f"AWS_SECRET_ACCESS_KEY={SECRET} aws", "AWS_SECRET_ACCESS_KEY=*** aws"),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS)
def test_secrets_are_removed_from_texts(text: str, expected: str) -> None:
    assert text_without_secrets(text) == expected
    assert text_without_secrets(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "nightly.execute_merge_into_command.sales",
        "basic report of 12:30",
        "Load: bypass=1, tokens=3, design: new, compass: 4",
        "abfss://c@acct.dfs.core.windows.net/a",
        "https://host:8080/a@b",
        "s3a://bucket/a@b c:d@e",
        "PRIMARY KEY: id, sort.key=a",
        "secret santa, password reset",
        "sub-token x, load --secret --password",
        "Secretary: Ann, tokenizer=bert, max_tokens: 4096",
        "bearer shares, basic reports",
        "Expected `str`, got `int` - at `$.eventType`",
    ],
)
def test_texts_without_secrets_are_unchanged(text: str) -> None:
    assert text_without_secrets(text) == text


HOSTILE = (
    "s3a://a:",
    'pwd="',
    "pwd='",
    'pwd=\\"',
    'pwd="\\',
    "pwd =",
    "pwd\\\\",
    "pwd ",
    "fixed.token",
    "client.secret.",
    ";pass",
    "--password ",
    "oracle:thin:",
    "Basic a",
)


def test_hostile_texts_are_read_in_no_time() -> None:
    for piece in ("a", "password", "password=", "://a:", "key.", "Bearer ", '"', "&code", "account.key", *HOSTILE):
        assert text_without_secrets(":=" + piece * (100_000 // len(piece))).startswith(":=")


def test_an_error_of_storage_does_not_show_the_sas_of_its_address(caplog: pytest.LogCaptureFixture) -> None:
    """With a SAS in the settings every requested address holds it; the host logs the exceptions of a function."""
    from shared.bootstrap_receiver import receiver_storage  # noqa: PLC0415 - the clients of Azure, only here

    sas = (
        f"BlobEndpoint=http://127.0.0.1:9/a;TableEndpoint=http://127.0.0.1:9/a;SharedAccessSignature=sv=1&sig={SECRET}"
    )
    storage = receiver_storage(load(catalog=False, environment={"AzureWebJobsStorage": sas}))
    acts: tuple[Callable[[], object], ...] = (
        lambda: storage.put_new("c", "b", b""),
        lambda: storage.read("t", "p", "k"),
    )
    texts = []
    with caplog.at_level(logging.DEBUG):
        for act in acts:
            with pytest.raises(StorageUnavailable) as error_info:
                act()
            texts.append("".join(traceback.format_exception(error_info.value)))  # as the host shows it
    assert len(texts) == 2
    assert not any(map(contains_secret, texts))
    assert not any(map(contains_secret, caplog.messages))


def test_the_response_to_a_refused_event_does_not_quote_its_secret() -> None:
    with pytest.raises(Refused) as error_info:
        receive(MemoryStorage(), REFUSED[3], most_bytes=MOST)
    assert SECRET not in refused(error_info.value).body
