"""Git repositories: the checkout, and any Git server."""
