"""The action in a process of its own, to be killed; its clock does not wait."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping

from flux_upgrade import main as cli
from flux_upgrade.model.ports import Timing


def main(variables: Mapping[str, str]) -> int:
    seconds = itertools.count(1_772_431_200)
    timing = Timing(lambda: float(next(seconds)), lambda _: None, lambda: 0.5)
    return cli.run(["action"], variables, sys.stdout.buffer, sys.stderr, timing)


if __name__ == "__main__":
    raise SystemExit(main(json.load(sys.stdin)))
