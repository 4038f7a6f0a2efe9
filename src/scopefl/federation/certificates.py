"""The coordinator's certificates and a site's key, as Flower's server and clients want them."""

import datetime
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from scopefl.errors import ScopeError

VALID_DAYS = 730
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Certificates:
    """PEM texts: the authority that sites trust, and the server's certificate and key."""

    ca: bytes
    certificate: bytes
    key: bytes


def issue(host: str, now: datetime.datetime, days: int = VALID_DAYS) -> Certificates:
    """Make an authority, use it once for this server, and forget its key."""
    ca_key, key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    until = now + datetime.timedelta(days=days)
    ca_name, name = _name("scopefl authority"), _name(host)
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key(), now, until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .sign(ca_key, hashes.SHA384())
    )
    hosts = [_host(one) for one in dict.fromkeys((host, *LOCAL_NAMES))]
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    server = (
        _builder(name, ca_name, key.public_key(), now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(authority, critical=False)
        .sign(ca_key, hashes.SHA384())
    )
    pem = serialization.Encoding.PEM
    return Certificates(ca.public_bytes(pem), server.public_bytes(pem), _pem(key))


def check_authority(pem: str) -> None:
    """Refuse what is not the certificate of an authority."""
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        good = constraints.value.ca
    except (ValueError, x509.ExtensionNotFound):
        good = False
    if not good:
        raise ScopeError("the invitation must hold an authority's certificate; ask for a new one")


def new_node_key() -> tuple[bytes, bytes]:
    """Make a site's key: the private half for its own disk, the public half to be admitted."""
    key = ec.generate_private_key(ec.SECP384R1())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return private, public + b"\n"


def check_public_key(data: bytes, where: str) -> None:
    """Refuse what is not the public half of a site's key."""
    try:
        good = isinstance(serialization.load_ssh_public_key(data), ec.EllipticCurvePublicKey)
    except (ValueError, UnsupportedAlgorithm):
        good = False
    if not good:
        raise ScopeError(f"{where} must be the .pub file that `scope join` wrote at the site")


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    start: datetime.datetime,
    end: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - datetime.timedelta(hours=1))
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
