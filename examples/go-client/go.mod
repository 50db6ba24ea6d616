module example.com/longhaul-client

go 1.26.0

require longhaul v0.0.0

// A program elsewhere requires the path under which longhaul is published, and has no replace.
replace longhaul => ../..
