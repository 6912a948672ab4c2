"""Certificates for servers of tests on loopback."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def self_signed(folder: Path) -> tuple[Path, Path]:
    """The files of a certificate for 127.0.0.1, which is its own authority, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed("loopback", key, "loopback", key, hosts=(), authority=True)
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    certificate_file.write_bytes(_pem(certificate))
    key_file.write_bytes(_pem_of_key(key))
    return certificate_file, key_file


def issued(folder: Path, hosts: Sequence[str]) -> tuple[Path, Path]:
    """The file of an authority, and the file of a certificate that it issued to the hosts and 127.0.0.1."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _signed("a proxy", authority_key, "a proxy", authority_key, hosts=(), authority=True)
    certificate = _signed("a server", key, "a proxy", authority_key, hosts=hosts, authority=False)
    authority_file, server_file = folder / "authority.pem", folder / "server.pem"
    authority_file.write_bytes(_pem(authority))
    server_file.write_bytes(_pem(certificate) + _pem_of_key(key))
    return authority_file, server_file


def _signed(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    hosts: Sequence[str],
    authority: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    names = (x509.IPAddress(IPv4Address("127.0.0.1")), *map(x509.DNSName, hosts))
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _pem_of_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
