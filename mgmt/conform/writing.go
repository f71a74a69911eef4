package conform

func sets() []Point {
	return []Point{
		{ID: "S1", Where: "3.4", Demand: "deletes, then replaces, then updates"},
		{ID: "S2", Where: "3.4", Demand: "of two updates of one path the later stays"},
		{ID: "S3", Where: "3.4.2", Demand: "the answer has a result for each operation, in that order, and a time"},
		{ID: "S4", Where: "3.4", Demand: "an empty Set, and one with extensions alone, is OK"},
		{
			ID: "S5", Where: "3.4.4",
			Demand: "replace of a container: what it leaves out is gone, its neighbours stay",
		},
		{ID: "S6", Where: "3.4.4", Demand: "update of a container changes what it names"},
		{ID: "S7", Where: "3.4.4", Demand: "what is not there is made, with all above it"},
		{ID: "S8", Where: "3.4.5", Demand: "replace of a list leaves its entries alone; update adds to them"},
		{ID: "S9", Where: "3.4.5", Demand: "a value for an entry with a key missing: InvalidArgument"},
		{ID: "S10", Where: "3.4.5", Demand: "a key in the value that is not the path's: InvalidArgument"},
		{ID: "S11", Where: "3.4.6", Demand: "delete takes all below; wildcards and missing keys mean all"},
		{ID: "S12", Where: "3.4.6", Demand: "delete of what is not there is OK"},
		{ID: "S13", Where: "3.4.3", Demand: "one bad operation: nothing is changed, and subscribers see nothing"},
		{ID: "S14", Where: "3.4.7", Demand: "a value of the wrong type, range or word: InvalidArgument"},
		{
			ID: "S15", Where: "3.4.7",
			Demand: "update or replace of a path that is in no model: NotFound",
			Choice: "a member of a JSON value: InvalidArgument",
		},
		{ID: "S16", Where: "3.4.7", Demand: "an element without name: InvalidArgument"},
		{ID: "S17", Where: "3.4.7", Demand: "values of kinds that are not served: Unimplemented"},
		{ID: "S18", Where: "3.4.7", Demand: "state is not written", Choice: "InvalidArgument"},
		{
			ID: "S19", Where: "3.4.7", Raw: true,
			Demand: "who may not write: PermissionDenied; who is not known: Unauthenticated",
		},
		{ID: "S20", Where: "3.4.4", Demand: "replace sets a leaf-list, update adds to it"},
		{
			ID:     "S21",
			Demand: "union_replace as its specification says, or refused",
			Choice: "there is one origin to write; what two paths say differently, and other operations " +
				"beside it: InvalidArgument",
		},
		{ID: "S22", Where: "2.3.1", Demand: "a JSON list for one entry, and bad JSON: InvalidArgument"},
		{ID: "S23", Where: "3.4.3", Demand: "Sets at the same time are done one after the other", Raw: true},
		{
			ID: "S24", Where: "3.4.7",
			Demand: "the code of a Set that fails is that of the operation",
			Choice: "if errors differ InvalidArgument, Unimplemented if any is",
		},
	}
}

func extensions() []Point {
	return []Point{
		{
			ID:     "X1",
			Demand: "extension depth of Get and Subscribe, by levels; of Set and Capabilities it is an error",
			Choice: "what is deeper: OK and no update; of origin sonic-db: Unimplemented",
		},
		{ID: "X2", Demand: "extension commit: a Set on trial is confirmed, cancelled, or undone in its time"},
		{
			ID:     "X3",
			Demand: "extension master arbitration: of a role the highest election id may write",
			Choice: "ids are forgotten when the server ends",
		},
		{
			ID:     "X4",
			Demand: "extensions history and config subscription",
			Choice: "Unimplemented: nothing is kept of the past but configurations",
		},
	}
}

func security() []Point {
	return []Point{
		{ID: "A1", Where: "3.1", Demand: "no plaintext where TLS is on", Raw: true},
		{ID: "A2", Where: "3.1", Demand: "TLS of at least 1.2", Raw: true},
		{ID: "A3", Where: "3.1", Demand: "no client without certificate where they are asked for", Raw: true},
		{ID: "A4", Where: "3.1", Demand: "no certificate of another CA, and none that has expired", Raw: true},
		{ID: "A5", Where: "3.1", Demand: "a wrong password: Unauthenticated, of each RPC", Raw: true},
		{ID: "A6", Where: "3.1", Demand: "no name where one is asked for: Unauthenticated", Raw: true},
		{ID: "A7", Where: "3.1", Demand: "a name alone is enough with the certificate of that name", Raw: true},
		{
			ID: "A8", Where: "3.4.7", Raw: true,
			Demand: "who may only read: PermissionDenied, and nothing is changed",
		},
		{
			ID: "A9", Where: "3.1", Raw: true,
			Demand: "names and passwords are looked at for each RPC, not for the connection",
		},
		{ID: "A10", Where: "2.5", Demand: "errors say something, and no secret", Raw: true},
	}
}
