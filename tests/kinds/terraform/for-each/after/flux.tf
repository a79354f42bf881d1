resource "flux_bootstrap_git" "all" {
  for_each = toset(["a", "b"])

  path    = format("clusters/%s", each.key)
  version = "v2.9.4"
}
