data "flux_install" "main" {
  target_path    = "clusters/production"
  network_policy = false
  version        = "v0.41.2"
}

data "flux_install" "newest" {
  target_path = var.target_path
  version     = "latest"
}

data "flux_install" "default" {
  target_path = "staging-cluster"
}

data "flux_install" "var" {
  version = local.flux2["version"]
}

data "flux_sync" "main" {
  target_path = "clusters/production"
  url         = "https://github.com/acme/fleet"
}
