"""The Prefect flows do what the plain steps do, show it, and keep the token to themselves."""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib.util
import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hub_server import HubServer, Population, Reply

from pipeline import durable
from pipeline.errors import Busy, Invalid, Upstream, Usage
from pipeline.hub.crawl import Staged
from pipeline.refresh import cited, holding, records, steps, tables
from pipeline.refresh.records import Options
from pipeline.store import build, shelf, snapshot

pytestmark = pytest.mark.filterwarnings("ignore")  # what Prefect and its libraries deprecate is not ours to mend
CANARY = "hf_canary0canary0canary0canary0"
DAY = dt.date(2026, 11, 29)
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 100,
}
HOSTILE = "](javascript:alert(1))<img src=x>|`{{7*7}}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three configs, one of them of an unknown kind with a hostile name."""
    place = tmp_path / "configs"
    place.mkdir()
    for name, keys in {"a": LLAMA, "b": {**LLAMA, "hidden_size": 32}, "c": {"model_type": HOSTILE}}.items():
        (place / f"org--{name}.json").write_text(json.dumps(keys))
    return place


def test_tasks_are_plain_functions_inside(folder: Path, tmp_path: Path) -> None:
    """`.fn` of each task, without any server, gives the snapshot that the plain steps publish."""
    from pipeline.scheduled import flows

    options = Options(tmp_path / "home", str(folder), DAY)
    gathered = flows.gather.fn(options)
    found = list(gathered.found)
    content = tables.tables(found, extra=cited.reported())
    twofold = holding.deciding_totals()  # the reading of these texts is a matter of the whole, not of a batch
    plain = [one for one in found if one.raw is not None and hashlib.sha256(one.raw).hexdigest() not in twofold]
    parts = build.ordered(flows.derive_texts.fn([one.raw for one in plain if one.raw is not None]))
    assert build.digests(parts)["parameters"] == build.digests(build.ordered(tables.tables(plain)))["parameters"]
    with ExitStack() as held:
        ready = flows.validate.fn(held, options, gathered, content)
        assert not list((tmp_path / "home" / "snapshots").glob("*.duckdb"))
        published = flows.publish.fn(held, ready, gathered)
    whole = steps.gather(options)
    again = steps.publish(options, whole, steps.tabulate(whole))
    assert (published.entry.id, published.is_new) == (DAY.isoformat(), True)
    assert (again.entry, again.is_new) == (published.entry, False)


def test_a_summary_in_markdown_has_no_markup_of_strangers() -> None:
    """Hostile model_types, pages and reasons render as text: the parsed page has no link, image, HTML or code."""
    from markdown_it import MarkdownIt

    from pipeline.scheduled import artifacts

    crawl = {"requests": 1, "bytes": 2, "waited_seconds": 0.0, "new_model_types": [HOSTILE], "losses": [HOSTILE]}
    done = records.Report(
        "2026-11-29", Path(), True, 1, 1, {"ok": 1}, {"known": 1}, [], {HOSTILE: f"\n# {HOSTILE}"}, crawl
    )
    for text in (artifacts.of_refresh(done), artifacts.of_guide(HOSTILE, [], {HOSTILE: HOSTILE})):
        tokens = [
            t
            for block in MarkdownIt("commonmark").enable("table").parse(text)
            for t in (block, *(block.children or []))
        ]
        kinds = {t.type for t in tokens}
        assert kinds.isdisjoint({"link_open", "image", "html_inline", "html_block", "code_inline", "fence"})
        assert sum(t.type == "heading_open" for t in tokens) <= 1
        assert HOSTILE in "".join(t.content for t in tokens if t.type == "text")


@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        ("threads", "ThreadPoolTaskRunner"),
        ("dask", "DaskTaskRunner"),
        ("tcp://127.0.0.1:8786", "DaskTaskRunner"),
        ("frogs", None),
    ],
)
def test_the_task_runner_is_a_setting(setting: str, kind: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads unless the environment says otherwise; Dask without its extra, and nonsense, are refused in words."""
    from pipeline.scheduled import flows

    monkeypatch.setenv(flows.RUNNER, setting)
    if kind is None or (kind == "DaskTaskRunner" and not importlib.util.find_spec("prefect_dask")):
        with pytest.raises(Usage, match=flows.RUNNER):
            flows.runner()
    else:
        assert type(flows.runner()).__name__ == kind
    monkeypatch.setenv(flows.WORKERS, "none")
    with pytest.raises(Usage, match=flows.WORKERS):
        flows.runner()


def test_telemetry_is_off_unless_the_environment_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defaults are set where nothing is, and what is set stands."""
    from pipeline.scheduled import quiet

    monkeypatch.delenv("DO_NOT_TRACK")
    monkeypatch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "true")
    quiet.apply()
    assert (os.environ["DO_NOT_TRACK"], os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"]) == ("1", "true")


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Prefect's own server with a database of its own, once for all tests."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        yield


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Prefect's loggers, which do not propagate by themselves."""
    loggers = [logging.getLogger(name) for name in ("prefect", "prefect.flow_runs", "prefect.task_runs")]
    for logger in loggers:
        logger.addHandler(caplog.handler)
    yield caplog
    for logger in loggers:
        logger.removeHandler(caplog.handler)


def server_knows() -> tuple[dict[str, list[Any]], str]:
    """The artifacts by key, oldest first, and everything the server stores of runs as one text."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        artifacts = sorted(client.read_artifacts(), key=lambda a: str(a.created))
        runs = [*client.read_flow_runs(), *client.read_task_runs()]
    by_key: dict[str, list[Any]] = {}
    for artifact in artifacts:
        by_key.setdefault(str(artifact.key), []).append(artifact.data)
    return by_key, " ".join(one.model_dump_json() for one in [*artifacts, *runs])


def task_runs() -> list[Any]:
    """Every task run the server knows."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.read_task_runs()


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server")
def test_a_real_crawl_through_prefect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: pytest.LogCaptureFixture
) -> None:
    """A hub refresh in batches publishes, shows progress, validation and summary, and nowhere tells the token.

    30 loopback repositories and the catalogue's; a re-deriving of that snapshot through its flow finds no difference.
    """
    from pipeline.scheduled import flows
    from pipeline.sources import catalogue

    monkeypatch.setenv("HF_TOKEN", CANARY)
    with HubServer(Population(30)) as hub:
        done = flows.refresh(str(tmp_path), "hub", endpoint=hub.endpoint, batch=50)
        assert {request.token for request in hub.requests} == {CANARY}
    assert done.models == 30 + len(catalogue.load())
    assert shelf.locate(tmp_path)[0].id == done.snapshot
    again = flows.rederive(done.snapshot, str(tmp_path), batch=50)
    assert (again.ours.changed, again.not_kept) == (0, 0)
    artifacts, stored = server_knows()
    assert artifacts["atlas-progress-derive"] == [100.0, 100.0]
    rows = {row["table"]: row for row in json.loads(artifacts["atlas-validation"][0])}
    assert (rows["models"]["rows"], rows["models"]["broken"]) == (str(done.models), "none")
    assert artifacts["atlas-refresh"][0].startswith("# Snapshot")
    names = [run.name for run in task_runs()]
    assert {"list", "fetch 1 of 1", "derive 1", "derive 2"} <= set(names)
    assert {"validate", "publish", "build_guide"} <= {name.rsplit("-", 1)[0] for name in names}
    assert "fetch 1 of 1: 30 ok" in artifacts["None"]
    assert "come out the same" in artifacts["atlas-rederive"][0]
    assert CANARY not in stored
    assert CANARY not in logged.text
    assert logged.text
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server")
def test_only_what_may_pass_is_tried_again(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, logged: pytest.LogCaptureFixture
) -> None:
    """What the Hub refuses is tried again, said with its wait; a wrong endpoint is not; another writer is told."""
    from pipeline.scheduled import flows

    quick = {"retries": 1, "retry_delay_seconds": 0, "retry_jitter_factor": None}
    tries: list[str] = []
    with HubServer(Population(0)) as hub:
        hub.fail(
            "/api/models",
            Reply(401, b"", {"X-Error-Message": "Invalid credentials in Authorization header"}),
            times=None,
        )
        monkeypatch.setattr(flows, "listing", flows.listing.with_options(**quick))
        monkeypatch.setattr(Staged, "list", _counted(Staged.list, tries))
        with pytest.raises(Upstream, match="refused the token"):
            flows.refresh(str(tmp_path), "hub", endpoint=hub.endpoint)
        assert len(tries) == 2
        assert "list failed: the Hub refused the token" in logged.text or "listing failed: the Hub" in logged.text
        with pytest.raises(Usage):
            flows.refresh(str(tmp_path), "hub", endpoint="nowhere")
        assert len(tries) == 2
    monkeypatch.setattr(flows, "validate", flows.validate.with_options(retries=0))
    with durable.lock(shelf.folder(tmp_path)), pytest.raises(Busy):
        flows.refresh(str(tmp_path), str(folder))
    with pytest.raises(Usage, match="password"):
        flows.refresh(str(tmp_path), "hub", endpoint="https://me:secret@hub.example")


def _counted(function: Any, tries: list[str]) -> Any:
    def counting(*arguments: Any) -> Any:
        tries.append("")
        return function(*arguments)

    return counting


def server_events(prefix: str, many: int) -> list[tuple[str, dict[str, Any]]]:
    """The events of that name the server knows, once there are so many: they are sent by a thread."""
    from prefect.client.orchestration import get_client

    end = time.monotonic() + 60
    while True:
        wanted = {"filter": {"event": {"prefix": [prefix]}, "order": "ASC"}, "limit": 50}
        with get_client(sync_client=True) as client:
            found = client._client.post("/events/filter", json=wanted).json()["events"]
        if len(found) >= many or time.monotonic() > end:
            return [(event["resource"]["prefect.resource.id"], event["payload"]) for event in found]
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server")
def test_what_is_refused_and_a_figure_that_changed_are_events(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A figure that our rules give otherwise names model, before and after; a refusal says why; a hostile name is cut.

    Of `org/a`: embedding and head 2 x 100 x 16, each of 2 layers 4 x 16 x 16 of attention, 3 x 16 x 64 of the
    feed-forward and 2 x 16 of norms, a last norm of 16: 3,200 + 2 x 4,128 + 16 = 11,472 weights.
    """
    from pipeline.scheduled import events, flows

    monkeypatch.setattr(steps, "from_catalogue", list)
    for module in (steps, cited):
        monkeypatch.setattr(module, "reported", lambda _home: {})
    options = Options(tmp_path, str(folder), dt.date(2026, 1, 1))
    gathered = steps.gather(options)
    content = steps.tabulate(gathered)
    one_more = pl.when(pl.col("params_total") == 11_472).then(11_473).otherwise(pl.col("params_total"))
    with monkeypatch.context() as patched:
        patched.setattr(snapshot, "_judge", lambda *_: None)
        before = steps.publish(options, gathered, {**content, "designs": content["designs"].with_columns(
            one_more.alias("params_total"))}).entry.id  # fmt: skip
    done = flows.refresh(str(tmp_path), str(folder))
    changed = [payload for _, payload in server_events(events.FIGURE, 1)]
    assert changed == [
        {"model": "org/a", "figure": "params_total", "before": "11473", "after": "11472", "snapshot": done.snapshot}
    ]
    published = {payload["snapshot"]: payload["previous"] for _, payload in server_events(events.PUBLISHED, 1)}
    assert published[done.snapshot] == before
    for name in ("b", "c"):
        (folder / f"org--{name}.json").unlink()
    with pytest.raises(Invalid):
        flows.refresh(str(tmp_path), str(folder))
    refused = [payload["why"] for _, payload in server_events(events.REFUSED, 1)]
    assert ["org/b, org/c" in why and "--allow-shrink" in why for why in refused] == [True]
    assert shelf.locate(tmp_path)[0].id == done.snapshot
    assert events._plain("a\x1b[31m" + "x" * 500) == events._plain("a\x1b[31m" + "x" * 500)[: events.LENGTH]


@pytest.mark.soak
@pytest.mark.usefixtures("prefect_server")
def test_dask_derives_the_same(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local cluster of two workers re-derives a snapshot in batches, and finds no difference."""
    pytest.importorskip("prefect_dask", reason="the extra dask is not installed")
    from pipeline.scheduled import flows

    day = steps.refresh(Options(tmp_path, str(folder), DAY)).snapshot
    monkeypatch.setenv(flows.RUNNER, "dask")
    monkeypatch.setenv(flows.WORKERS, "2")
    found = flows.rederive.with_options(task_runner=flows.runner())(day, str(tmp_path), batch=50)
    assert found.ours.configs == shelf.locate(tmp_path)[0].configs
    assert found.ours.changed == 0
