"""Flower's server with one more lock: whoever is not on its own machine may only be a site.

Flower serves three things at one port: the sites' calls, and the calls that register sites and
start runs, for which it asks no credential. Only the first are answered from afar.
"""

import ipaddress

from flwr.superlink import extensions
from flwr.superlink.cli import flower_superlink
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

OPEN = ("/v1/fleet/", "/health")


class OnlySitesFromAfar:
    """Answer 403 to a caller on another machine that wants more than a site may."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, or refuse it."""
        if scope["type"] == "lifespan" or _is_local(scope) or _is_open(scope["path"]):
            await self.app(scope, receive, send)
            return
        refusal = PlainTextResponse("only the coordinator's own machine may do this", 403)
        await refusal(scope, receive, send)


def _is_open(path: str) -> bool:
    return path.startswith(OPEN) and ".." not in path


def _is_local(scope: Scope) -> bool:
    caller = scope.get("client")
    return caller is not None and ipaddress.ip_address(caller[0]).is_loopback


def main() -> None:
    """Start Flower's server, its command line unchanged, with the lock outermost."""
    given = extensions.get_middleware
    extensions.get_middleware = lambda: (Middleware(OnlySitesFromAfar), *given())
    flower_superlink()


if __name__ == "__main__":
    main()
