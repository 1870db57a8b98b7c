"""A real headless Chromium for tests: the system's own, driven by Playwright; nothing is fetched and nothing leaves."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.site import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def absent(why: str) -> None:
    """Skip, saying why; on CI, where the browser is installed, its absence fails."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{why}, and with CI=true the tests of the site must run")
    pytest.skip(why)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser, for as long as the block runs."""
    path = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright is not installed")
        raise
    if path is None:
        absent("chromium is not installed")
    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield made
        made.close()


@contextmanager
def shown(folder: Path) -> Iterator[str]:
    """A built site on the loopback address: where it is."""
    with served.server(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"http://{served.LOCAL}:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


class Watched:
    """A page, and what went wrong on it: console errors, errors of scripts, requests to another place."""

    def __init__(
        self, opened: Browser, origin: str, width: int = 1280, scheme: str = "light", *, script: bool = True
    ) -> None:
        context = opened.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=script,
        )
        self.origin, self.page, self.wrong, self.script = origin, context.new_page(), list[str](), script
        self.page.on("console", lambda m: self.wrong.append(f"console: {m.text}") if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.wrong.append(f"script: {e}"))
        self.page.on("request", lambda r: self._asked(r.url))

    def _asked(self, url: str) -> None:
        if not url.startswith((self.origin, "data:", "blob:")):
            self.wrong.append(f"request: {url}")

    def go(self, path: str) -> Page:
        """Open a page of the site and wait until its scripts have run."""
        self.page.goto("about:blank")
        self.page.goto(self.origin + path, wait_until="load")
        if self.script:
            self.page.wait_for_selector("body[data-ready]")
        return self.page

    def close(self) -> None:
        """Close the page."""
        self.page.context.close()
