"""The class that a config names: a family describes the classes on its list and no other, whatever a name ends in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlas.refusal import Refused, bad_value, shown
from schemas.vocabulary import RefusalKind

if TYPE_CHECKING:
    from atlas.families.rules import Family
    from atlas.parse import Raw


def named(data: Raw) -> str | None:
    """The first entry of `architectures`, or None where there is none; raises `Refused` where it is no name."""
    stated: Any = data.get("architectures")
    if not stated:
        return None
    first: Any = stated[0] if isinstance(stated, list) else stated  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(first, str):
        raise bad_value("architectures", stated, "a list of class names")  # pyright: ignore[reportUnknownArgumentType]
    return first


def remote(data: Raw) -> dict[str, str]:
    """The model classes that a repository's own code defines, by the auto class that loads them."""
    stated: Any = data.get("auto_map")
    if not isinstance(stated, dict):
        return {}
    found: dict[str, str] = {}
    for auto, path in stated.items():  # pyright: ignore[reportUnknownVariableType]
        if isinstance(auto, str) and auto.startswith("AutoModel") and isinstance(path, str):
            found[auto] = path.rpartition(".")[2]
    return found


LANGUAGE = (
    "AutoModel",
    "AutoModelForCausalLM",
    "AutoModelForSeq2SeqLM",
    "AutoModelForMaskedLM",
    "AutoModelForImageTextToText",
    "AutoModelForVision2Seq",
)
"""Auto classes that load a language model; a classifier beside it is another checkpoint's class."""


def checked(data: Raw, rules: Family) -> None:
    """Raise `Refused` (unknown_class) where a class is named that these rules do not describe."""
    cls = named(data)
    if cls is not None and cls not in rules.class_names:
        raise _unlisted(cls, said(data, rules))
    own = remote(data) if "auto_map" in data else {}
    if cls in own.values():
        return
    for auto, each in own.items():
        if auto in LANGUAGE and each not in rules.class_names:
            raise Refused(
                RefusalKind.UNKNOWN_CLASS,
                f"auto_map gives {auto} the class {shown(each)}, which is none of those that the rules of "
                f"{said(data, rules)} describe",
            )


def _unlisted(cls: str, family: str) -> Refused:
    reason = f"the class {shown(cls)} is none of those that the rules of {family} describe"
    return Refused(RefusalKind.UNKNOWN_CLASS, reason)


def adapter_of(data: Raw) -> str | None:
    """What an adapter's own config says of itself, as a sentence; None where this is no adapter's."""
    of_class = data.get("model_class")
    if isinstance(of_class, str) and isinstance(data.get("config"), dict) and not data.get("architectures"):
        base = data.get("model_name")  # of the library `adapters`, whose files state the model's type and width too
        named = f"; it belongs to {base[:120]}" if isinstance(base, str) and base else ""
        return f"an adapter of {of_class[:60]}, which has no architecture of its own{named}"
    if data.get("model_type") is not None or not isinstance(data.get("peft_type"), str):
        return None
    base, rank = data.get("base_model_name_or_path"), data.get("r")
    of = f" of rank {rank}" if type(rank) is int and 0 < rank < 1 << 20 else ""
    named = f"; it belongs to {base[:120]}" if isinstance(base, str) and base else ""
    return f"an adapter ({data['peft_type'][:40]}{of}), which has no architecture of its own{named}"


def heads_of(data: Raw) -> str | None:
    """What a file of Medusa's or Hydra's heads says of itself: their widths are those of a model it only names."""
    name = next((n for n in ("medusa", "hydra") if data.get(f"{n}_num_heads") is not None), None)
    if name is None:
        return None
    base = data.get("base_model_name_or_path")
    of = base[:120] if isinstance(base, str) and base else "a model that is not named"
    return f"{name}_num_heads: drafting heads on {of}, whose width and vocabulary are needed and not in this file"


def model_type_of(data: Raw) -> str:
    """The stated model_type; raises `Refused`."""
    stated = data.get("model_type")
    adapter = adapter_of(data)
    if adapter is not None:
        raise Refused(RefusalKind.ADAPTER, adapter)
    if stated is None and (heads := heads_of(data)) is not None:
        raise Refused(RefusalKind.MISSING_KEY, heads)
    if stated is None:
        raise Refused(
            RefusalKind.MISSING_KEY, "model_type is needed and not in the config: nothing says which family this is"
        )
    if not isinstance(stated, str):
        raise Refused(RefusalKind.BAD_VALUE, f"model_type is {shown(stated)}, but must be a text")
    return stated


def said(data: Raw, rules: Family) -> str:
    """The model_type to show: the stated one, else the family that the class named."""
    return model_type_of(data) if data.get("model_type") is not None else rules.model_type
