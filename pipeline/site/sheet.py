"""The sheet of one design: who vouches for it, the drawing, cache, weights, layers, models, neighbours, evidence."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from pipeline.drawing import curve
from pipeline.site import words
from pipeline.site.gather import About, Design, Detail, Row, licence, shares
from pipeline.site.html import cell, esc, fold, link, section, table
from pipeline.site.shell import Page
from pipeline.site.words import Near
from pipeline.units import binary, scaled

HUB = "https://huggingface.co/"
ARXIV = "https://arxiv.org/abs/"
MOST_MODELS = 200
_CONTEXTS = (4096, 32768, 131072, 1048576)


def path(d: Design, ending: str = "html") -> str:
    """Where a file of a design stands: its digest is the only part of a name that is not ours."""
    return f"designs/{d.design_id}.{ending}"


def page(d: Design, of: Detail, about: About, near: list[Near], history: list[str], *, is_drawn: bool) -> Page:
    """The sheet as a page."""
    said = [section("drawing", "Architecture", _drawing(d, is_drawn=is_drawn)), *_sections(d, of, near, history)]
    body = "".join([*said, section("cite", "Cite and links", _cite(d, about, is_drawn=is_drawn))])
    lead = f'<p class="lead">{esc(words.sentence(d))}.</p>{_verdict(d)}'
    crumbs = (("index.html", "Atlas"), ("designs.html", "Drawings"))
    return Page(path(d), d.name, body, crumbs, data=f"{d.design_id}.json", lead=lead)


def _sections(d: Design, of: Detail, near: list[Near], history: list[str]) -> Iterator[str]:
    if d.has_cache:
        yield section("cache", "Cache over context", _cache(d))
    yield section("weights", "Where the weights are", _shares(d))
    yield section("layers", "Layers", _layers(d, of))
    yield section("models", "Models of this design", _models(d.models))
    yield section("nearest", "Nearest designs", _nearest(d, near))
    yield section("checks", "Against the checkpoint", _checks(d))
    yield section("evidence", "Evidence", _evidence(d, of))
    yield section("history", "History", "<ul>" + "".join(f"<li>{esc(h)}</li>" for h in history) + "</ul>")


def _verdict(d: Design) -> str:
    """Which independent witnesses agree, before anything else is said."""
    agree = [c for c in d.checks if c["result"] == "exact"]
    off = [c for c in d.checks if c["result"] == "off"]
    verdicts = sorted({m["verdict"] for m in d.models})
    said = [f"Verdict {', '.join(verdicts)}."]
    said.append(
        f"{len(agree)} of {len(d.checks)} independent totals agree to the weight."
        if d.checks
        else "No independent total was at hand: unchecked."
    )
    said += [f"{len(off)} disagree: see below."] * bool(off)
    kinds = sorted({c["kind"].replace("_", " ") for c in agree})
    said += [f"Witnesses: {', '.join(kinds)}."] * bool(kinds)
    mark = "off" if off else "exact" if agree else "unchecked"
    return f'<p class="verdict {mark}">{esc(" ".join(said))} <a href="#checks">Figures</a></p>'


def _drawing(d: Design, *, is_drawn: bool) -> str:
    if not is_drawn:
        return "<p>There is no drawing: today's rules no longer give the structure that the snapshot holds.</p>"
    alt = f"Architecture of {d.name}: {words.sentence(d)}. Every part is said in the table of layers and in the file."
    image = f'<img class="drawing" src="{d.design_id}.svg" alt="{esc(alt)}" width="448">'
    signs = link("../legend.html", "What the signs say")
    return f"<figure>{image}<figcaption>Drawn from the exact structure. {signs}</figcaption></figure>"


def _cache(d: Design) -> str:
    f = d.facts
    sizes = [d.bytes_at(c) for c in curve.CONTEXTS]
    drawn = curve.draw(
        [curve.Line(d.name, sizes)], f["max_context"], f"Bytes of one sequence of {d.name} over its context"
    )
    rows = [(f"{c:,}", binary(d.bytes_at(c)), binary(d.bytes_at(c, 1))) for c in _CONTEXTS]
    shown = table(("Tokens", "bf16", "fp8"), rows, "Cache at four contexts", (0, 1, 2))
    note = (
        '<p class="note">Logical bytes of cache and states as the model keeps them, without an engine\'s reserve.</p>'
    )
    return slider(d) + f'<figure class="curve">{drawn}</figure>' + shown + note


def slider(d: Design) -> str:
    """Controls that a script turns into bytes by the rows of `states` alone; hidden where there is no script."""
    states = msgspec.json.encode([(s.repeats, s.elements, s.stride, s.window, s.width) for s in d.states]).decode()
    most = d.facts["max_context"] or 0
    return f'<div class="slider" data-states="{esc(states)}" data-most="{most}" hidden></div>'


def _shares(d: Design) -> str:
    found = shares(d.facts)
    bars = "".join(
        f'<span class="bar s{n % 8}" style="width:{100 * s:.2f}%"></span>' for n, (_, _, s) in enumerate(found)
    )
    rows = [
        (f'<span class="key s{n % 8}"></span>{esc(c.replace("_", " "))}', f"{p:,}", f"{100 * s:.2f} %")
        for n, (c, p, s) in enumerate(found)
    ]
    apart = [(k, d.facts[f"params_{k}"]) for k in ("mtp", "towers", "buffers") if d.facts.get(f"params_{k}")]
    rows += [(f"apart: {esc(k)}", f"{n:,}", "") for k, n in apart]
    return f'<div class="shares" aria-hidden="true">{bars}</div>' + table(
        ("Component", "Weights", "Share"), rows, "Weights by component", (1, 2)
    )


def _layers(d: Design, of: Detail) -> str:
    pattern = f"<p><code>{esc(d.facts['layer_pattern'])}</code></p>"
    rows = [_layer(r) for r in of.layers[:400]]
    head = (
        "First layer",
        "Layers",
        "Mixer",
        "Heads",
        "KV heads",
        "Width",
        "Window",
        "Bytes per held token",
        "Network",
        "Weights",
    )
    return pattern + table(head, rows, "Runs of layers", (0, 1, 3, 4, 5, 6, 7, 9))


def _layer(r: Row) -> tuple[str, ...]:
    every = f" + {r['stride']}k" if r["repeats"] > 1 and r["stride"] > 1 else ""
    mixer = str(r["mixer"]).replace("_", " ")
    kept = None if r["kv_bytes_per_held_token"] is None else float(r["kv_bytes_per_held_token"])
    return (
        f"{r['first_index']}{every}", cell(r["repeats"]), esc(mixer), cell(r["n_q_heads"]), cell(r["n_kv_heads"]),
        cell(r["head_dim"]), cell(r["window"]), cell(kept), esc(r["ffn"]), cell(r["params"]),
    )  # fmt: skip


def _models(models: list[Row]) -> str:
    rows = [
        (
            f'<a href="{hub(m)}" rel="noopener">{esc(m["repo_id"])}</a>', cell(m["dtype"]), cell(m["quant_method"]),
            binary(m["weight_bytes_checkpoint"]) if m["weight_bytes_checkpoint"] else cell(None),
            cell(m["max_context"]), cell(m["rope_theta"]), cell(licence(m)),
            cell(m["created_at"].date().isoformat() if m["created_at"] else None),
        )
        for m in models[:MOST_MODELS]
    ]  # fmt: skip
    head = ("Model", "Type", "Quantization", "As stored", "Context", "RoPE base", "Licence", "On the Hub since")
    rest = (
        f"<p>and {len(models) - MOST_MODELS:,} more: the table of models has them.</p>"
        if len(models) > MOST_MODELS
        else ""
    )
    return table(head, rows, "Models of this design", (3, 4, 5)) + rest


def hub(m: Row) -> str:
    """The page of a repository on the Hub; whatever its name is made of stays inside the path."""
    return HUB + quote(m["repo_id"], safe="/")


def _nearest(d: Design, near: list[Near]) -> str:
    items = [
        f"<li>{link(o.design_id + '.html', o.name)}: {esc(o.differs)} "
        f'<a href="../compare.html#d={d.design_id},{o.design_id}">Compare</a></li>'
        for o in near
    ]
    return f"<ul>{''.join(items)}</ul>" if items else "<p>No other design is in this snapshot.</p>"


def _checks(d: Design) -> str:
    rows = [
        (
            esc(c["repo_id"]),
            esc(c["kind"].replace("_", " ")),
            cell(c["expected"]),
            cell(c["derived"]),
            esc(c["result"]),
            cell(c["note"]),
        )
        for c in d.checks[:MOST_MODELS]
    ]
    made = (
        table(("Model", "Witness", "Says", "Derived", "Result", "Note"), rows, "Totals held against ours", (2, 3))
        if rows
        else "<p>No total of a checkpoint or a publication was at hand for a model of this design.</p>"
    )
    told = [
        (esc(x["tool"]), esc(x["field"]), esc(x["theirs"]), esc(x["ours"]), esc(x["explanation"]))
        for x in d.disagreements[:50]
    ]
    if told:
        made += fold(
            f"{len(d.disagreements)} disagreements with other tools",
            table(("Tool", "Field", "Theirs", "Ours", "Why"), told, "Disagreements with other tools"),
        )
    return made


def _evidence(d: Design, of: Detail) -> str:
    rows = [
        (f"<code>{esc(e['field'])}</code>", f"<code>{esc(e['value'])}</code>", esc(e["origin"]), esc(e["source"]))
        for e in of.evidence
    ]
    made = fold(
        f"Every value of {d.name} and where it comes from ({len(rows)})",
        table(("Field", "Value", "Origin", "Source"), rows, "Evidence"),
    )
    unread = (
        f"<p>Keys that nothing reads: {esc(', '.join(of.unread))}.</p>"
        if of.unread
        else "<p>Every key of the config is read, or known to say nothing.</p>"
    )
    said = [
        (esc(r["repo_id"]), esc(r["fact"]), esc(r["value"]), esc(r["unit"]), esc(r["citation"])) for r in d.reported
    ]
    reported = (
        fold(
            f"Reported, not derived ({len(said)})",
            table(("Model", "Fact", "Value", "Unit", "Citation"), said, "Reported facts"),
        )
        if said
        else ""
    )
    return made + unread + reported


def _cite(d: Design, about: About, *, is_drawn: bool) -> str:
    made_of = f"snapshot {about.snapshot}, atlas {about.code_version}"
    cited = f"LLM architecture atlas, design {d.design_id} ({d.name}), {made_of}."
    papers = sorted({p for r in d.reported for p in _papers(r["citation"])})
    links = [f'<a href="{hub(m)}" rel="noopener">{esc(m["repo_id"])} on the Hub</a>' for m in d.models[:3]]
    links += [f'<a href="{ARXIV}{p}" rel="noopener">arXiv {p}</a>' for p in papers]
    links.append(f'<a href="{d.design_id}.json">this sheet as JSON</a>')
    links += [f'<a href="{d.design_id}.svg">the drawing as SVG</a>'] * is_drawn
    return f'<p class="cite"><code>{esc(cited)}</code></p><ul>' + "".join(f"<li>{x}</li>" for x in links) + "</ul>"


def _papers(citation: str) -> list[str]:
    import re

    return re.findall(r"\b(\d{4}\.\d{4,5})\b", citation)


def card(d: Design, *, is_drawn: bool) -> str:
    """A design in the gallery."""
    total = scaled(d.facts["params_total"]) if d.facts["params_total"] else ""
    image = f'<img loading="lazy" src="designs/{d.design_id}.svg" alt="" width="448">' if is_drawn else ""
    said = f"<small>{esc(total)}, {esc(words.mixers(d.facts))}</small>"
    return f'<li><a href="{path(d)}">{image}<span>{esc(d.name)}</span></a>{said}</li>'
