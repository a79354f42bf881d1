# resource "flux_bootstrap_git" "older" { version = "v2.1.0" }
// resource "flux_bootstrap_git" "old" { version = "v2.1.0" }
/* resource "flux_bootstrap_git" "kept" {
  version = "v2.2.0"
} */
locals {
  manual = <<-EOT
    resource "flux_bootstrap_git" "text" {
      version = "v2.3.0"
    }
  EOT
}

resource "flux_bootstrap_git" "this" { # version = "v2.0.0"
  /* the root */ path = "./clusters/a/"
  # version = "v2.4.0"
  version = /* pinned */ "v2.8.7" // version = "v2.5.0"
  kustomization_override = <<EOF
version = "v2.6.0"
EOF
}
