"""The steps of a bootstrap, in their order: look, plan, repository, access, publish, cluster."""
