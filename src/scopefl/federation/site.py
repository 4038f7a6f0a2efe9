"""A site's folder: its key, what it consented to send, and its connection to the coordinator."""

import hashlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from scopefl.data.files import write_bytes
from scopefl.data.scores_file import read_scores
from scopefl.errors import RefusedError, RunError
from scopefl.federation import launch
from scopefl.federation.certificates import new_node_key
from scopefl.federation.coordinator import write_secret
from scopefl.federation.invitation import Invitation
from scopefl.federation.limits import read_limits

KEY, CA, CONSENT, LOG = "node.key", "ca.crt", "consent.json", "supernode.log"
UNKNOWN = ("412", "not registered", "Invalid SuperNode authentication")
UNTRUSTED = ("CERTIFICATE_VERIFY_FAILED", "certificate verify failed")


@dataclass(frozen=True)
class Site:
    """One site of an invitation: its name, its folder, its scores, and its own settings."""

    name: str
    folder: Path
    invitation: Invitation
    scores: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    def prepare(self) -> bytes:
        """Check the scores and limits, make the key if there is none; give what will be sent."""
        self.invitation.check_site(self.name)
        if "limits" in self.settings:
            read_limits(Path(self.settings["limits"]))
        file = read_scores(self.scores)
        self.invitation.check_kit(file.fingerprint, file.classes)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (self.folder / KEY).exists():
            private, public = new_node_key()
            write_secret(self.folder / KEY, private)
            write_bytes(self.public_key, public)
        write_bytes(self.folder / CA, self.invitation.ca.encode())
        return file.profile.to_bytes(file.fingerprint)

    @property
    def public_key(self) -> Path:
        """Give the file to send to the coordinator."""
        return self.folder / f"{self.name}.pub"

    def consented(self, profile: bytes) -> bool:
        """Tell whether somebody agreed to send this very profile to this server."""
        path = self.folder / CONSENT
        return path.exists() and json.loads(path.read_text("utf-8")) == self._terms(profile)

    def consent(self, profile: bytes) -> None:
        """Remember that somebody agreed."""
        write_bytes(self.folder / CONSENT, json.dumps(self._terms(profile), indent=2).encode())

    def _terms(self, profile: bytes) -> dict[str, str]:
        digest = hashlib.sha256(profile).hexdigest()
        return {"server": self.invitation.address, "ca": self.invitation.ca, "profile": digest}

    @contextmanager
    def connected(self) -> Iterator[subprocess.Popen[bytes]]:
        """Lend the running connection."""
        home = launch.Home(
            (self.folder / "flower").absolute(),
            self.invitation.address,
            (self.folder / CA).absolute(),
        )
        home.path.mkdir(exist_ok=True)
        own = {"site": self.name, "scores": str(self.scores.absolute()), **self.settings}
        arguments = [launch.command("flower-supernode"), "--superlink", home.address]
        arguments += ["--root-certificates", str(home.ca)]
        arguments += ["--auth-supernode-private-key", str((self.folder / KEY).absolute())]
        arguments += ["--port", str(launch.free_port()), "--max-retries", "20"]
        arguments += ["--node-config", " ".join(f'{k}="{v}"' for k, v in own.items())]
        with launch.started(arguments, home, self.folder / LOG) as process:
            yield process

    def ended(self, code: int) -> None:
        """Raise why the connection ended, as far as its log tells."""
        log = self.folder / LOG
        text = log.read_text("utf-8", errors="replace")[-20_000:]
        if any(word in text for word in UNKNOWN):
            raise RefusedError(
                f"the coordinator has not admitted this site yet; send it {self.public_key}, "
                f"to be admitted with: scope admit FOLDER {self.public_key.name}"
            )
        if any(word in text for word in UNTRUSTED):
            raise RefusedError(
                f"{self.invitation.address} must show a certificate of the invitation's "
                "authority and shows another; ask the coordinator for a new invitation"
            )
        raise RunError(f"the connection ended with code {code}; its log is {log}")
