"""The certificates of a network whose proxy opens TLS, for the programs that download: Java, node and uv.

Python's installers know them from `SSL_CERT_FILE`, `REQUESTS_CA_BUNDLE` or `PIP_CERT`, each a file in PEM or a folder
of such files. No Java reads these: it gets a trust store with its own certificates and the named ones. The store has
Java's old format (JKS), which every Java reads: a list of certificates as they are. Certificate bundles in use have
some that a library which parses them refuses.
"""

import hashlib
import os
import re
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT")
TRUST_STORE = "javax.net.ssl.trustStore"
_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""The variables with which users give options to every Java."""

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_UNTRUSTED = re.compile(
    r"PKIX path building failed|unable to find valid certification path|"  # Java
    r"UnknownIssuer|"  # uv
    r"SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY_LEAF|self-signed certificate|"  # node
    r"unable to get (?:local )?issuer certificate|unable to verify the first certificate"
)
_PASSWORD = "changeit"  # noqa: S105 - the one that every Java's own certificates have
_JKS_MAGIC, _JKS_VERSION, _JKS_CERTIFICATE = 0xFEEDFEED, 2, 2


class CertificatesError(Exception):
    """The named certificates could not be read, or not be given to Java; the message says what to do."""


def certificate_advice(output: str) -> str:
    """Return what to do when a program's output says that it does not trust a certificate, else an empty text."""
    if not _UNTRUSTED.search(output):
        return ""
    return (
        " A server's certificate is not trusted, as behind a proxy that opens TLS: "
        f"set {VARIABLES[0]} to the file of its certificates (PEM)."
    )


def with_certificates(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment (by default the process's own) with the variables from which uv and node read a file."""
    variables = dict(os.environ if environment is None else environment)
    file = next((variables[name] for name in VARIABLES if Path(variables.get(name) or os.devnull).is_file()), None)
    return {"SSL_CERT_FILE": file, "NODE_EXTRA_CA_CERTS": file, **variables} if file else variables


def trust_store(java_home: Path, environment: Mapping[str, str], build: Path) -> Path | None:
    """Return the store in `build` of this Java's own certificates and those that the environment names.

    None when it names none, when the user's own options of Java name a store, or on Windows, whose Java is not started
    by a script. Raises CertificatesError.
    """
    if sys.platform == "win32" or any(TRUST_STORE in environment.get(name, "") for name in _OPTIONS):
        return None
    named = [certificate for name in VARIABLES if environment.get(name) for certificate in _named(name, environment)]
    if not named:
        return None
    authorities = java_home / "lib" / "security" / "cacerts"
    changed = str(authorities.stat().st_mtime_ns) if authorities.exists() else ""
    digest = hashlib.sha256("\n".join((str(authorities), changed, *named)).encode()).hexdigest()
    store = build / "trust" / f"{digest[:16]}.jks"
    if not store.exists():
        store.parent.mkdir(parents=True, exist_ok=True)
        new_store = store.with_suffix(f".{os.getpid()}")
        new_store.write_bytes(_java_key_store((*named, *(_listed(java_home, authorities) if changed else ()))))
        new_store.rename(store)
    return store


def _named(name: str, environment: Mapping[str, str]) -> list[str]:
    path = Path(environment[name])
    try:
        files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
        texts = [file.read_text("utf-8", errors="replace") for file in files]
    except OSError as error:
        raise CertificatesError(f"{name} names {path}, which cannot be read ({error.strerror}): correct it.") from error
    certificates = [certificate for text in texts for certificate in _CERTIFICATE.findall(text)]
    if not certificates:
        raise CertificatesError(f"{name} names {path}, which has no certificate in PEM: correct it.")
    return certificates


def _listed(java_home: Path, authorities: Path) -> list[str]:
    """Return the certificates that Java trusts by itself, in PEM."""
    keytool = str(java_home / "bin" / "keytool")
    command = [keytool, "-list", "-rfc", "-keystore", str(authorities), "-storepass", _PASSWORD]
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603 - Java's own
        problem = (outcome.stdout + outcome.stderr).strip()[-200:] if outcome.returncode else ""
    except OSError as error:
        problem = str(error)
    if problem:
        raise CertificatesError(
            f"The certificates of the Java in {java_home} could not be listed ({problem}): set "
            f"{_OPTIONS[0]}=-D{TRUST_STORE}=FILE to a trust store that you have made."
        )
    return _CERTIFICATE.findall(outcome.stdout)


def _java_key_store(certificates: Iterable[str]) -> bytes:
    """Return a store of trusted certificates: `sun.security.provider.JavaKeyStore` in OpenJDK defines the format."""
    encoded = tuple(dict.fromkeys(map(ssl.PEM_cert_to_DER_cert, certificates)))
    parts = [struct.pack(">III", _JKS_MAGIC, _JKS_VERSION, len(encoded))]
    for number, content in enumerate(encoded):
        parts += [struct.pack(">I", _JKS_CERTIFICATE), _utf(str(number)), struct.pack(">Q", 0), _utf("X.509")]
        parts += [struct.pack(">I", len(content)), content]
    body = b"".join(parts)
    return body + hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()  # noqa: S324 - the format


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()
