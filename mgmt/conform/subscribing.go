package conform

func subscriptions() []Point {
	return []Point{
		{ID: "B1", Where: "3.5.1.1", Demand: "a Poll as the first message: InvalidArgument", Raw: true},
		{
			ID: "B2", Where: "3.5.1.1", Raw: true,
			Demand: "a second SubscriptionList: InvalidArgument, and other RPCs go on",
		},
		{
			ID: "B3", Where: "3.5.1.2", Raw: true,
			Demand: "a list without subscription is refused",
			Choice: "InvalidArgument",
		},
		{ID: "B4", Where: "3.5.1.2", Demand: "without modes it is a STREAM, TARGET_DEFINED"},
		{ID: "B5", Where: "3.5.1.3", Demand: "a path without data waits for it"},
		{
			ID: "B6", Where: "3.5.1.3",
			Demand: "a path that is in no model is no silent stream",
			Choice: "InvalidArgument",
		},
		{ID: "B7", Where: "3.5", Demand: "each update is one leaf", Choice: "allow_aggregation changes nothing"},
		{
			ID: "B8", Where: "3.5.2.3",
			Demand: "what is deleted comes as a delete of its path",
			Choice: "of an entry one delete",
		},
		{
			ID: "B9", Where: "3.5.2.3",
			Demand: "replace of a container comes as deletes and updates",
			Choice: "leaf by leaf, in one Notification",
		},
		{ID: "B10", Where: "3.5.2.3", Demand: "each Notification has a time, and none goes back"},
		{ID: "B11", Where: "2.1", Demand: "no path twice in a Notification"},
		{
			ID: "B12", Where: "2.1", Raw: true,
			Demand: "a slow client gets the newest values, with how many they stand for, and delays nobody",
		},
		{
			ID: "B13", Where: "3.5.1.1", Raw: true,
			Demand: "a client that goes leaves nothing behind; one that sends no more is still served",
		},
		{
			ID: "B14", Where: "2.3",
			Demand: "values are in the encoding that was asked for; one that is not served: Unimplemented",
		},
		{ID: "B15", Where: "3.5.1.2", Demand: "a QoS marking does no harm", Choice: "accepted, without effect"},
		{
			ID: "B16", Where: "2.6",
			Demand: "use_models as in Get",
			Choice: "a model that is not served: InvalidArgument",
		},
		{
			ID: "B17", Where: "3.5.2.3",
			Demand: "of overlapping subscriptions each leaf comes before the sync_response",
		},
	}
}

func once() []Point {
	return []Point{
		{ID: "O1", Where: "3.5.1.5.1", Demand: "ONCE: all updates, one sync_response, the end"},
		{ID: "O2", Where: "3.5.1.2", Demand: "ONCE with updates_only: the sync_response, the end"},
		{ID: "O3", Where: "3.5.1.5.1", Demand: "ONCE where there is nothing: the sync_response, the end"},
		{
			ID: "L1", Where: "3.5.2.3",
			Demand: "POLL begins with what there is",
			Choice: "all updates and a sync_response, then nothing unasked",
		},
		{ID: "L2", Where: "3.5.1.5.3", Demand: "each Poll gets all updates, changed or not, and one sync_response"},
		{ID: "L3", Demand: "what was deleted is not in the next poll", Choice: "without a delete"},
		{
			ID: "L4", Where: "3.5.1.2",
			Demand: "POLL with updates_only",
			Choice: "first the sync_response alone; each Poll then gets all",
		},
		{
			ID: "L5", Raw: true,
			Demand: "a Poll to a STREAM is refused",
			Choice: "InvalidArgument; a ONCE has ended before it is read",
		},
	}
}

func streams() []Point {
	return []Point{
		{
			ID: "T1", Where: "3.5.1.5.2",
			Demand: "ON_CHANGE: all, sync_response, then what changes; a write of the same value sends " +
				"nothing",
		},
		{
			ID: "T2", Where: "3.5.1.5.2",
			Demand: "ON_CHANGE with heartbeat: each leaf once in it",
			Choice: "less than 1 s: InvalidArgument",
		},
		{
			ID:     "T3",
			Demand: "ON_CHANGE of counters is no silent sample",
			Choice: "InvalidArgument, which names SAMPLE",
		},
		{ID: "T4", Where: "3.5.1.5.2", Demand: "SAMPLE: all, sync_response, then each leaf at each interval"},
		{
			ID: "T5", Where: "3.5.1.5.2", Demand: "interval 0 is the least that there is",
			Choice: "100 ms; of polled counters, as often as they are",
		},
		{
			ID: "T6", Where: "3.5.1.5.2", Demand: "an interval below it: InvalidArgument",
			Choice: "it names the path, the least and what sets it",
		},
		{ID: "T7", Where: "3.5.1.5.2", Demand: "suppress_redundant: only leaves that changed; deletes still come"},
		{ID: "T8", Where: "3.5.1.5.2", Demand: "that with heartbeat: leaves that did not change once in it"},
		{
			ID: "T9", Where: "3.5.2.3",
			Demand: "SAMPLE of a list: an entry that is gone comes as a delete at the next interval",
		},
		{
			ID: "T10", Where: "3.5.1.5.2",
			Demand: "TARGET_DEFINED: counters are sampled, the rest comes on change",
			Choice: "10 s where there is no interval",
		},
		{ID: "T11", Where: "3.5.1.2", Demand: "ON_CHANGE with updates_only: the sync_response first, then changes"},
		{
			ID: "T12", Where: "3.5.1.2",
			Demand: "SAMPLE with updates_only: the sync_response first, values at the first interval",
		},
		{ID: "T13", Where: "3.5.2.3", Demand: "one sync_response, behind the first values of all subscriptions"},
		{ID: "T14", Where: "3.5.1.5.2", Demand: "each subscription of a list has its own mode"},
		{
			ID: "T15", Where: "3.5.1.5.2",
			Demand: "the heartbeat of a SAMPLE that sends all anyway: still once in it",
			Choice: "if it is longer than the interval each sample is one",
		},
		{ID: "T16", Where: "3.5.1.3", Demand: "an entry that comes later is seen by the wildcard that means it"},
		{ID: "T17", Demand: "atomic Notifications are whole", Choice: "none is marked atomic"},
	}
}
