"""Which Java is taken, by what `java` answers: small shell scripts stand in for real ones."""

from pathlib import Path

import pytest

from local.toolchain.java import NoJavaError, find_java, parse_version

OPENJDK_17 = """\
Property settings:
    java.home = /usr/lib/jvm/java 17
    java.specification.version = 17
    java.version = 17.0.15

openjdk version "17.0.15" 2025-04-15
"""
ORACLE_8 = """\
Property settings:
    java.home = /opt/jdk1.8.0/jre
    java.specification.version = 1.8
"""


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (OPENJDK_17, ("/usr/lib/jvm/java 17", 17)),
        (ORACLE_8, ("/opt/jdk1.8.0/jre", 8)),
        (OPENJDK_17.replace("= 17", "= 21"), ("/usr/lib/jvm/java 17", 21)),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
    ],
)
def test_home_and_version_are_read_from_the_settings(settings: str, expected: tuple[str, int] | None) -> None:
    assert parse_version(settings) == expected


def a_java(folder: Path, version: str, *, modules: bool = True) -> Path:
    """A home whose `java` answers like a real one of this version."""
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --describe-module ] && exit {0 if modules else 1}\n'
        f'echo "    java.home = {folder}" >&2\n'
        f'echo "    java.specification.version = {version}" >&2\n',
    )
    executable.chmod(0o755)
    return folder


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home = a_java(tmp_path / "home", "17")
    on_path = a_java(tmp_path / "path", "11")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(on_path / "bin")})
    assert (found.path, found.version, found.source) == (home, 17, "JAVA_HOME")


def test_an_unsupported_java_home_is_passed_over(tmp_path: Path) -> None:
    home = a_java(tmp_path / "home", "24")
    on_path = a_java(tmp_path / "path", "1.8", modules=False)  # Java 8 knows no modules and needs none
    found = find_java({"JAVA_HOME": str(home), "PATH": str(on_path / "bin")})
    assert (found.version, found.source) == (8, "PATH")


def test_a_java_without_the_module_of_the_http_client_is_refused_with_the_reason(tmp_path: Path) -> None:
    home = a_java(tmp_path / "home", "17", modules=False)
    with pytest.raises(NoJavaError, match=r"JAVA_HOME has Java 17 without the module jdk\.net") as raised:
        find_java({"JAVA_HOME": str(home), "PATH": ""}, package=None)
    assert "\n" not in str(raised.value)


def test_no_java_at_all_is_one_sentence_that_says_what_to_do() -> None:
    with pytest.raises(NoJavaError, match=r"no JAVA_HOME, no java on the PATH.*python -m local\.toolchain\.java"):
        find_java({"PATH": ""}, package=None)
