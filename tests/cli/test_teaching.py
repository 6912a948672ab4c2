"""Values of options that typer would pass through pydantic: what becomes of them without it is what typer makes."""

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer

from throughline.cli.ui.command_table import command_of
from throughline.cli.ui.teaching import _OTHER, _plain

PASSED: dict[str, tuple[Any, ...]] = {
    "text": ("", "orders", "a b", None),
    "number": (3, 1, 20, None),
    "share": (0.5, None),
    "choice": ("one", "two", None),
    "path": ("orders.json", "/nowhere/a b", "x" * 300, Path("orders.json"), None),
    "several": ((), ("a",), ["a", "b"], None),
}
CONVERTED: dict[str, tuple[Any, ...]] = {
    "text": ("ä", "\udcff", 3),
    "number": ("3", 0, 21, "x", True),
    "share": ("0.5", 1, "x"),
    "choice": ("three", "ONE"),
    "path": ("./orders.json", "ä", "a//b"),
    "several": ("a", ("ä",)),
}


def command(
    *,
    text: str = "",
    number: Annotated[int, typer.Option(min=1, max=20)] = 3,
    share: float = 0.5,
    choice: Literal["one", "two"] = "one",
    path: Path = Path(),
    several: Annotated[list[str] | None, typer.Option()] = None,
) -> None:
    pass


CONTEXT = typer.Context(command_of(command, "command", ""))
PARAMETERS: dict[str, Any] = {parameter.name: parameter for parameter in CONTEXT.command.get_params(CONTEXT)}


def rows(table: dict[str, tuple[Any, ...]]) -> list[tuple[str, Any]]:
    return [(name, value) for name, values in table.items() for value in values]


@pytest.mark.parametrize(("name", "value"), rows(PASSED))
def test_a_plain_value_is_what_typer_makes_of_it(name: str, value: Any) -> None:
    parameter = PARAMETERS[name]
    plain, typers = parameter.process_value(CONTEXT, value), type(parameter).process_value(parameter, CONTEXT, value)
    assert (type(plain), plain) == (type(typers), typers)
    assert _plain(parameter, value) is not _OTHER


@pytest.mark.parametrize(("name", "value"), rows(CONVERTED))
def test_any_other_value_is_typers(name: str, value: Any) -> None:
    assert _plain(PARAMETERS[name], value) is _OTHER


def test_a_file_that_cannot_be_read_is_typers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda _, mode: not mode)  # root may read all files
    assert _plain(PARAMETERS["path"], tmp_path) is _OTHER
