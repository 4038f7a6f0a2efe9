"""An invitation: the one file by which a coordinator brings a site in; it holds no secret."""

import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from scopefl.data.files import read_bytes, write_bytes
from scopefl.errors import FingerprintError, ScopeError
from scopefl.federation.certificates import check_authority

KIND, VERSION = "scopefl invitation", 1
LARGEST = 8 << 20
SITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ADDRESS = re.compile(r"([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:]+\]):([0-9]{1,5})")


@dataclass(frozen=True)
class Invitation:
    """Whom a site will talk to and about what: server, its authority, kit, classes, sites."""

    address: str
    ca: str
    fingerprint: str
    classes: tuple[str, ...]
    sites: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse an invitation nobody could have meant."""
        found = ADDRESS.fullmatch(self.address)
        if not found or not 0 < int(found[2]) < 1 << 16:
            raise ScopeError(f"the address must be like scope.lab.org:8443, got {self.address!r}")
        if len(self.classes) < 2 or len(set(self.classes)) < len(self.classes):
            raise ScopeError("an invitation must name at least 2 distinct classes")
        bad = [site for site in self.sites if not SITE.fullmatch(site)]
        if bad or not self.sites or len(set(self.sites)) < len(self.sites):
            raise ScopeError(
                "sites must be distinct names of letters, digits, '.', '_' and '-', "
                f"got {', '.join(map(repr, bad or self.sites)) or 'none'}"
            )
        if not re.fullmatch(r"([0-9a-f]{2}){1,32}", self.fingerprint):
            raise ScopeError(f"the kit's fingerprint must be hex, got {self.fingerprint!r}")
        check_authority(self.ca)

    @property
    def host(self) -> str:
        """Give the server's name or number, without its port."""
        return self.address.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Give the server's port."""
        return int(self.address.rpartition(":")[2])

    def check_site(self, site: str) -> None:
        """Refuse a site that was not invited."""
        if site not in self.sites:
            raise ScopeError(
                f"the site must be one of the invited ({', '.join(self.sites)}), got {site!r}"
            )

    def check_kit(self, fingerprint: bytes, classes: tuple[str, ...]) -> None:
        """Refuse scores that are not made with the coordinator's kit."""
        if fingerprint.hex() != self.fingerprint or classes != self.classes:
            raise FingerprintError(
                f"the scores must be made with the coordinator's kit {self.fingerprint}, they "
                f"were made with {fingerprint.hex() or 'none'}; score again with that kit"
            )


def write_invitation(invitation: Invitation, path: Path) -> None:
    """Write the invitation as text that people can read."""
    about = {"kind": KIND, "version": VERSION, **asdict(invitation)}
    write_bytes(path, json.dumps(about, indent=2, ensure_ascii=False).encode() + b"\n")


def read_invitation(path: Path) -> Invitation:
    """Read and check an invitation."""
    try:
        about: Any = json.loads(read_bytes(path, LARGEST))
    except (ValueError, RecursionError) as error:
        raise ScopeError(f"{path} must be an invitation of `scope invite`: {error}") from error
    if not isinstance(about, dict) or about.pop("kind", None) != KIND:
        raise ScopeError(f"{path} must be an invitation of `scope invite`, it is something else")
    if (version := about.pop("version", None)) != VERSION:
        raise ScopeError(
            f"{path} has format version {version} and this scopefl reads {VERSION}; "
            "install the same scopefl at every site"
        )
    names = {field.name for field in fields(Invitation)}
    lists = [about.pop(name, None) for name in ("classes", "sites")]
    texts = all(isinstance(value, str) for value in about.values())
    good = [isinstance(one, list) and all(isinstance(x, str) for x in one) for one in lists]
    if set(about) != names - {"classes", "sites"} or not texts or not all(good):
        raise ScopeError(f"{path} must hold {', '.join(sorted(names))}; ask for it again")
    return Invitation(**about, classes=tuple(lists[0]), sites=tuple(lists[1]))
