package reference_test

// vrfSeed is the first case in which the differential test must catch vrfMutants.
const vrfSeed = "50000"

// vrfMutants are mutants of virtual routers.
var vrfMutants = []mutant{
	{"usual packets are looked up in the default virtual router", "engine/router.go", "r.vr.fib4.lookup(",
		"c.vrs[0].fib4.lookup("},
	{"packets are looked up in the default virtual router", "engine/router.go", "c.byRoute(pk, r.vr, v4)",
		"c.byRoute(pk, c.vrs[0], v4)"},
	{"usual packets need the default virtual router up", "engine/router.go", "!r.vr.routes4 ||", "!c.vrs[0].routes4 ||"},
	{"packets need the default virtual router up", "engine/router.go", "!r.vr.up(v4)", "!c.vrs[0].up(v4)"},
	{"neighbours have host routes in the default virtual router", "engine/routerrows.go",
		"netip.PrefixFrom(adj.ip, adj.ip.BitLen()), adj.rif.vr", "netip.PrefixFrom(adj.ip, adj.ip.BitLen()), c.vrs[0]"},
	{"an outer header is added by the routes of the default virtual router", "engine/outer.go", "pk.router.vr.lookup(",
		"m.router.vrs[0].lookup("},
	{"kept ends have no virtual router", "engine/kept.go", "p.vr = m.router.vr.name", "p.vr = config.None"},
	{"findings have no virtual router", "engine/finding.go", "In: vr.name", "In: config.None"},
}
