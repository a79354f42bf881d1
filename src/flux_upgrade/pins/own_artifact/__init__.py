"""An OCI artifact of your own that holds Flux's manifests."""
