"""Independent checks of the rows of a refresh: what the library measured, people counted, files and a Hub say.

Each takes the tables as rows and gives the first contradiction it sees, or nothing. None of them uses the derivation,
a digest, a type or a closed set.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from oracle import compared
from places import FIXTURES

from atlas.numbers.fingerprint import Fingerprint
from schemas.fields import FINGERPRINT

Row = dict[str, Any]
Tables = Mapping[str, list[Row]]
KNOWN: dict[str, Any] = tomllib.loads((FIXTURES / "known.toml").read_text("utf-8"))
"""Counted by hand or stated by a cited source: by table and repository, a row or several."""

LISTED_NAMES = {
    "author": "author", "created_at": "createdAt", "last_modified": "lastModified", "downloads": "downloads",
    "likes": "likes", "gated": "gated", "disabled": "disabled", "private": "private", "pipeline_tag": "pipeline_tag",
    "library_name": "library_name", "tags": "tags", "revision": "sha",
}  # fmt: skip
"""Columns of `models`, and what a listing calls them."""


class Sources(NamedTuple):
    """What the tables were made from: every repository's config, what the Hub listed, and the reference records."""

    files: Mapping[str, bytes]
    listed: Mapping[str, Mapping[str, Any]]
    records: Mapping[str, Mapping[str, Any]]


def joined(tables: Tables, repos: Collection[str]) -> dict[str, Row]:
    """The view `fingerprints` of these repositories, put together from the tables' rows."""
    configs = {r["config_id"]: r for r in tables["configs"]}
    designs = {r["design_id"]: r for r in tables["designs"]}
    refusals = {r["config_id"]: r for r in tables["refusals"]}
    results: dict[str, set[str]] = {}
    for r in tables["checks"]:
        results.setdefault(r["repo_id"], set()).add(r["result"])
    made: dict[str, Row] = {}
    for model in tables["models"]:
        config = configs.get(model["config_id"])
        if config is None or model["repo_id"] not in repos:
            continue
        design, refusal = designs.get(config["design_id"], {}), refusals.get(config["config_id"], {})
        checked = results.get(model["repo_id"], set())
        special = {
            "check": next((w for w in ("off", "exact") if w in checked), "unchecked"),
            "refusal_kind": refusal.get("kind"),
            "refusal_reason": refusal.get("reason"),
        }
        homes = {"models": model, "configs": config, "designs": design}
        made[model["repo_id"]] = {
            f.name: special[f.name] if f.name in special else _plain(homes[f.home].get(f.name), f.kind)
            for f in FINGERPRINT
        }
    return made


def _plain(value: Any, kind: str) -> Any:
    """A map as a dict; it is a list of pairs in a frame."""
    if kind not in ("counts", "words") or value is None:
        return value
    return {pair["key"]: pair["value"] for pair in value}


def reference(tables: Tables, sources: Sources) -> Iterator[str]:
    """What the library's own modules have otherwise: weights by component, ties, cache."""
    rows = joined(tables, sources.records)
    for name, record in sources.records.items():
        row = rows.get(name)
        if row is None:
            yield f"{name} is gone"
        elif row["params_total"] is not None:
            yield from (f"{name}: {difference}" for difference in _compared(row, record))


def _compared(row: Row, record: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        return compared(Fingerprint(**row), dict(record))
    except TypeError as error:  # a number that is gone cannot be added
        return (str(error),)


BY_ROWS = (
    *("configs", "layers", "parameters", "states", "stored", "refusals", "features", "constants"),
    *("checks", "reported", "disagreements", "measurements"),
)
"""Tables of which single rows are known."""


def counted(tables: Tables, sources: Sources) -> Iterator[str]:
    """What was counted by hand, or a source states, otherwise than the rows."""
    rows = {
        "fingerprints": joined(tables, KNOWN["fingerprints"]),
        "models": {r["repo_id"]: r for r in tables["models"]},
    }
    for table, found in rows.items():
        for repo, known in KNOWN[table].items():
            yield from _differing(f"{table} {repo}", known, found.get(repo))
    keys = {r["repo_id"]: (r["repo_id"], r["config_id"]) for r in tables["models"]}
    designs = {r["config_id"]: r["design_id"] for r in tables["configs"]}
    for table in BY_ROWS:
        for repo, wanted in KNOWN.get(table, {}).items():
            repo_id, config = keys.get(repo, (repo, None))
            ids = {"config_id": config, "design_id": designs.get(config), "repo_id": repo_id, "subject": repo}
            key = next(k for k in ids if k in tables[table][0])
            wanted_id = config if table == "stored" else ids[key]  # its subject is the config that says so
            held = [r for r in tables[table] if r[key] == wanted_id]
            yield from _missing(f"{table} {repo}", wanted, held)
    configs = {r["config_id"]: r for r in tables["configs"]}
    for repo, wanted in KNOWN["evidence"].items():
        config = keys.get(repo, (repo, None))[1]
        yield from _missing(f"evidence {repo}", wanted, configs[config]["evidence"] if config in configs else [])
    yield from _unaccounted(tables["measurements"])


def _missing(where: str, wanted: list[Row], held: list[Row]) -> Iterator[str]:
    for known in wanted:
        if not any(not list(_differing("", known, r)) for r in held):
            yield f"{where}: no row has {known}"


ANSWERS = ("configs", "answered", "no answer", "refused")
"""What is counted of the configs that a tool was asked about."""


def _unaccounted(rows: list[Row]) -> Iterator[str]:
    """Of the configs that a tool was asked about each was answered or not; what we refuse may be either."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        if row["unit"] == "configs" and (row["value"] or 0.5) % 1:
            yield f"measurements {row['quantity']}: {row['value']} is no number of configs"
        what, _, said = row["quantity"].partition(": ")
        sums = found.setdefault(
            (row["subject"], what), dict.fromkeys(("configs", "answered", "no answer", "refused"), 0)
        )
        kind = next((k for k in sums if said.startswith(k)), None)
        if kind:
            sums[kind] += row["value"] or 0
    for key, n in found.items():
        if not 0 <= n["configs"] - n["answered"] - n["no answer"] <= n["refused"]:
            yield f"measurements {key}: {n} does not add up"


def _differing(where: str, known: Row, row: Row | None) -> Iterator[str]:
    if row is None:
        yield f"{where} is gone"
        return
    wanted = {k: v for k, v in known.items() if k != "null"} | dict.fromkeys(known.get("null", []))
    for column, value in wanted.items():
        if not _same(row[column], value):
            yield f"{where}: {column} is {row[column]!r}, known {value!r}"


def _same(found: Any, known: Any) -> bool:
    """Equal and of one sort; what is no whole number, to twelve digits."""
    if isinstance(found, float) and isinstance(known, float):
        return math.isclose(found, known, rel_tol=1e-12)
    return found == known and isinstance(found, bool) == isinstance(known, bool)


def listing(tables: Tables, sources: Sources) -> Iterator[str]:
    """What the listing of a Hub with known repositories says otherwise."""
    rows = {r["repo_id"]: r for r in tables["models"]}
    for repo, item in sources.listed.items():
        row = rows.get(repo)
        if row is None:
            yield f"{repo} is gone"
            continue
        wanted = {column: item[name] for column, name in LISTED_NAMES.items()} | item["also"]
        for column, value in wanted.items():
            found = row[column]
            if column in ("created_at", "last_modified"):
                found = None if found is None else found.isoformat(timespec="milliseconds") + "Z"
            if found != (str(value).lower() if column == "gated" else value):
                yield f"{repo}: {column} is {found!r}, listed {value!r}"


STATED = {"model_type": "model_type", "dtype": "torch_dtype"}
"""Columns of a config that repeat a key of the file."""


def files(tables: Tables, sources: Sources) -> Iterator[str]:
    """What the published files state otherwise: the text, its length, keys that are repeated, and evidence by key."""
    configs = {r["config_id"]: r for r in tables["configs"]}
    for model in tables["models"]:
        raw, row = sources.files.get(model["repo_id"]), configs.get(model["config_id"])
        if raw is None or row is None:
            if (raw is None) != (row is None):
                yield f"{model['repo_id']}: its config is gone, or was never there"
            continue
        kept = row["raw"].encode() if row["raw"] is not None else row["raw_bytes"]
        if (kept, row["size_bytes"]) != (raw, len(raw)) or (row["raw"] and row["raw_bytes"]):
            yield f"{model['repo_id']}: the text is another"
        elif row["design_id"] is not None:
            yield from (f"{model['repo_id']}: {said}" for said in _stated(row, json.loads(raw)))


def _stated(row: Row, config: Row) -> Iterator[str]:
    """Evidence that repeats a key of the file, and keys nobody read."""
    for column, key in STATED.items():
        if key in config and row[column] != config[key]:
            yield f"{column} is {row[column]!r}, the file states {config[key]!r}"
    explicit = [e for e in row["evidence"] if e["origin"] == "explicit"]
    if not explicit:
        yield "nothing is explicit, not even a layer count"
    for entry in explicit:
        held = _under(config, entry["source"])
        if json.loads(entry["value"]) != held and entry["source"] in config:
            yield f"{entry['source']} is {entry['value']}, the file states {held!r}"
        if entry["source"] not in config and held is None:
            yield f"{entry['source']} is no key of the file"
    yield from (f"unread {key} is no key of the file" for key in row["unread"] if _under(config, key) is None)


def _under(config: Row, key: str) -> Any:
    found: Any = config
    for step in key.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


WITNESSES = {
    "the library's modules": reference,
    "counted or cited": counted,
    "the Hub's listing": listing,
    "the file": files,
}
"""In the order they are asked; the rules across columns of `schemas/checks.py` come last."""
