"""The OCI artifact ``flux-manifests``, in which Flux publishes its manifests."""
