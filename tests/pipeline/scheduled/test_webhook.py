"""The automation that docs/operating.md shows is made as it stands there, and tells a webhook of real flows."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from places import ROOT

NAMES = "abcdefghijklmnopqrst"
"""More than two of a hundred models would go with all but one of these: the catalogue's stand beside them."""
HERE = "http://127.0.0.1"
FLOW = """
from pipeline.scheduled import flows
import sys
if __name__ == "__main__":
    flows.refresh(home=sys.argv[1], source=sys.argv[2])
"""
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16, "intermediate_size": 64,
    "num_attention_heads": 2, "num_hidden_layers": 2, "vocab_size": 100,
}  # fmt: skip


@pytest.fixture
def told() -> Iterator[tuple[str, list[str]]]:
    """An address that takes what is posted, and what it took."""
    bodies: list[str] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])).decode())
            self.send_response(200)
            self.end_headers()

        def log_request(self, code: object = 0, size: object = 0) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"{HERE}:{server.server_address[1]}/atlas", bodies
    server.shutdown()
    server.server_close()


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of whoever works with a Prefect server of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = os.environ | {"PREFECT_HOME": str(tmp_path / "prefect"), "PREFECT_API_URL": f"{HERE}:{port}/api"}
    serve = [sys.executable, "-m", "prefect", "server", "start", "--port", str(port)]
    with subprocess.Popen(serve, env=said, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _until(lambda: urllib.request.urlopen(f"{HERE}:{port}/api/health").status == 200, OSError)
            yield said
        finally:
            server.terminate()


def _until(holds: Callable[[], bool], *put_up_with: type[Exception]) -> None:
    end = time.monotonic() + 180
    while True:
        try:
            if holds():
                return
        except put_up_with:
            pass
        assert time.monotonic() < end
        time.sleep(0.5)


def documented(address: str) -> str:
    """The automation of the page, posting to this address, which a webhook must be allowed to: it is a private one."""
    (shown,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/operating.md").read_text("utf-8"), re.DOTALL)
    url = 'url="https://hooks.example/atlas"'
    assert url in shown
    return shown.replace(url, f'url="{address}", allow_private_urls=True')


@pytest.mark.soak
def test_a_webhook_is_told_what_was_published_and_what_was_refused(
    tmp_path: Path, told: tuple[str, list[str]], environment: dict[str, str]
) -> None:
    """A first refresh is published; one that would drop models is refused; each is posted once, its payload as JSON."""
    address, bodies = told
    subprocess.run([sys.executable, "-c", documented(address)], env=environment, check=True)
    for number, names in enumerate((NAMES, NAMES[:1])):
        folder = tmp_path / f"configs{number}"
        folder.mkdir()
        for name in names:
            (folder / f"org--{name}.json").write_text(json.dumps(LLAMA))
        done = subprocess.run(
            [sys.executable, "-c", FLOW, str(tmp_path / "home"), str(folder)], env=environment, cwd=ROOT, check=False
        )
        assert (done.returncode == 0) is (names == NAMES)
    _until(lambda: len(bodies) == 2)
    events = {name: json.loads(payload) for name, payload in (body.split(" ", 1) for body in bodies)}
    assert events["atlas.snapshot.published"]["previous"] is None
    assert "org/b, org/c, org/d" in events["atlas.snapshot.refused"]["why"]
