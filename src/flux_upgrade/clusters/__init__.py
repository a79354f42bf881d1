"""Which version references and which files belong to which cluster, and who else writes them."""
