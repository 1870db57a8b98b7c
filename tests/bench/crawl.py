"""Config requests per second of a crawl, beside a bare asynchronous client and a loop of hf_hub_download.

All ask for the same files of one loopback Hub, a process of its own, in the same run and in turns. Then the memory of
a crawl of 100,000 repositories, from first page to last record (skip it with --repos 0). Then what a quota leaves: a
crawl of 60 windows and one of the day after, with a Hub and a client whose clock goes a hundred times as fast (skip it
with --windows 0).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "support")]

from hub_server import Population  # noqa: E402 - found by the line above

FILES, DOWNLOADS, ROUNDS, WORKERS = 3000, 300, 3, 16
SCALE, WINDOW, QUOTA, LISTINGS = 100, 300.0, 100, 20
"""Configs and pages of a window of five minutes: a fiftieth of what a free account may ask."""
SERVER = Path(__file__).parents[1] / "support" / "hub_server.py"


@contextmanager
def hub(repos: int) -> Iterator[str]:
    """The endpoint of a loopback Hub of `repos` repositories."""
    command = [sys.executable, str(SERVER), "--repos", str(repos)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        assert process.stdin is not None
        process.stdin.close()


def ours(endpoint: str, folder: Path) -> int:
    """A whole crawl: listing, configs, archive. Returns how many configs it brought."""
    from pipeline.hub import crawl
    from pipeline.hub.limits import Limits
    from pipeline.hub.listing import Selection

    with crawl.run(crawl.Wanted(folder, endpoint, Selection(), limits=Limits(workers=WORKERS))) as result:
        return result.summary.outcomes["ok"]


def bare(endpoint: str, folder: Path) -> int:
    """The same configs with nothing but an asynchronous client, kept in memory."""
    del folder
    import httpx2

    async def fetch_all() -> int:
        texts: list[bytes] = []
        queue = iter(urls(endpoint, FILES))

        async def work(client: httpx2.AsyncClient) -> None:
            for url in queue:
                response = await client.get(url)
                texts.append(response.content)

        async with httpx2.AsyncClient() as client:
            await asyncio.gather(*(work(client) for _ in range(WORKERS)))
        return len(texts)

    return asyncio.run(fetch_all())


def stock(endpoint: str, folder: Path) -> int:
    """The first of them, one after the other, with hf_hub_download."""
    from huggingface_hub import hf_hub_download

    population = Population(FILES)
    for repo in map(population.repo, range(DOWNLOADS)):
        hf_hub_download(repo.repo_id, "config.json", revision=repo.sha, endpoint=endpoint, cache_dir=folder)
    return DOWNLOADS


def urls(endpoint: str, count: int) -> list[str]:
    """Where the configs are."""
    repos = map(Population(FILES).repo, range(count))
    return [f"{endpoint}/{repo.repo_id}/resolve/{repo.sha}/config.json" for repo in repos]


def rate(way: Callable[[str, Path], int], endpoint: str) -> tuple[float, float]:
    """Configs per second of wall time, and per second of this process's own CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        count = way(endpoint, Path(folder))
        return count / (time.perf_counter() - wall), count / (time.process_time() - cpu)


def memory(repos: int) -> None:
    """Peak memory of a process that crawls `repos` repositories and reads every record."""
    from pipeline.hub import crawl
    from pipeline.hub.listing import Selection

    started = time.perf_counter()
    with hub(repos) as endpoint, tempfile.TemporaryDirectory() as folder:
        with crawl.run(crawl.Wanted(Path(folder), endpoint, Selection())) as result:
            records = sum(1 for _ in result.records())
            result.finish()
        size = sum(file.stat().st_size for file in Path(folder, "archive").iterdir())
        with crawl.run(crawl.Wanted(Path(folder), endpoint, Selection())) as result:
            again = result.summary
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    spent = time.perf_counter() - started
    print(f"{records:,} repositories: peak {peak:.2f} GiB, {spent:.0f} s, archive {size / 2**20:.0f} MiB")
    print(f"the same again, unchanged: {again.requests:,} requests, {again.seconds:.1f} s")


def fast() -> float:
    """Seconds of a clock that goes SCALE times as fast."""
    return SCALE * time.monotonic()


def limited(windows: int) -> None:
    """Seconds of that clock that a first and a daily crawl take where every window allows so many requests."""
    from hub_server import HubServer

    from pipeline.hub import crawl, quota
    from pipeline.hub.listing import Selection

    quota.time = SimpleNamespace(monotonic=fast)  # pyright: ignore[reportAttributeAccessIssue]
    quota.asyncio = SimpleNamespace(sleep=lambda s: asyncio.sleep(s / SCALE))  # pyright: ignore[reportAttributeAccessIssue]
    allowed = {"resolvers": (QUOTA, WINDOW), "api": (LISTINGS, WINDOW)}
    repos = windows * QUOTA

    def crawled(folder: str, endpoint: str) -> float:
        begun = fast()
        with crawl.run(crawl.Wanted(Path(folder), endpoint, Selection())) as result:
            assert sum(1 for _ in result.records()) == repos
            result.finish()
        return fast() - begun

    with HubServer(Population(repos), quota=allowed, clock=fast) as hub, tempfile.TemporaryDirectory() as folder:
        first = crawled(folder, hub.endpoint)
        floor = (windows - 1) * WINDOW
        for index in range(repos // 100):
            hub.population.change(index)
        time.sleep(WINDOW / SCALE)
        daily = crawled(folder, hub.endpoint)
    print(f"{windows} windows of {WINDOW:.0f} s: {first:,.0f} s, the quota alone {floor:,.0f} s ({first / floor:.3f})")
    print(f"the day after, one in a hundred changed: {daily:.0f} s")


def main() -> None:
    """Print the three rates and the memory."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repos", type=int, default=100_000)
    options.add_argument("--windows", type=int, default=60)
    arguments = options.parse_args()
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    ways = (ours, bare, stock)
    with hub(FILES) as endpoint:
        rates: dict[str, list[tuple[float, float]]] = {way.__name__: [] for way in ways}
        for way in ways * ROUNDS:
            rates[way.__name__].append(rate(way, endpoint))
    wall, cpu = ({name: statistics.median(pair[i] for pair in pairs) for name, pairs in rates.items()} for i in (0, 1))
    for name in wall:
        print(f"{name:6} {wall[name]:7,.0f} configs/s of wall time, {cpu[name]:7,.0f} per CPU second")
    print(f"ours / bare  {wall['ours'] / wall['bare']:.2f} (CPU {cpu['ours'] / cpu['bare']:.2f}); aim 0.8")
    print(f"ours / stock {wall['ours'] / wall['stock']:.1f} (CPU {cpu['ours'] / cpu['stock']:.1f}); aim 6")
    if arguments.repos:
        memory(arguments.repos)
    if arguments.windows:
        limited(arguments.windows)


if __name__ == "__main__":
    main()
