"""Invitations and certificates: what is written is read again, what is wrong is refused."""

import datetime
import json
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

from scopefl.errors import FingerprintError, ScopeError
from scopefl.federation.certificates import check_public_key, issue, new_node_key
from scopefl.federation.invitation import Invitation, read_invitation, write_invitation

NOW = datetime.datetime(2026, 11, 18, tzinfo=datetime.UTC)
MADE = issue("scope.lab.org", NOW)


def invitation(**changes) -> Invitation:
    fields = {
        "address": "scope.lab.org:8443",
        "ca": MADE.ca.decode(),
        "fingerprint": "07bdda89815d240e",
        "classes": ("grain", "pore"),
        "sites": ("north", "south"),
    }
    return Invitation(**{**fields, **changes})


def test_an_invitation_is_read_as_it_was_written_and_holds_no_secret(tmp_path):
    path = tmp_path / "invitation.json"
    write_invitation(invitation(), path)
    assert read_invitation(path) == invitation()
    assert "PRIVATE" not in path.read_text()
    assert (invitation().host, invitation().port) == ("scope.lab.org", 8443)
    assert invitation(address="[::1]:80").host == "::1"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"address": "scope.lab.org"}, "the address must be like"),
        ({"address": "scope.lab.org:0"}, "the address must be like"),
        ({"address": "scope.lab.org:65536"}, "the address must be like"),
        ({"address": 'x"; rm -rf /:80'}, "the address must be like"),
        ({"classes": ("grain",)}, "at least 2 distinct classes"),
        ({"classes": ("grain", "grain")}, "at least 2 distinct classes"),
        ({"sites": ()}, "sites must be distinct"),
        ({"sites": ("north", "north")}, "sites must be distinct"),
        ({"sites": ("../north",)}, r"got '../north'"),
        ({"sites": ("north south",)}, "got 'north south'"),
        ({"fingerprint": "xyz"}, "must be hex, got 'xyz'"),
        ({"fingerprint": ""}, "must be hex"),
        ({"ca": "no certificate"}, "an authority's certificate"),
        ({"ca": MADE.certificate.decode()}, "an authority's certificate"),
    ],
)
def test_a_senseless_invitation_is_refused(changes, sentence):
    with pytest.raises(ScopeError, match=sentence):
        invitation(**changes)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda about: [], "it is something else"),
        (lambda about: {**about, "kind": "profile"}, "it is something else"),
        (lambda about: {**about, "version": 2}, "format version 2 and this scopefl reads 1"),
        (lambda about: {**about, "extra": "x"}, "must hold address, ca, classes"),
        (lambda about: {k: v for k, v in about.items() if k != "ca"}, "must hold address"),
        (lambda about: {**about, "sites": "north"}, "must hold address"),
        (lambda about: {**about, "classes": [1, 2]}, "must hold address"),
        (lambda about: {**about, "address": 7}, "must hold address"),
    ],
)
def test_a_file_that_is_no_invitation_is_refused(tmp_path, spoil, sentence):
    path = tmp_path / "invitation.json"
    write_invitation(invitation(), path)
    path.write_text(json.dumps(spoil(json.loads(path.read_text()))))
    with pytest.raises(ScopeError, match=sentence):
        read_invitation(path)


@pytest.mark.parametrize("text", ["", "{", "\xff", "[" * 100_000, " " * (9 << 20)])
def test_garbage_is_refused(tmp_path, text):
    path = tmp_path / "invitation.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ScopeError, match="invitation"):
        read_invitation(path)


def test_only_invited_sites_and_their_kit_are_taken():
    invitation().check_site("north")
    invitation().check_kit(bytes.fromhex("07bdda89815d240e"), ("grain", "pore"))
    with pytest.raises(ScopeError, match=r"one of the invited \(north, south\), got 'west'"):
        invitation().check_site("west")
    with pytest.raises(FingerprintError, match="the coordinator's kit 07bdda89815d240e"):
        invitation().check_kit(b"", ("grain", "pore"))
    with pytest.raises(FingerprintError, match="score again with that kit"):
        invitation().check_kit(bytes.fromhex("07bdda89815d240e"), ("pore", "grain"))


def test_the_server_certificate_names_the_host_and_this_machine(tmp_path):
    certificate = x509.load_pem_x509_certificate(MADE.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["scope.lab.org", "localhost"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    assert certificate.not_valid_after_utc == NOW + datetime.timedelta(days=730)
    authority = x509.load_pem_x509_certificate(MADE.ca)
    certificate.verify_directly_issued_by(authority)
    key = load_pem_private_key(MADE.key, None)
    assert key.public_key() == certificate.public_key()
    assert ssl.create_default_context(cadata=MADE.ca.decode())


def test_a_node_key_is_an_ssh_pair():
    private, public = new_node_key()
    assert load_ssh_private_key(private, None).curve.name == "secp384r1"
    assert public.startswith(b"ecdsa-sha2-nistp384 ")
    check_public_key(public, "north.pub")
    for wrong in (b"", private, b"ssh-ed25519 AAAA"):
        with pytest.raises(ScopeError, match=r"north.pub must be the .pub file"):
            check_public_key(wrong, "north.pub")
