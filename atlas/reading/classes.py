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
        raise _unlisted(cls, rules)
    own = remote(data) if "auto_map" in data else {}
    if cls in own.values():
        return
    for auto, each in own.items():
        if auto in LANGUAGE and each not in rules.class_names:
            raise Refused(
                RefusalKind.UNKNOWN_CLASS,
                f"auto_map gives {auto} the class {shown(each)}, which is none of those that the rules of "
                f"{rules.model_type} describe",
            )


def _unlisted(cls: str, rules: Family) -> Refused:
    return Refused(
        RefusalKind.UNKNOWN_CLASS,
        f"the class {shown(cls)} is none of those that the rules of {rules.model_type} describe",
    )
