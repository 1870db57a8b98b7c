"""`make peers`: our figures for the configs of aiconfigurator-core beside those of other tools, differences explained.

The tools are installed, for the comparison only, into an environment of their own within the one that runs this. The
result is written to `pipeline/sources/peers.json`, which ships; the configs are not kept. A difference nothing explains
ends the run with 1, as does a config count below what the project promises.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from peers_reasons import BY_FAMILY, Case, cache, case, weights

from atlas.interpret import derive

PINNED = {
    "aiconfigurator-core": "0.12.0",
    "kvfit": "0.3.0",
    "hf-mem": "0.5.6",
    "llmviz": "0.1.1",
    "modelinfo-cli": "1.4.4",
    "vramscout": "0.7.0",
}
HOLDS_CONFIGS = "aiconfigurator-core"
LEAST_DERIVED = 85
HERE = Path(__file__).parent
WRITTEN = HERE.parents[1] / "pipeline" / "sources" / "peers.json"
Row = tuple[str, str, str, int | None, int | None, str | None]


def environment() -> Path:
    """The interpreter of the tools' environment, made on first use."""
    folder = Path(sys.prefix) / "peers"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    return python


def install(python: Path) -> dict[str, str]:
    """Install each tool; those that pip cannot install are left out, with pip's last word on standard error."""
    installed: dict[str, str] = {}
    for tool, version in PINNED.items():
        command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{tool}=={version}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            installed[tool] = version
        else:
            print(f"{tool} {version} could not be installed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return installed


def probe(python: Path, tools: list[str]) -> dict[str, dict[str, Any]]:
    """What every tool says of every config."""
    done = subprocess.run(
        [str(python), str(HERE / "peers_probe.py"), *tools], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def rows(name: str, said: dict[str, Any], tools: list[str]) -> list[Row]:
    """One row per tool and figure: model, tool, figure, theirs, ours, explanation where they differ."""
    config = json.loads(Path(said["path"]).read_bytes())
    derived = derive(config, name=name)
    ours, refused = case(config, derived) if derived.model else None, derived.fingerprint.refusal_reason
    return [
        _row(name, tool, figure, said[tool], ours, refused)
        for tool in tools
        for figure in ("params_total", "kv_bytes_128k")
        if figure != "params_total" or tool == "llmviz"
    ]


def _row(name: str, tool: str, figure: str, said: dict[str, Any], ours: Case | None, refused: str | None) -> Row:
    theirs = said.get(figure)
    if ours is None:
        return name, tool, figure, theirs, None, f"refused here: {refused}"
    own = getattr(ours.found, figure)
    if theirs is None:
        return name, tool, figure, None, own, _shortened(said["error"], name)
    return name, tool, figure, theirs, own, None if theirs == own else explained(ours, tool, figure, theirs)


def _shortened(error: str, name: str) -> str:
    """The first sentence of an error, without names of models and files, and without what the network said."""
    said = re.sub(r"\S*/config\.json", "the file", error)
    said = said.splitlines()[0].replace(f"'{name}'", "the model").replace(name, "the model")
    return f"no answer: {said.partition(': <')[0].partition(' (model_type')[0]}"


def explained(ours: Case, tool: str, figure: str, theirs: int) -> str | None:
    """The explanation; None where there is none."""
    if figure == "kv_bytes_128k":
        why = cache(ours, theirs)
        reserved = why is not None and tool == "hf-mem" and "have a window" in why
        return f"{why}; the tool says that it means what engines reserve" if reserved else why
    return weights(ours, theirs) or BY_FAMILY.get(ours.config["model_type"])


def is_unexplained(row: Row) -> bool:
    """A difference without a reason."""
    return row[3] != row[4] and row[5] is None


def write(found: list[Row], tools: dict[str, str]) -> None:
    """Write the table compactly: one row per line, each explanation once."""
    words = sorted({r[5] for r in found if r[5] is not None})
    lines = [[*r[:5], None if r[5] is None else words.index(r[5])] for r in found]
    head = {
        "measured_on": datetime.now(UTC).date().isoformat(),
        "context": 131_072,
        "tools": tools,
        "columns": ["model", "tool", "figure", "theirs", "ours", "explanation"],
    }
    body = ",\n".join(json.dumps(line) for line in lines)
    texts = json.dumps(words, indent=0, ensure_ascii=False)
    WRITTEN.write_text(f'{json.dumps(head)[:-1]},\n"explanations": {texts},\n"rows": [\n{body}\n]}}\n', "utf-8")


def report(found: list[Row], tools: dict[str, str]) -> None:
    """Per tool and figure: answered, equal to ours, and how often each explanation."""
    for tool, version in tools.items():
        for figure in ("params_total", "kv_bytes_128k"):
            mine = [r for r in found if r[1] == tool and r[2] == figure]
            answered = [r for r in mine if r[3] is not None]
            if mine:
                equal = sum(r[3] == r[4] for r in answered)
                print(f"{tool} {version}, {figure}: {len(answered)} of {len(mine)} answered, {equal} equal to ours")
                for why, n in Counter(r[5] for r in mine if r[5]).most_common():
                    print(f"    {n:>3} {why}")


def main() -> None:
    """Make the table, write it, and say how it stands."""
    python = environment()
    tools = install(python)
    if HOLDS_CONFIGS not in tools:
        raise SystemExit(f"{HOLDS_CONFIGS} holds the configs, and could not be installed")
    found = [r for name, said in probe(python, list(tools)).items() for r in rows(name, said, list(tools))]
    report(found, tools)
    wrong = [r for r in found if is_unexplained(r)]
    for r in wrong:
        print(f"unexplained: {r[0]} {r[1]} {r[2]}: {r[3]:,}, ours {r[4]:,}")
    models = {r[0] for r in found}
    derived = {r[0] for r in found if r[4] is not None}
    print(f"{len(derived)} of {len(models)} configs derived here; {len(wrong)} differences without an explanation")
    write(found, tools)
    raise SystemExit(1 if wrong or len(derived) < LEAST_DERIVED else 0)


if __name__ == "__main__":
    main()
