"""`make news`: our caches and totals beside what the field states, from reference data beside the checkout.

The gallery's cards with a config at hand are equal, different with a reason, or refused with a reason. Rows of the
public catalogue count where one named formula of one design of their layers, width and vocabulary gives their total.
The result is written to `pipeline/sources/news.json`, which ships. A card without a reason ends the run with 1.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from news_reasons import reason, same, shown
from news_totals import Design, designs_of, fitting

from atlas.assume import beyond
from atlas.derived import Derived
from atlas.families.loader import known
from atlas.interpret import derive
from pipeline.sources import catalogue

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHARED = ROOT.parent / "shared"
WRITTEN = ROOT / "pipeline" / "sources" / "news.json"
MEASURES = {
    "all windows filling": lambda f: f.kv_bytes_per_token_first,
    "once every window is full": lambda f: f.kv_bytes_per_token,
    "once every window is full, with the index": lambda f: f.kv_bytes_per_token + f.index_bytes_per_token,
}
"""What a card may state of a cache, in the order tried."""


def configs() -> dict[str, bytes | dict[str, Any]]:
    """Every config at hand by repository: the shared files', and the catalogue's."""
    found: dict[str, Any] = {e.repo: e.raw for e in catalogue.load()}
    for folder in ("hub/configs", "news/configs"):
        for file in sorted((SHARED / folder).glob("*.json")):
            found[file.stem.replace("--", "/", 1)] = file.read_bytes()
    return found


def cards(at_hand: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per card with a config at hand."""
    with (SHARED / "news" / "gallery.tsv").open(encoding="utf-8", newline="") as file:
        for card in csv.DictReader(file, delimiter="\t"):
            raw = at_hand.get(card["repo"])
            stated = card["kv_per_token_bf16"]
            if raw is not None and stated[:1].isdigit():
                yield held(card["title"], card["repo"], stated, derive(raw, name=card["repo"]))


def held(title: str, repo: str, stated: str, d: Derived) -> dict[str, Any]:
    """A card beside ours."""
    row: dict[str, Any] = {"card": title, "repo": repo, "theirs": stated}
    if d.model is None:
        return {**row, "ours": None, "outcome": "refused", "why": d.fingerprint.refusal_reason}
    f = d.fingerprint
    for name, measure in MEASURES.items():
        if same(measure(f), stated):
            return {**row, "ours": f"{shown(measure(f), stated)} KiB", "outcome": "equal", "why": name}
    why = reason(title, d, stated)
    return {**row, "ours": f"{shown(f.kv_bytes_per_token_first or 0, stated)} KiB", "outcome": "different", "why": why}


def totals(at_hand: dict[str, Any]) -> dict[str, Any]:
    """How many rows of the public catalogue a formula of a design at hand gives, by formula and by family."""
    designs: dict[tuple[Any, ...], list[Design]] = {}
    for repo, raw in at_hand.items():
        for design in designs_of(derive(raw, name=repo), raw):
            designs.setdefault(design.key, []).append(design)
    formulas, families, rows = Counter[str](), Counter[str](), list[dict[str, str]]()
    packed = next((SHARED / "hub" / "api").glob("llmfit-*-hf_models.tsv.gz"))
    with gzip.open(packed, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        found = fitting(row, designs)
        if found is not None:
            formulas[found] += 1
            families[row["architecture"]] += 1
    downloads = Counter[bool]()
    others = Counter[str]()
    for row in rows:
        downloads[known(row["architecture"])] += int(row["hf_downloads"] or 0)
        if (other := beyond(row["architecture"])) is not None:
            others[other] += 1
    return {
        "rows": len(rows),
        "rows_of_other_kinds": dict(others.most_common()),
        "rows_with_a_family": sum(known(r["architecture"]) for r in rows),
        "downloads_with_a_family": round(downloads[True] / sum(downloads.values()), 4),
        "equal_by_a_formula": sum(formulas.values()),
        "formulas": dict(formulas.most_common()),
        "families": dict(families.most_common(20)),
    }


def shares(public: dict[str, Any]) -> str:
    """The two shares of repositories with a row: of all, and of those whose model_type can be a language model's."""
    n, held, others = public["rows"], public["rows_with_a_family"], public["rows_of_other_kinds"]
    rest = n - sum(others.values())
    named = ", ".join(f"{count} {kind}" for kind, count in others.items())
    return (
        f"a row for {held / n:.2%} of all repositories, {held / rest:.2%} of those that can be language models"
        f" ({n - rest:,} are none by their model_type: {named})"
    )


def main() -> None:
    """Make the table, write it, and say how it stands."""
    if not SHARED.is_dir():
        raise SystemExit("the reference data is not beside the checkout: nothing to compare with")
    at_hand = configs()
    gallery, public = list(cards(at_hand)), totals(at_hand)
    body = ",\n".join(json.dumps(row, ensure_ascii=False) for row in gallery)
    head = {"measured_on": datetime.now(UTC).date().isoformat(), "totals": public}
    WRITTEN.write_text(f'{json.dumps(head)[:-1]},\n"cards": [\n{body}\n]}}\n', "utf-8")
    outcomes = Counter(row["outcome"] for row in gallery)
    print(f"{len(gallery)} cards with a config at hand: " + ", ".join(f"{n} {o}" for o, n in outcomes.most_common()))
    for row in gallery:
        if row["outcome"] != "equal":
            print(f"    {row['card']}: {row['theirs']} there, {row['ours']} here: {row['why']}")
    print(json.dumps(public, indent=1))
    print(shares(public))
    if any(row["why"] is None for row in gallery):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
