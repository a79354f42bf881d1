# flux_bootstrap_git, see flux2
output "files" {
  value = flux_bootstrap_git.this.repository_files
}

moved {
  from = flux_bootstrap_git.old
  to   = flux_bootstrap_git.this
}

import {
  to = flux_bootstrap_git.this
  id = "flux-system"
}

removed {
  from = flux_bootstrap_git.gone
}

data "github_release" "flux" {
  repository  = "flux2"
  owner       = "fluxcd"
  release_tag = "v2.8.7"
}

resource "helm_release" "podinfo" {
  depends_on = [flux_bootstrap_git.this]
  chart      = "podinfo"
  version    = "6.7.0"
}

module "flux" {
  source  = "example/flux2/kubernetes"
  version = "2.8.7"
}
