"""Which files of the repository each cluster reads, as Flux would follow them from the cluster's root."""
