github_org   = "acme"
flux_version = "v2.9.1"
