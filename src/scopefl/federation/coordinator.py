"""The coordinator's folder: its certificates, whom it invited, whom it admitted; and the server."""

import datetime
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scopefl.data.files import read_bytes, write_bytes
from scopefl.errors import RefusedError, RunError, ScopeError
from scopefl.federation import launch
from scopefl.federation.certificates import check_public_key, issue
from scopefl.federation.invitation import Invitation, read_invitation, write_invitation

INVITATION, CA, CERTIFICATE, KEY = "invitation.json", "ca.crt", "server.crt", "server.key"
SITES, STATE, LOG = "sites", "state.db", "superlink.log"
KNOWN = "already in use"


def invite(
    folder: Path,
    address: str,
    sites: Sequence[str],
    fingerprint: bytes,
    classes: tuple[str, ...],
    now: datetime.datetime,
) -> Path:
    """Make the coordinator's folder; give the invitation, the one file that leaves it."""
    if folder.exists() and any(folder.iterdir()):
        raise ScopeError(f"{folder} must be new or an empty folder; it holds a server already")
    made = issue(address.rpartition(":")[0].strip("[]"), now)
    invitation = Invitation(address, made.ca.decode(), fingerprint.hex(), classes, tuple(sites))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.joinpath(SITES).mkdir()
    write_bytes(folder / CA, made.ca)
    write_bytes(folder / CERTIFICATE, made.certificate)
    write_secret(folder / KEY, made.key)
    write_invitation(invitation, folder / INVITATION)
    return folder / INVITATION


def write_secret(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, and never over another."""
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(data)


def home_of(folder: Path) -> launch.Home:
    """Give how the coordinator's own machine reaches its server."""
    invitation = read_invitation(folder / INVITATION)
    address = f"{launch.LOCAL}:{invitation.port}"
    return launch.Home((folder / "flower").absolute(), address, (folder / CA).absolute())


def invited(folder: Path) -> tuple[str, ...]:
    """Name the sites that the coordinator invited, all of which a run expects."""
    return read_invitation(folder / INVITATION).sites


def admit(folder: Path, key: Path) -> str:
    """Take a site's public key, at once if the server runs; give the site's name."""
    invitation = read_invitation(folder / INVITATION)
    site = key.name.removesuffix(".pub")
    invitation.check_site(site)
    public = read_bytes(key, 1 << 16)
    check_public_key(public, str(key))
    held = folder / SITES / f"{site}.pub"
    if held.exists() and held.read_bytes() != public:
        raise RefusedError(
            f"{site} was admitted with another key; if the site made a new one, "
            f"delete {held} and {folder / STATE} while the server is stopped"
        )
    write_bytes(held, public)
    home = home_of(folder)
    if launch.is_up(home):
        register(home, held)
    return site


def register(home: launch.Home, key: Path) -> None:
    """Register a site's key at the running server, under the site's name."""
    arguments = ["supernode", "register", str(key.absolute()), launch.CONNECTION]
    arguments += ["--name", key.stem, "--format", "json"]
    try:
        launch.asked(home, arguments)
    except RunError as error:
        if KNOWN not in str(error):
            raise


@contextmanager
def serving(folder: Path, host: str) -> Iterator[subprocess.Popen[bytes]]:
    """Lend the running server, every admitted site registered."""
    home = home_of(folder)
    home.write()
    log = folder / LOG
    arguments = [sys.executable, "-m", "scopefl.federation.flower.superlink"]
    arguments += ["--ssl-ca-certfile", str((folder / CA).absolute())]
    arguments += ["--ssl-certfile", str((folder / CERTIFICATE).absolute())]
    arguments += ["--ssl-keyfile", str((folder / KEY).absolute())]
    arguments += ["--enable-supernode-auth", "--disable-runtime-dependency-installation"]
    arguments += ["--host", host, "--port", home.address.rpartition(":")[2]]
    arguments += ["--database", str((folder / STATE).absolute())]
    if launch.is_up(home):
        raise ScopeError(f"another server answers at {home.address}; stop it first")
    with launch.started(arguments, home, log) as process:
        launch.wait_until_up(home, process, log)
        for key in sorted((folder / SITES).glob("*.pub")):
            register(home, key)
        yield process
