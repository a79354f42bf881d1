"""OCI registries: artifacts, charts, credentials."""
