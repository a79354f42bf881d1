resource "flux_bootstrap_git" "this" {
  # für die Prüfung
  path = "clusters/a" # größer
  version = "v2.9.4"
}
