"""The file of targets and rules, and the settings beside it: every mistake at once, and no secret in a message."""

import pytest

from shared.bootstrap import assemble, forwarding
from shared.errors import Misconfigured
from shared.forwarding.http_target import HttpTarget
from shared.forwarding.rules import Auth, Mode, TargetKind, check_targets, parse_forward_rules
from shared.settings.reading import load
from shared.storage.memory import MemoryStorage

RULES = """
[targets.marquez]
kind = "marquez"
auth = "token"

[targets.copy]
kind = "folder"
mode = "raw"
auth = "identity"

[[rules]]
namespaces = ["prod*"]
to = ["marquez", "copy"]
"""
WRONG = """
[targets.one]
kind = "kafka"

[targets.two]
kind = "datahub"
mode = "raw"
auth = "identity"
explicit = true

[targets.three]
kind = "datahub"
scope = "api://x/.default"

[[rules]]
job = ["x"]
to = ["four"]
"""
LOCAL = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:1/api",
    "THROUGHLINE_CATALOG_TOKEN": "t",
}


def test_a_file_is_read() -> None:
    rules = parse_forward_rules(RULES, "forward.toml")
    first, second = rules.targets
    assert (first.kind, first.mode, first.auth) == (TargetKind.MARQUEZ, Mode.MERGED, Auth.TOKEN)
    assert (second.kind, second.mode, second.auth) == (TargetKind.FOLDER, Mode.RAW, Auth.IDENTITY)
    assert rules.targets_for("prod-1", "job", ()) == ("marquez", "copy")
    assert rules.targets_for("test", "job", ()) == ()


def test_every_mistake_is_named_with_its_line() -> None:
    with pytest.raises(Misconfigured) as refusal:
        parse_forward_rules(WRONG, "forward.toml")
    text = str(refusal.value)
    for line, part in (
        (3, "kind must be"),
        (8, "auth identity needs scope"),
        (9, "explicit is for"),
        (13, "scope is for"),
        (16, "has no key job. Did you mean jobs?"),
        (17, "there is no target four"),
    ):
        assert f"forward.toml:{line}: " in text, text
        assert part in text
    with pytest.raises(Misconfigured, match="there is no target: write"):
        parse_forward_rules("", "forward.toml")


def test_targets_without_address_or_token_and_our_own_receiver_are_refused_together() -> None:
    rules = parse_forward_rules(RULES.replace('auth = "identity"', 'auth = "token"'), "forward.toml")
    with pytest.raises(Misconfigured) as refusal:
        check_targets(
            rules, {"marquez": "https://ME.azurewebsites.net/api/v1/lineage?code=geheim"}, {}, {"me.azurewebsites.net"}
        )
    text = str(refusal.value)
    assert "copy have no address" in text
    assert "marquez, copy have no token" in text
    assert "marquez is our own receiver" in text
    assert "geheim" not in text


def settings(tmp_path: object, **texts: str) -> dict[str, str]:
    return {**LOCAL, "THROUGHLINE_FORWARD": str(tmp_path), **texts}


def test_the_settings_make_targets_that_show_no_secret(tmp_path: object) -> None:
    file = tmp_path / "forward.toml"  # type: ignore[operator]  # a path
    file.write_text(RULES)
    loaded = load(
        catalog=True,
        environment=settings(
            file,
            THROUGHLINE_FORWARD_TARGETS="marquez=https://m.example/?code=geheim copy=https://a.blob.core.windows.net/c?sig=geheim",
            THROUGHLINE_FORWARD_TOKENS="marquez=geheim",
        ),
    )
    parts = assemble(loaded, storage=MemoryStorage())
    options = forwarding(parts)
    assert options
    assert parts.processor.forwards
    assert parts.sweeping.forwards
    assert "geheim" not in repr(loaded) + repr(options) + repr(parts)
    target = options.targets["marquez"]
    assert isinstance(target, HttpTarget)
    assert target.sign_in() == {"Authorization": "Bearer geheim"}


def test_without_a_file_nothing_is_forwarded() -> None:
    parts = assemble(load(catalog=True, environment=LOCAL), storage=MemoryStorage())
    assert forwarding(parts) is None
    assert not parts.processor.forwards
    assert not parts.sweeping.forwards


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("THROUGHLINE_FORWARD_TARGETS", "marquez=http://elsewhere/geheim"),
        ("THROUGHLINE_FORWARD_TOKENS", "geheim"),
        ("THROUGHLINE_FORWARD_TOKENS", "a=geheim a=geheim"),
    ],
)
def test_a_wrong_setting_is_refused_without_its_value(name: str, text: str) -> None:
    with pytest.raises(Misconfigured, match=f"{name} is wrong: entry") as refusal:
        load(catalog=True, environment={**LOCAL, name: text})
    assert "geheim" not in str(refusal.value)
