// Package mgmt is the northbound: a gNMI server on the modules of package
// yang. What belongs here: what answers requests and subscribers, keeps configurations, and does operations, with the
// packages below. It never looks into the ASIC, and of the databases it writes CONFIG_DB alone.
//
//	tree    the tree of YANG bound to rows, paths, values, entries
//	models  what the modules are in the databases
//	rights  what a role may do
//	auth    who is let in, as whom and by which way; the audit trail
//	fetch   reads entries from the databases, and keeps rows of them
//	set     executes a Set on the rows of CONFIG_DB
//
// # One table per module
//
// The engine knows no feature. What the nodes of a module are in the databases is one value of type
// [tree.Module] per module; package models has them. Each row of it says: these leaves of this list are
// in that row of that table, its key made from the list's keys, each leaf in a field by a [tree.Codec];
// counters are found through a counter map. A new feature adds a YANG module, go generate ./yang,
// and a table. A leaf without a table, or a table that names an unknown leaf, fails every test and
// the start of the server.
//
// Types, ranges, patterns, mandatory leaves and references are YANG's, checked
// with ygot's functions on its generated schema. What YANG cannot say is a Check
// (the parsers of package schema) or a Finish function in the table.
//
// # Views
//
// Some rows have two places: our own, where they are written, and OpenConfig's (Group.View), which a Set refuses
// with the reason, or does in ours (Group.Through). Access lists are of the first kind, addresses and
// subinterfaces of the second. A leaf-list such as the
// members of a port channel comes from several rows ({*} in Row.Key). What is known of the machine comes from
// Config.Host, as rows of tables that no database has.
//
// # Reading
//
// A request reads the rows that its paths need and no others: one entry with all keys given is a few HGETALLs,
// whatever else exists. config is CONFIG_DB, with YANG's defaults where a row lacks a field (not where it has one
// that YANG does not allow); state that repeats config is APPL_DB, what was validated and is applied; status, reason
// and since are STATE_DB. Where APPL_DB is not yet what the managers will make of CONFIG_DB, the leaf not-in-force
// says so: the table has the function that makes the row (Row.Wanted), and all leaves of state that repeat config are
// compared. A deleted entry stays in its list, with state only, as long as its row of APPL_DB or orchagent's report
// in STATE_DB remains, and not-in-force says so; to requests for config, and to a Set, it is gone. What a row says
// but YANG does not allow is left out. One Get, one ONCE and each Poll sees all or nothing of any Set, whatever
// paths it has.
//
// Rows of lists that were asked for as a whole, or subscribed to, are read once and kept (fetch.Hub): keyspace events
// say which to read again, and a request first waits until all that was written before it has been heard of. Counters
// are read as they are asked for, and Sets read the databases themselves. A table of more than 200,000 rows is not
// kept.
//
// # Writing
//
// A Set is a transaction on the entries that it touches, in memory: deletes, replaces, updates,
// each in the order given; then what is mandatory, what is referred to, references to what is
// deleted (the error names the user), and the rows as a whole are checked, and one script writes
// all rows if none that was read has changed meanwhile and no other Set was written, by whichever
// server; else it starts anew, and after ten times fails with Aborted. If the answer to the script is
// lost, the turn that it took tells what came of it. Fields that no module knows stay. An update of a
// leaf-list adds to it, a replace sets it; a delete of name[.=value] removes one value.
//
// A Set that fails reports all that is wrong with it, in order (set.Faults): if a step cannot be
// parsed or executed, the others are still checked. What it names is in doubt from then on,
// and an error that fixing the step would remove is not reported, such as a reference to
// an entry that the step was to create. If it is not clear what a step meant, rather too much is in
// doubt: a further error may show up when another is fixed, but no reported error is wrong.
//
// # Keeping
//
// Configurations are kept as whole config_db.json files (package configfile): what the next start loads, and the last
// that were started with, saved, committed or replaced. An operation (Server.Operate) copies one onto another, commits,
// or goes back. A row of any table can be read and written as it is (config-rows), checked as the daemons read it; its
// state says whether the other nodes tell it, which is tried, not listed (set.Told).
//
// # Subscribing
//
// Periods and results of alternate marking are not counters: there is one per period, sent on
// change, with a delete of the period that it replaces. The same goes for the results of FlyMon,
// one of each per epoch, and for the plans of table recording; what sessions have recorded is
// counters.
//
// Tables are watched once for all subscribers, and what is sent of a leaf is encoded once for all who get it.
// What waits for a client is the set of its entries
// that changed, not their values: they are read when the client takes the next message, so a slow
// client gets the newest values, costs a bounded amount of memory, and delays nobody.
// Update.duplicates counts the writes of the row, or the samples, that one update stands for. A
// client that takes nothing for five minutes is cut off with ResourceExhausted. Clients share the processors
// ([auth.Shares]): what one has asked for keeps another waiting for a chunk of entries, not for all of it. Samples are
// taken at start + k times the interval, however much changes.
//
// # Losing the databases
//
// Whoever runs the server gives it a claim to the databases (Server.Live). It notices that one was
// emptied, replaced or taken by another server, and that they cannot be read, says so, and reads all
// again that subscribers believe in. Meanwhile (Server.Refuse) clients are refused with Unavailable
// and the reason; subscribers that are there are kept for five seconds, since most of that is over
// sooner, and then told.
//
// # Choices where gNMI leaves one
//
//	Get, path not in the schema                 InvalidArgument; the error lists what there is
//	Get, path in the schema without data        NotFound; with a wildcard OK and no update; the root is {}
//	Get, Subscribe of what the role may not     PermissionDenied; left out of what contains it, and of wildcards
//	Get without path                            what the prefix names; without a prefix OK, empty
//	Get, type CONFIG                            what a Set takes: not config that is written elsewhere, nor what is
//	                                            written through to elsewhere unless nothing else was asked for
//	replace, delete of what contains such       it stays, unless the value names it, as ethernet/config does
//	Get, type OPERATIONAL                       state that does not repeat config
//	use_models, unknown model or version        InvalidArgument
//	use_models, a leaf whose words (identities)
//	are of a model that is not named            left out
//	origin "" and openconfig                    the same tree
//	origin sonic-db                             tables as SONiC's server has them, read-only; rows are JSON,
//	                                            each an update of its own; another origin: Unimplemented
//	origins of prefix and path differ           InvalidArgument
//	a target that is a database of SONiC        InvalidArgument, with the path of origin sonic-db
//	Path.element                                InvalidArgument, unless elem is there too
//	names in paths and JSON                     with or without the module's name
//	wildcards                                   * for a name or key, a missing key, ... for any depth
//	prefix of answers                           target and origin as asked; paths are whole
//	Set, path not in the schema                 NotFound; a member of a JSON value: InvalidArgument
//	Set of state, of read-only nodes, of keys   InvalidArgument
//	Set of what the role may not                PermissionDenied, decided by its paths alone
//	Set that contradicts the switch's state     FailedPrecondition: in use, unsupported by the silicon
//	Set that fails                              the code that all errors have, else InvalidArgument;
//	                                            Unimplemented if any is
//	errors of a Set                             20 of at most 1000 bytes, 7500 as they travel in the
//	                                            header, and how many more there are
//	union_replace                               what all its paths name is replaced by all its values; what two of
//	                                            them say differently, or other operations beside it: InvalidArgument
//	extension depth                             of Get and Subscribe; a list and its entry are one level. A Get of what
//	                                            is deeper than that: OK and no update
//	extension master arbitration                election ids are remembered until the server ends, of 256 roles
//	extensions history, config subscription     Unimplemented; what is not known is ignored
//	extension commit                            as its specification says, but that another Set is refused meanwhile,
//	                                            FailedPrecondition, only if it writes a row that the commit has changed
//	Set at /operations/NAME                     an rpc of tamtam-operations, alone in its Set; its value is the input
//	config-rows, configurations, not-in-force,  not in answers to requests for the root, nor replaced or deleted with it
//	tallies
//	deleting a Fixed entry (a port)             InvalidArgument; replaced, it loses its settings
//	Subscribe, path not in the schema           InvalidArgument
//	Subscribe without subscription              InvalidArgument
//	ON_CHANGE on counters, or on a container
//	that has some                               InvalidArgument; take TARGET_DEFINED
//	TARGET_DEFINED                              counters sampled (default every 10 s), the rest on change
//	sample_interval 0, and the least            of counters that are polled, POLL_INTERVAL of FLEX_COUNTER_TABLE when
//	                                            the stream begins; of several the least; where other leaves are with
//	                                            them, 100 ms. Less: InvalidArgument that names it and what sets it;
//	                                            of TARGET_DEFINED a hint, which is raised to it
//	heartbeat_interval, the least               1 s
//	heartbeat of a SAMPLE that does not
//	suppress_redundant                          all is sent once in it; if it is longer than the interval, each
//	                                            sample does that
//	POLL with updates_only                      first the sync_response alone; each Poll then gets all
//	deleted list entry                          one delete of the entry
//	allow_aggregation, qos                      accepted, without effect
//
// # Security
//
// TLS of at least 1.2, with a CA and certificate made in Config.Dir if none is
// given. Credentials are checked for every RPC, reflection included, when its header has come (package auth). With
// users a client needs name and password, or a client certificate whose common name is
// the user's; without users whoever can connect is admin, and the server listens on loopback alone unless it is told
// otherwise. Passwords need TLS. At the unix socket root and the server's own user are admin.
//
// What a role may is one value (package rights), which whatever comes from outside has in its context: which nodes a
// path of a Get or Subscribe means, which leaves of an entry are read, what a Set may change, which operation is done.
// Where data is in several places, what is taken away at one is taken away at all. Requests of the process itself have
// none. Files of users, roles and certificates are read again. Settings that contradict each other are refused at the
// start, both named.
package mgmt
