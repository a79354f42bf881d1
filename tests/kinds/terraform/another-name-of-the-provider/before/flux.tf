terraform {
  required_providers {
    flux   = { source = "example/flux", version = "~> 0.3" }
    gitops = { "source" : "registry.terraform.io/fluxcd/flux", version : ">= 1.9" }
  }
}

resource "flux_bootstrap_git" "this" {
  provider = gitops
  path     = "clusters/a"
  version  = "v2.9.1"
}
