resource "flux_bootstrap_git" "this"{
	path="clusters/a"
	version="v2.8.7"#now
}
