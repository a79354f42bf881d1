"""The policy applied to clusters: for each of them a release, or the reason to hold."""
