"""A site's folder: its key, what it consented to send, and its connection to the coordinator."""

import hashlib
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from scopefl.core.terms import OPEN, Terms
from scopefl.data.files import write_bytes
from scopefl.data.scores_file import ScoresFile, read_scores
from scopefl.errors import RefusedError, RunError, ScopeError
from scopefl.federation import launch
from scopefl.federation.certificates import new_node_key
from scopefl.federation.coordinator import write_secret
from scopefl.federation.invitation import Invitation
from scopefl.federation.limits import read_limits
from scopefl.federation.sharing import size_of

KEY, CA, CONSENT, LOG = "node.key", "ca.crt", "consent.json", "supernode.log"
CONNECTED = "SuperNode ID:"
REFUSED = "[code: 2004]"


@dataclass(frozen=True)
class Site:
    """One site of an invitation: its name, its folder, its scores, and its own settings."""

    name: str
    folder: Path
    invitation: Invitation
    scores: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    def prepare(self) -> ScoresFile:
        """Check the scores and settings, make the key if there is none; give the scores."""
        if self.terms.noisy and "keys" not in self.settings:
            raise RefusedError(
                f"{self.terms.mode} is worth what a ledger forbids: make one with scope keys new "
                "FOLDER --epsilon, and give it with --keys"
            )
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
        return file

    @property
    def terms(self) -> Terms:
        """Give the site's privacy mode; whatever the server asks for, no weaker one is used."""
        return Terms.of(self.settings.get("mode", OPEN.mode))

    def leaving(self, file: ScoresFile) -> int:
        """Count the bytes of the profile that will leave the site."""
        return size_of(file, self.terms, len(self.invitation.sites))

    @property
    def public_key(self) -> Path:
        """Give the file to send to the coordinator."""
        return self.folder / f"{self.name}.pub"

    def consented(self, file: ScoresFile) -> bool:
        """Tell whether somebody agreed to send what these scores give, to this server."""
        path = self.folder / CONSENT
        return path.exists() and json.loads(path.read_text("utf-8")) == self._agreed(file)

    def consent(self, file: ScoresFile) -> None:
        """Remember that somebody agreed."""
        write_bytes(self.folder / CONSENT, json.dumps(self._agreed(file), indent=2).encode())

    def _agreed(self, file: ScoresFile) -> dict[str, str]:
        return {
            "server": self.invitation.address,
            "ca": self.invitation.ca,
            "mode": str(self.terms),
            "profile": hashlib.sha256(file.profile.to_bytes(file.fingerprint)).hexdigest(),
        }

    def stay_connected(self, wait: float, say: Callable[[str], None]) -> NoReturn:
        """Keep the connection until it is interrupted; raise why it ended by itself.

        For `wait` seconds a refusal or silence is met by trying again.
        """
        deadline = time.monotonic() + wait
        while True:
            cause = self._connect_once(say)
            if not isinstance(cause, WaitingError) or time.monotonic() > deadline:
                raise cause
            say(f"{cause}; trying again")
            time.sleep(cause.pause)

    @property
    def home(self) -> launch.Home:
        """Give where Flower keeps its own files at this site, and the server."""
        path, ca = self.folder / "flower", self.folder / CA
        return launch.Home(path.absolute(), self.invitation.address, ca.absolute())

    def _connect_once(self, say: Callable[[str], None]) -> ScopeError:
        home = self.home
        try:
            launch.knock(home)
        except OSError as error:
            return self._no_answer(error)
        home.path.mkdir(exist_ok=True)
        own = {"site": self.name, "scores": str(self.scores.absolute()), **self.settings}
        arguments = [launch.command("flower-supernode"), "--superlink", home.address]
        arguments += ["--root-certificates", str(home.ca)]
        arguments += ["--auth-supernode-private-key", str((self.folder / KEY).absolute())]
        # Without --max-retries it waits for a server that went; with, it gives up but never ends.
        arguments += ["--port", str(launch.free_port())]
        arguments += ["--node-config", " ".join(f'{k}="{v}"' for k, v in own.items())]
        log = self.folder / LOG
        before = log.read_bytes() if log.exists() else b""

        def heard() -> str:
            return log.read_bytes()[len(before) :].decode(errors="replace")

        with launch.started(arguments, home, log) as process:
            while process.poll() is None and CONNECTED not in heard():
                time.sleep(0.5)
            if process.poll() is None:
                say(f"{self.name} is connected; its log is {log}")
            code = process.wait()
        return self._cause(code, heard(), CONNECTED.encode() in before)

    def _cause(self, code: int, text: str, was_taken: bool) -> ScopeError:
        """Say why the connection ended, as far as its log tells."""
        if REFUSED in text and was_taken:
            return StillListedError(
                f"the server does not take {self.name} back yet: after a crash it lists a site as "
                "connected for up to a minute"
            )
        if REFUSED in text:
            return WaitingError(
                f"the server does not take {self.name} yet: send the coordinator "
                f"{self.public_key}, for: scope admit FOLDER {self.public_key.name}"
            )
        log = self.folder / LOG
        return RunError(
            f"the connection to {self.invitation.address} ended with code {code}; its log is {log}"
        )

    def _no_answer(self, error: OSError) -> ScopeError:
        if isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError):
            return RefusedError(
                f"{self.invitation.address} must show a certificate of the invitation's "
                "authority and shows another; ask the coordinator for a new invitation"
            )
        return WaitingError(
            f"{self.invitation.address} does not answer; ask the coordinator whether its "
            "scope serve runs"
        )


class WaitingError(RefusedError):
    """The server does not answer or does not know this site's key: try again soon."""

    pause = 5.0


class StillListedError(WaitingError):
    """The server has not noticed yet that this site went."""

    # Longer than the minute: who comes back before the server has noticed leaves it waiting for
    # an answer that died with the old process, until the round's deadline.
    pause = 65.0
