"""Weights from a hub that speaks HTTP, and what becomes of each way a download can go wrong."""

import hashlib
import json
import struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from scopefl.errors import ScopeError
from scopefl.vision.backbones import Backbone
from scopefl.vision.weights import FILE, hub_weights

constants = pytest.importorskip("huggingface_hub.constants")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HEADER = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
WEIGHTS = struct.pack("<Q", len(HEADER)) + HEADER + bytes(4)
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()
ENTRY = Backbone("small", "", "", "lab/small", COMMIT, "unknown", "MIT", 1, 64)


class Hub(BaseHTTPRequestHandler):
    """One repository with one file, as the hub answers for it."""

    files: ClassVar = {f"/lab/small/resolve/{COMMIT}/{FILE}": WEIGHTS}
    stated = SHA256

    def do_HEAD(self):
        body = self.files.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("X-Repo-Commit", COMMIT)
        if body is None:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("ETag", f'"{self.stated}"')
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        self.wfile.write(self.files.get(self.path, b""))

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Start the hub on this machine and let the client know no other one."""
    kind = type("OneHub", (Hub,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", here)
    template = f"{here}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield kind
    server.shutdown()
    server.server_close()


def test_a_pinned_revision_is_downloaded_and_named_by_its_commit_and_hash(hub):
    found = hub_weights(ENTRY)
    assert found.path.read_bytes() == WEIGHTS
    assert (found.source, found.revision, found.sha256) == ("lab/small", COMMIT, SHA256)


def test_a_second_build_needs_no_hub(hub):
    hub_weights(ENTRY)
    hub.files = {}
    assert hub_weights(ENTRY).sha256 == SHA256


def test_a_download_that_is_not_what_the_hub_states_is_refused(hub):
    hub.stated = "f" * 64
    with pytest.raises(ScopeError, match=r"as the hub states, it has .*; delete it and download"):
        hub_weights(ENTRY)


def test_a_download_that_is_not_what_was_pinned_is_refused(hub):
    from dataclasses import replace

    with pytest.raises(ScopeError, match="must have SHA-256 aaaa"):
        hub_weights(replace(ENTRY, sha256="a" * 64))


def test_a_repository_with_pickled_weights_only_is_refused(hub):
    hub.files = {f"/lab/small/resolve/{COMMIT}/pytorch_model.bin": b"PK"}
    with pytest.raises(ScopeError, match="pickled weights are refused; convert them"):
        hub_weights(ENTRY)


def test_pickled_weights_under_a_safe_name_are_refused(hub):
    raw = b"\x80\x02}q\x00."
    hub.files, hub.stated = {f"/lab/small/resolve/{COMMIT}/{FILE}": raw}, "0" * 64
    with pytest.raises(ScopeError, match="must be a safetensors file"):
        hub_weights(ENTRY)
