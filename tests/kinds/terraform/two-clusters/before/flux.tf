resource "flux_bootstrap_git" "staging" {
  provider = flux.staging
  path     = "clusters/staging"
  version  = "v2.9.1"
}

resource "flux_bootstrap_git" "production" {
  provider = flux.production
  path     = "clusters/production"
  version  = "v2.8.7"
}
