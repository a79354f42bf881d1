"""``python -m flux_upgrade``."""

from flux_upgrade.main import main

raise SystemExit(main())
