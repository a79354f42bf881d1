resource "flux_bootstrap_git" "this"{
	path="clusters/a"
	version="v2.9.4"#now
}
