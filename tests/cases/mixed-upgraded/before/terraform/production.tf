terraform {
  required_providers {
    flux = {
      source  = "fluxcd/flux"
      version = "~> 1.8"
    }
  }
}

resource "flux_bootstrap_git" "production" {
  path    = "clusters/production"
  version = "v2.8.7"
}
