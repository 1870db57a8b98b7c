"""One repository as the Hub's listing shows it: the facts worth keeping, each checked, and what they decide already."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

from atlas.stored.settings import FILES
from schemas.vocabulary import Outcome

ADAPTERS = frozenset({"peft", "adapter-transformers", "lora"})
TEXT_LENGTH = 300
LIST_LENGTH = 200


@dataclass(frozen=True)
class Entry:
    """One repository of a listing. `verdict` is its outcome where the listing alone decides it."""

    repo_id: str
    revision: str | None
    facts: dict[str, Any]
    access: str
    verdict: Outcome | None = None
    detail: str | None = None


def is_repo_id(text: str) -> bool:
    """Whether the Hub's own rules allow the id; everything else never becomes part of an address."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(text)
    except HFValidationError:
        return False
    return text.isprintable()


def entry_of(item: Any, *, authenticated: bool) -> Entry | None:
    """A listing item as an entry; None where it has no id at all."""
    if not isinstance(item, dict) or not (repo_id := _text(item.get("id"))):
        return None
    try:
        return _entry_of(repo_id, item, authenticated=authenticated)
    except Exception as error:  # noqa: BLE001 - whatever one repository's line says, the others are listed
        return Entry(repo_id, None, {}, "", Outcome.MALFORMED, f"its line cannot be read: {type(error).__name__}")


def _entry_of(repo_id: str, item: dict[str, Any], *, authenticated: bool) -> Entry:
    sha = item.get("sha")
    revision = sha if isinstance(sha, str) and re.fullmatch("[0-9a-f]{40}", sha) else None
    facts = _facts(item)
    access = orjson.dumps([facts["gated"], facts["disabled"], facts["private"], authenticated]).decode()
    verdict, detail = _verdict(repo_id, revision, facts, item, authenticated=authenticated)
    return Entry(repo_id, revision, facts, access, verdict, detail)


def _verdict(
    repo_id: str, revision: str | None, facts: dict[str, Any], item: dict[str, Any], *, authenticated: bool
) -> tuple[Outcome | None, str | None]:
    """The outcome that needs no request, and why."""
    bare = facts["model_type_hint"] is None and facts["architecture_hint"] is None
    rules = [
        (not is_repo_id(repo_id), Outcome.MALFORMED, "the id breaks the Hub's own rules"),
        (facts["private"] is True, Outcome.MISSING, "not public"),
        (facts["disabled"] is True, Outcome.DISABLED, "disabled by the Hub"),
        (facts["gated"] and not authenticated, Outcome.GATED, "gated, and there is no token"),
        (revision is None, Outcome.UNSUPPORTED, "no commit"),
        (bare and facts["library_name"] in ADAPTERS, Outcome.UNSUPPORTED, "an adapter"),
        (bare and isinstance(item.get("gguf"), dict), Outcome.UNSUPPORTED, "GGUF only"),
    ]
    return next(((outcome, detail) for holds, outcome, detail in rules if holds), (None, None))


def _facts(item: dict[str, Any]) -> dict[str, Any]:
    card, config, weights = (_mapping(item.get(key)) for key in ("cardData", "config", "safetensors"))
    tags = _texts(item.get("tags"))
    classes = _texts(config.get("architectures"))
    parameters = {
        str(_text(k)): n for k, v in _mapping(weights.get("parameters")).items() if (n := _count(v)) is not None
    }
    return {
        "author": _text(item.get("author")),
        "downloads": _count(item.get("downloads")),
        "likes": _count(item.get("likes")),
        "created_at": _text(item.get("createdAt")),
        "last_modified": _text(item.get("lastModified")),
        "gated": _text(item.get("gated")) or _flag(item.get("gated")),
        "disabled": _flag(item.get("disabled")),
        "private": _flag(item.get("private")),
        "pipeline_tag": _text(item.get("pipeline_tag")),
        "library_name": _text(item.get("library_name")),
        "tags": tags,
        "hub_params_total": _count(weights.get("total")),
        "hub_params_by_dtype": parameters,
        "base_models": base_models(card, tags),
        "base_model_relation": _text(card.get("base_model_relation")) or _relation(tags),
        "model_type_hint": _text(config.get("model_type")),
        "architecture_hint": classes[0] if classes else None,
        "quant_method_hint": _text(_mapping(config.get("quantization_config")).get("quant_method")),
        "settings_files": _settings(item.get("siblings")),
    }


def _settings(siblings: Any) -> list[str]:
    """Which files of a quantization's settings a repository has, as its list of files names them."""
    listed = siblings if isinstance(siblings, list) else []
    found = {_mapping(each).get("rfilename") for each in listed}
    return [name for name in FILES if name in found]


def base_models(card: dict[str, Any], tags: list[str]) -> list[str]:
    """The models a card names as its base: as the Hub's tags have them, which follow renames, else as written."""
    named = card.get("base_model")
    from_card = _texts(named) if isinstance(named, list) else _texts([named])
    from_tags = [tag.rpartition(":")[2] for tag in tags if tag.startswith("base_model:")]
    return list(dict.fromkeys(from_tags or from_card))


def _relation(tags: list[str]) -> str | None:
    """finetune, quantized, adapter or merge, as the Hub's own tag says."""
    found = (re.fullmatch(r"base_model:(\w+):.+", tag) for tag in tags)
    return next((match[1] for match in found if match), None)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    """A text as UTF-8 can hold it, cut at a sane length."""
    return value[:TEXT_LENGTH].encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _texts(value: Any) -> list[str]:
    texts = (_text(item) for item in value[:LIST_LENGTH]) if isinstance(value, list) else ()
    return [text for text in texts if text]


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**63 else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
