"""The last word: why a pull request was closed."""

from __future__ import annotations

from flux_upgrade import markers
from flux_upgrade.markdown import plain
from flux_upgrade.markers import State


def closing(body: str, state: State, why: str) -> str:
    """``body`` with ``why``, one sentence, above our text, and ``state``, which says that we closed it.

    What people wrote stays; where they have removed our block, it is put below.
    """
    said = f"**Closed:** {plain(why)}"
    before = markers.text_of(body)
    if before is None:
        return "\n\n".join(filter(None, (body.rstrip(), markers.block(said, state))))
    told = before if before.startswith(said) else f"{said}\n\n{before}"
    return markers.replaced(body, markers.block(told, state)) or body
