package reference_test

// streamSeed is the first case in which the differential test must catch streamMutants.
const streamSeed = "40000"

// streamMutants are mutants of streams of statistics, which only the cases of isStreaming have.
var streamMutants = []mutant{
	{"a readout precedes the events of its cycle", "engine/advance.go", "		c.advanceTo(at)\n", "		c.advanceTo(at - 1)\n"},
	{"a readout waits for the end of the window", "engine/advance.go", "		c.advanceTo(at)\n", ""},
	{"readouts drift by a cycle", "engine/readout.go", "			x.due += Cycle(x.Every)\n", "			x.due += Cycle(x.Every) + 1\n"},
	{"a readout of another interval goes on with the old one", "engine/readout.go", "		r.list[i] = readout{row, due}\n",
		"		if !there {\n			r.list[i] = readout{row, due}\n		}\n"},
	{"a first readout is an interval late", "engine/readout.go",
		"(now-due)/Cycle(row.Every) + 1", "(now-due)/Cycle(row.Every) + 2"},
	{"a removed readout goes on", "engine/readout.go", "		r.list = slices.Delete(r.list, i, i+1)\n", ""},
	{"values of a readout are those of another object", "objects/stream/stream.go", "		n += s.Width\n", ""},
	{"a start uses the configuration before", "objects/stream/stream.go",
		"	x.active, x.prepared = x.prepared, nil\n", "	x.active, x.prepared = cmp.Or(x.active, x.prepared), nil\n"},
	{"records before a change are lost", "objects/stream/stream.go",
		"	x.Flush()\n	x.set.mu.Lock()\n	defer x.set.mu.Unlock()\n	x.encoder.Switch()\n",
		"	x.set.mu.Lock()\n	defer x.set.mu.Unlock()\n	x.encoder.Switch()\n"},
	{"a stream that pauses goes on", "objects/telemetry.go", "state == sai.TAMTelTypeStateStopStream || ", ""},
}
