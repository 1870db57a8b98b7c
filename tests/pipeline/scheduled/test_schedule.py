"""A schedule is a deployment of the refresh flow: once at a time, with stored options and no secret."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from pipeline.cli import main
from pipeline.commands.schedule import parameters
from pipeline.errors import Usage

pytestmark = pytest.mark.filterwarnings("ignore")  # what Prefect and its libraries deprecate is not ours to mend


def test_options_become_parameters_with_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may begin in another folder: home, list file and source folder are absolute, words stay words."""
    monkeypatch.chdir(tmp_path)
    made = parameters("configs", "text-generation", 5, None, Path("names.txt"), 100, None, Path())
    assert (made["home"], made["source"], made["listed_in"]) == (
        str(tmp_path),
        f"{tmp_path}/configs",
        f"{tmp_path}/names.txt",
    )
    assert parameters("hub", "text-generation", None, None, None, None, None, Path())["source"] == "hub"


def test_every_parameter_is_the_flows_and_every_option_refreshs() -> None:
    """The flow takes what `schedule` stores, and its options are those of `refresh` that make sense every day."""
    from pipeline.commands import refresh, schedule
    from pipeline.scheduled import flows

    stored = parameters("hub", "text-generation", None, None, None, None, None, Path())
    assert set(stored) <= set(inspect.signature(flows.refresh.fn).parameters)
    ours, theirs = (set(inspect.signature(module.run).parameters) for module in (schedule, refresh))
    assert ours - theirs == {"cron", "timezone", "port"}
    assert "token" not in " ".join(stored)


def test_a_deployment_runs_once_at_a_time_and_cancels_the_second() -> None:
    """The cron and zone asked for, one run at a time, a colliding one cancelled, loaded by its module's name."""
    from pipeline.scheduled import schedule

    made = schedule.deployment("0 6 * * *", "Europe/Berlin", {"source": "hub"})
    (when,) = made.schedules or []
    assert (getattr(when.schedule, "cron", None), getattr(when.schedule, "timezone", None)) == (
        "0 6 * * *",
        "Europe/Berlin",
    )
    assert made.concurrency_limit == 1
    assert str(getattr(made.concurrency_options, "collision_strategy", None)).endswith("CANCEL_NEW")
    assert (made.entrypoint, made.parameters) == ("pipeline.scheduled.flows.refresh", {"source": "hub"})


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--cron", "every day"], "0 6 * * *"),
        (["--cron", "0 6 * * *", "--timezone", "Mars/Base"], "Mars/Base"),
        (["--cron", "0 6 * * *", "--endpoint", "https://me:secret@hub.example"], "password"),
    ],
)
def test_what_cannot_be_scheduled_is_said(options: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and a sentence, before any server starts; a password in the endpoint is not repeated."""
    assert main(["schedule", *options]) == 2
    err = capsys.readouterr().err
    assert word in err
    assert "secret" not in err


def test_a_port_that_is_taken_is_said() -> None:
    """Another server on the port: a sentence, and nothing is started."""
    import socket

    from pipeline.errors import AtlasError
    from pipeline.scheduled import schedule

    with socket.create_server(("127.0.0.1", 0)) as taken:
        start = schedule._started(taken.getsockname()[1])
        with pytest.raises(AtlasError, match="is taken"), start:
            pass


def yaml() -> dict[str, Any]:
    """The deployments of prefect.yaml."""
    import yaml as reader

    return {one["name"]: one for one in reader.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]}


@pytest.mark.parametrize("name", ["daily", "again", "pages"])
def test_the_deployments_of_prefect_yaml_fit_the_flows(name: str) -> None:
    """Each names a flow that exists, parameters it takes, a limit of one with cancelling, and telemetry off."""
    from pipeline.scheduled import flows

    one = yaml()[name]
    module, _, attribute = one["entrypoint"].rpartition(".")
    assert module == flows.__name__
    assert set(one["parameters"]) <= set(inspect.signature(getattr(flows, attribute).fn).parameters)
    assert one["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}
    assert one["work_pool"]["job_variables"]["env"] == {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    }


def test_a_wrong_endpoint_is_refused_before_it_is_stored() -> None:
    """The deployment of an endpoint with a password is never made."""
    from pipeline.scheduled import schedule

    with pytest.raises(Usage, match="password"):
        schedule.deployment("0 6 * * *", "UTC", {"endpoint": "https://me:secret@hub.example"})


@pytest.mark.parametrize("options", [("--source", "nowhere"), ("--list", "nowhere.txt")])
def test_what_would_fail_at_every_run_is_refused_now(
    options: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder or a list that is not there ends with 8 before Prefect is started."""
    monkeypatch.chdir(tmp_path)
    assert main(["schedule", "--cron", "0 6 * * *", *options]) == 8
    assert options[0] in capsys.readouterr().err
