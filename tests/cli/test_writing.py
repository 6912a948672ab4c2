"""Commands in a folder without write access: one sentence with the next step, before anything starts.

A file in place of the folder stops root too, which may write everywhere else.
"""

from pathlib import Path

import pytest

from tests.support.cli import Parts

RULES = '[[tag]]\nclassification = "PII"\ndatasets = "*"\n[[policy]]\nname = "p"\ndatasets = "*"\ntraced = 100\n'


@pytest.fixture
def current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with rules, and with a file in the place of the folder `build`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "build").touch()
    (tmp_path / "events").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        "check rules.toml --lake lake",
        "classify plan --rules rules.toml --lake lake",
        "lake changes --lake lake",
        "lake compact --lake lake",
        "lake coverage --lake lake",
        "lake impact orders amount --lake lake",
        "lake publish --plan --lake lake",
        "lake run events --lake lake --engine spark",
        "lake run events --lake lake",
        "view --lake lake",
        "watch --plan --lake lake",
    ],
)
def test_a_session_in_an_unwritable_folder_is_refused(arguments: str, current_folder: Path) -> None:
    result = Parts().run(*arguments.split())
    assert result.exit_code == 2, result.output
    assert result.stderr == (
        f"error: {current_folder}/build/lake-scratch can't be written: Not a directory. "
        "Run the command in a folder in which you may write\n"
    )
    assert not (current_folder / "lake").exists()


@pytest.mark.parametrize(
    "arguments",
    ["lake changes", "lake compact", "lake coverage", "lake impact orders amount", "lake publish --plan", "view"],
)
def test_a_missing_lake_is_an_error(arguments: str, current_folder: Path) -> None:
    (current_folder / "build").unlink()
    result = Parts().run(*arguments.split(), "--lake", "lake")
    assert result.exit_code == 2, result.output
    assert result.stderr == (
        f"error: there is no lake in {current_folder}/lake: "
        f"make one with `throughline lake run ARCHIVE --lake {current_folder}/lake`\n"
    )
    assert not (current_folder / "lake").exists()


@pytest.mark.parametrize("arguments", ["demo", "up"])
def test_a_world_in_an_unwritable_folder_is_refused(arguments: str, current_folder: Path) -> None:
    result = Parts().run(arguments, "--free-ports", "--home", "build/world")
    assert result.exit_code == 2, result.output
    assert result.stderr == "error: build/world can't be written: Not a directory. Name another folder by --home\n"
    assert (current_folder / "build").is_file()


def test_a_run_of_the_lake_without_its_source_folder_is_refused(current_folder: Path) -> None:
    result = Parts().run("lake", "run", "events", "evnts", "--lake", "lake")
    assert result.exit_code == 2, result.output
    assert (
        result.stderr
        == f"error: no such folder: {current_folder}/evnts. Nothing was done: correct the path of this source\n"
    )
    assert not (current_folder / "lake").exists()


@pytest.mark.parametrize("arguments", ["lake run events", "lake compact"])
def test_an_unwritable_lake_is_an_error(arguments: str, current_folder: Path) -> None:
    (current_folder / "build").unlink()
    (current_folder / "lake").touch()
    result = Parts().run(*arguments.split(), "--lake", "lake")
    assert result.exit_code == 2, result.output
    assert (
        result.stderr
        == f"error: {current_folder}/lake can't be written: Not a directory. Name another folder by --lake\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "config local --url http://127.0.0.1:1 --no-plan --output build/spark",
        "config local --url http://127.0.0.1:1 --no-plan --output build",
    ],
)
def test_unwritable_output_is_reported_in_one_line(arguments: str, current_folder: Path) -> None:
    result = Parts().run(*arguments.split())
    assert result.exit_code == 2, result.output
    assert f"error: {arguments.rsplit(maxsplit=1)[-1]} can't be written: " in result.stderr
    assert result.stderr.strip().count("\n") == 0
    assert (current_folder / "build").is_file()


@pytest.mark.parametrize(("content", "error"), [(None, "names.toml"), ("rules = 1", "names.toml")])
def test_a_run_of_the_lake_with_an_invalid_file_of_names_ends_with_a_message(
    tmp_path: Path, content: str | None, error: str
) -> None:
    events, names = tmp_path / "events.jsonl", tmp_path / "names.toml"
    events.write_text("")
    if content:
        names.write_text(content)
    result = Parts().run("lake", "run", str(events), "--lake", str(tmp_path / "lake"), "--names", str(names))
    assert (result.exit_code, error in result.output, "Traceback" in result.output) == (2, True, False), result.output


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, "No such file or directory"),
        (b"", "its first line lacks qualified_name, column, tag"),
        (b"data set;column;tag\n", "its first line lacks qualified_name, column, tag"),
        (b"qualified_name,tag\n/data/a,personal\n", "its first line lacks column"),
        (b"\xff\xfe", "invalid start byte"),
    ],
)
def test_a_run_of_the_lake_with_an_unusable_file_of_tags_is_refused(
    tmp_path: Path, content: bytes | None, error: str
) -> None:
    events, tags = tmp_path / "events.jsonl", tmp_path / "tags.csv"
    events.write_text("")
    if content is not None:
        tags.write_bytes(content)
    result = Parts().run("lake", "run", str(events), "--lake", str(tmp_path / "lake"), "--tags", str(tags))
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"error: {tags} is no file of tags: ")
    assert error in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "lake").exists()
