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

// accountSeed is the first case in which the differential test must catch accountMutants.
const accountSeed = "41000"

// accountMutants are mutants of streams of priority groups and pools.
var accountMutants = []mutant{
	{"a readout clears before it reads", "objects/telemetry.go", "		now(to)\n		for i, id := range ids {\n" +
		"			to[i] -= o.cleared[id]\n		}\n		for _, id := range clears {\n			k.clearStat(o, id)\n		}\n",
		"		for _, id := range clears {\n			k.clearStat(o, id)\n		}\n		now(to)\n		for i, id := range ids {\n" +
			"			to[i] -= o.cleared[id]\n		}\n"},
	{"a readout clears only the first statistic", "objects/telemetry.go", "		for _, id := range clears {\n",
		"		for _, id := range clears[:min(len(clears), 1)] {\n"},
	{"a readout clears all watermarks of a pool", "objects/qos.go",
		"q.engine.ClearPool(o.self.(*bufferPool).index, false)\n", "q.engine.ClearPool(o.self.(*bufferPool).index, false)\n" +
			"			q.engine.ClearPool(o.self.(*bufferPool).index, true)\n"},
	{"a readout clears all watermarks of a group", "objects/prioritygroup.go", "g.index, total, shared, headroom)",
		"g.index, true, true, true)"},
	{"a cleared watermark of a group is zero", "engine/groups.go", "g.MaxCells = g.Cells()", "g.MaxCells = 0"},
	{"a readout that only reads clears, too", "objects/telemetry.go",
		"sai.TAMCounterSubscriptionAttrStatsMode) == sai.StatsModeReadAndClear",
		"sai.TAMCounterSubscriptionAttrStatsMode) != 0"},
}
