resource "flux_bootstrap_git" "a" {
  version = coalesce(var.flux_version, "v2.8.7")
}

resource "flux_bootstrap_git" "b" {
  version = "v${local.flux_version}"
}

resource "flux_bootstrap_git" "c" {
  for_each = local.clusters
  path     = each.value.path
  version  = each.value.version
}

resource "flux_bootstrap_git" "d" {
  version = <<-EOT
    v2.8.7
  EOT
}

resource "flux_bootstrap_git" "e" {
  version = var.is_production ? (
    "v2.8.7"
  ) : var.is_staging ? "v2.9.1" : join(".", ["v2", var.flux_minor, var.flux_patch, "and so on"])
}

resource "flux_bootstrap_git" "f" {
  version = trimspace(file("${path.module}/flux-version"))
}
