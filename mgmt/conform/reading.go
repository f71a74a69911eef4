package conform

func capabilities() []Point {
	return []Point{
		{
			ID: "C1", Where: "3.2",
			Demand: "Capabilities name gNMI's version, each model with organization and version, and the " +
				"encodings",
		},
		{ID: "C2", Where: "2.3.1", Demand: "JSON is served beside JSON_IETF and PROTO"},
		{
			ID: "C3", Where: "3.3.1",
			Demand: "each encoding of Capabilities can be asked for; any other is Unimplemented, and named",
		},
		{ID: "C4", Where: "3", Demand: "reflection lists gnmi.gNMI", Raw: true},
	}
}

func paths() []Point {
	return []Point{
		{ID: "P1", Where: "2.4.1", Demand: "prefix and path are one path, wherever it is cut"},
		{ID: "P2", Where: "2.2.2.1", Demand: "the target of a request stands in all its answers, and else in none"},
		{
			ID: "P3", Where: "2.2.2",
			Demand: "the empty path is the whole tree",
			Choice: "without what stands apart (`*` in the tree above)",
		},
		{ID: "P4", Where: "2.4.3", Demand: "a container or an entry is read with all below it"},
		{ID: "P5", Where: "3.3.1", Demand: "Get of a path that is in no model: InvalidArgument, the path named"},
		{
			ID:     "P6",
			Demand: "Get of a path without data",
			Choice: "NotFound; with a wildcard OK and no update; the root `{}`",
		},
		{ID: "P7", Demand: "an origin that is not known gets no data", Choice: "Unimplemented"},
		{ID: "P8", Where: "2.2.2", Demand: "no origin is origin openconfig"},
		{
			ID: "P9", Raw: true,
			Demand: "origins of prefix and path that differ are refused",
			Choice: "InvalidArgument",
		},
		{
			ID:     "P10",
			Demand: "any text is a key: `/`, `[`, `]`, `=`, blanks, and it comes back as it is",
			Choice: "a lone `*` is always a wildcard",
		},
		{
			ID: "P11", Where: "3.3.1",
			Demand: "wildcards for names and keys, and keys left out, mean all; answers have whole paths",
		},
		{
			ID: "P12", Where: "2.2.2", Raw: true,
			Demand: "the old Path.element",
			Choice: "InvalidArgument, unless elem is there too",
		},
		{
			ID:     "P13",
			Demand: "a target that is a database of SONiC's server, as `COUNTERS_DB`, gets no data of the tree",
			Choice: "InvalidArgument, with the path of origin sonic-db that has it",
		},
	}
}

func gets() []Point {
	return []Point{
		{ID: "G1", Where: "3.3.2", Demand: "a Notification for each path, in order, each with a time"},
		{
			ID: "G2", Where: "2.3.1",
			Demand: "containers in JSON_IETF are RFC 7951's: names with modules, 64 bits as strings",
		},
		{ID: "G3", Where: "2.3.1", Demand: "a leaf in JSON_IETF is its bare value"},
		{ID: "G4", Where: "2.3.1", Demand: "an answer has one kind of JSON"},
		{ID: "G5", Where: "2.2.3", Demand: "PROTO has an update for each leaf, its value of the type that it has"},
		{ID: "G6", Where: "3.3.1", Demand: "without encoding it is JSON"},
		{
			ID: "G7", Where: "3.3.1",
			Demand: "types CONFIG, STATE, OPERATIONAL and ALL",
			Choice: "CONFIG is what a Set takes; OPERATIONAL is state that repeats no config",
		},
		{
			ID: "G8", Where: "2.6",
			Demand: "use_models: nothing of other models",
			Choice: "a model or version that is not served: InvalidArgument; a leaf whose identities are " +
				"another model's is left out",
		},
		{ID: "G9", Demand: "Get without path", Choice: "what the prefix names; without a prefix OK, empty"},
		{ID: "G10", Where: "3.3.2", Demand: "the time of an answer is that of the values"},
		{ID: "G11", Where: "3.4.3", Demand: "Get sees all of a Set or nothing"},
	}
}
