"""Downloads through a proxy that opens TLS: a real Java, npm and uv, and servers under an authority of the test."""

import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.certificates import issued
from throughline.local.toolchain.certificates import VARIABLES, certificate_advice, trust_store, with_certificates
from throughline.local.toolchain.java import JavaNeed, NoJavaError, find_java
from throughline.local.toolchain.node import find_node
from throughline.local.toolchain.versions import SPARK_3
from throughline.plan_jar import COMPILER, PlanJarError, compiler
from throughline.project import BUILD

MAVEN_CENTRAL = "repo1.maven.org"
_GROUP, _ARTIFACT, _VERSION = COMPILER
_POM = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    f"<groupId>{_GROUP}</groupId><artifactId>{_ARTIFACT}</artifactId><version>{_VERSION}</version></project>"
)


class Server(ThreadingHTTPServer):
    """A server that answers in TLS: itself as `https://127.0.0.1:PORT`, or as a proxy in the name of every host."""

    def __init__(self, certificate: Path, *, proxy: bool) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate)
        self.paths: list[str] = []
        if not proxy:
            self.socket = self.context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def port(self) -> int:
        return self.server_port

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that do not trust the certificate end the connection: no message."""


class Answers(BaseHTTPRequestHandler):
    """Maven Central with the Java compiler; npm's ping; nothing else."""

    server: Server

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        connection = self.connection.dup()
        connection.settimeout(60)
        with self.server.context.wrap_socket(connection, server_side=True) as secured:
            Answers(secured, self.client_address, self.server)

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        content = self._content()
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if self.command == "GET" and content:
            self.wfile.write(content)

    do_HEAD = do_GET  # noqa: N815 - the base class calls it so

    def _content(self) -> bytes | None:
        folder = f"/maven2/{_GROUP.replace('.', '/')}/{_ARTIFACT}/{_VERSION}/{_ARTIFACT}-{_VERSION}"
        if self.path == f"{folder}.pom":
            return _POM.encode()
        if self.path == f"{folder}.jar":
            return (BUILD / "ecj" / f"{_ARTIFACT}.jar").read_bytes()
        return b"{}" if self.path.startswith("/-/ping") else None

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def certificates(tmp_path: Path) -> tuple[Path, Path]:
    return issued(tmp_path, [MAVEN_CENTRAL])


@pytest.fixture(params=[False], ids=["server"])
def server(request: pytest.FixtureRequest, certificates: tuple[Path, Path]) -> Iterator[Server]:
    with Server(certificates[1], proxy=request.param) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def authority(certificates: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the proxy's certificate; no variable names one."""
    for name in (*VARIABLES, "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"):
        monkeypatch.delenv(name, raising=False)
    return certificates[0]


proxied = pytest.mark.parametrize("server", [True], indirect=True, ids=["proxy"])


def java() -> Path:
    return find_java(JavaNeed(platform=SPARK_3)).path / "bin" / "java"


@proxied
def test_the_compiler_comes_through_a_proxy_that_opens_tls(
    server: Server, authority: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={server.port}")
    with pytest.raises(PlanJarError, match=r"proxy that opens TLS: set SSL_CERT_FILE to the file"):
        compiler(java(), build=tmp_path)
    assert server.paths == []
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    assert compiler(java(), build=tmp_path).read_bytes() == compiler(java()).read_bytes()
    assert any(path.endswith(f"{_ARTIFACT}-{_VERSION}.jar") for path in server.paths)


def npm(server: Server, folder: Path) -> list[str]:
    """Ask the registry. Without npm's own settings: certificates that they name replace all others."""
    settings = [f"--{level}config={folder / level}" for level in ("user", "global")]
    registry = f"--registry=https://127.0.0.1:{server.port}"
    return [*find_node().npm, "ping", registry, f"--cache={folder}", "--fetch-retries=0", *settings]


def uv(server: Server, folder: Path) -> list[str]:
    index = f"https://127.0.0.1:{server.port}/simple"
    command = [sys.executable, "-m", "uv", "pip", "install", "--no-cache", f"--index-url={index}"]
    return [*command, f"--target={folder}", "a-package-of-no-index"]


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("program", [npm, uv])
def test_npm_and_uv_trust_the_named_certificates(
    program: Callable[[Server, Path], list[str]], variable: str, server: Server, authority: Path, tmp_path: Path
) -> None:
    command = program(server, tmp_path / "made")

    def output(environment: Mapping[str, str]) -> str:
        outcome = subprocess.run(
            command,
            env={**with_certificates(environment), "UV_HTTP_RETRIES": "0"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return outcome.stdout + outcome.stderr

    refused = output(os.environ)
    assert "set SSL_CERT_FILE to the file of its certificates" in certificate_advice(refused), refused
    assert server.paths == []
    accepted = output({**os.environ, variable: str(authority)})
    assert certificate_advice(accepted) == ""
    assert server.paths != [], accepted


def test_java_keeps_its_own_certificates(authority: Path, tmp_path: Path) -> None:
    home = java().parents[1]
    store = trust_store(home, {"PIP_CERT": str(authority)}, tmp_path)
    assert store

    def fingerprints(file: Path) -> set[str]:
        command = [str(home / "bin" / "keytool"), "-list", "-keystore", str(file), "-storepass", "changeit"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return {line for line in listed.splitlines() if "fingerprint" in line}

    assert fingerprints(store) > fingerprints(home / "lib" / "security" / "cacerts") != set()


def test_a_store_in_the_options_of_java_is_left_alone(authority: Path, tmp_path: Path) -> None:
    options = {"SSL_CERT_FILE": str(authority), "JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.trustStore=/a.jks"}
    assert trust_store(java().parents[1], options, tmp_path) is None


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "cannot be read (No such file or directory)"), ("a", "has no certificate in PEM")]
)
def test_a_file_without_certificates_is_an_error_that_names_the_variable(
    content: str | None, reason: str, tmp_path: Path
) -> None:
    named = tmp_path / "named.pem"
    if content is not None:
        named.write_text(content)
    with pytest.raises(NoJavaError) as raised:
        find_java(JavaNeed(platform=SPARK_3), {**os.environ, "PIP_CERT": str(named)})
    assert f"PIP_CERT names {named}, which {reason}: correct it." in str(raised.value)


def test_a_folder_of_certificates_is_read(authority: Path, tmp_path: Path) -> None:
    home = java().parents[1]
    stores = [
        trust_store(home, {"REQUESTS_CA_BUNDLE": str(place)}, tmp_path) for place in (authority, authority.parent)
    ]
    assert all(stores)


@pytest.mark.parametrize(
    ("variables", "file"),
    [
        ({}, None),
        ({"SSL_CERT_FILE": "/missing", "PIP_CERT": __file__}, __file__),
        ({"PIP_CERT": __file__, "NODE_EXTRA_CA_CERTS": "/chosen.pem"}, "/chosen.pem"),
    ],
)
def test_node_gets_the_first_file_unless_it_has_one(variables: dict[str, str], file: str | None) -> None:
    assert with_certificates(variables).get("NODE_EXTRA_CA_CERTS") == file
