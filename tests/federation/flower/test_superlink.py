"""The lock on Flower's server: from afar, only what a site may ask."""

import asyncio
import inspect

import pytest

pytest.importorskip("flwr")

from flwr.superlink import extensions, main

from scopefl.federation.flower.superlink import OnlySitesFromAfar


def answer(caller, path, kind="http"):
    """Give the status that a caller gets."""
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "path": path, "client": caller and (caller, 50000)}
    asyncio.run(OnlySitesFromAfar(app)(scope, None, send))
    return sent[0]["status"]


@pytest.mark.parametrize("caller", ["127.0.0.1", "::1", "127.8.0.1"])
def test_the_own_machine_may_do_everything(caller):
    assert answer(caller, "/v1/control/start-run") == 200


@pytest.mark.parametrize("caller", ["10.0.0.5", "2001:db8::1", "192.168.1.1", None])
def test_another_machine_may_only_be_a_site(caller):
    assert answer(caller, "/v1/control/start-run") == 403
    assert answer(caller, "/v1/control/register-node") == 403
    assert answer(caller, "/v1/runtime/push-messages") == 403
    assert answer(caller, "/docs") == 403
    assert answer(caller, "/v1/fleet/../control/start-run") == 403
    assert answer(caller, "/v1/fleet/activate-node") == 200
    assert answer(caller, "/health") == 200


def test_flower_asks_where_we_put_the_lock():
    assert "extensions.get_middleware()" in inspect.getsource(main)
    assert callable(extensions.get_middleware)
