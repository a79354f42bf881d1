"""Two manifests → what changes for a cluster."""
