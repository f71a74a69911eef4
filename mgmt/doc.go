// Package mgmt is the northbound interface: a gNMI server for the modules of package yang. It answers requests and
// subscriptions, saves configurations, and performs operations. Its parts are the packages below. It never accesses the
// ASIC, and the only database that it writes is CONFIG_DB.
//
//	tree    the tree of YANG bound to rows; paths, values, entries
//	models  how the modules map to the databases
//	rights  what a role may do
//	auth    authentication of callers and their transports; the audit trail
//	fetch   reads entries from the databases, and caches rows of them
//	set     executes a Set on the rows of CONFIG_DB
//
// # One table per module
//
// The engine is independent of features. A module's mapping to the databases is one value of type [tree.Module];
// package models has them all. Each row of it maps leaves of a list to a row of a table. The key is made from the
// list's keys, and each leaf is in a field, converted by a [tree.Codec]. Counters are found through a counter map. A
// new feature adds a YANG module, go generate ./yang, and a table. A leaf without a table, or a table that names an
// unknown leaf, fails every test and the start of the server.
//
// Types, ranges, patterns, mandatory leaves and references are YANG's, checked with ygot's functions on its generated
// schema. Constraints that YANG cannot express are a Check (the parsers of package schema) or a Finish function in the
// table.
//
// # Views
//
// Some rows appear at two paths: at ours, where they are written, and at OpenConfig's (Group.View). There a Set is
// either refused with the reason, as for access lists, or executed on our path (Group.Through), as for addresses and
// subinterfaces. A leaf-list such as the members of a port channel comes from several rows ({*} in Row.Key). Facts
// about the machine come from Config.Host, as rows of tables that are in no database.
//
// # Reading
//
// A request reads only the rows that its paths need: one entry with all keys given is a few HGETALLs, whatever else
// exists. config is CONFIG_DB, with YANG's defaults where a row lacks a field (not where the field has a value that
// YANG does not allow). state that repeats config is APPL_DB: the validated and applied values. status, reason and
// since are STATE_DB.
//
// The leaf not-in-force is present while APPL_DB differs from the rows that the managers will make of CONFIG_DB. The
// table has the function that makes such a row (Row.Wanted), and all leaves of state that repeat config are compared. A
// deleted entry stays in its list, with state and not-in-force only, as long as its row of APPL_DB or orchagent's
// report in STATE_DB remains. For requests for config, and for a Set, it does not exist. Values that YANG does not
// allow are omitted. One Get, one ONCE and each Poll contain either all or nothing of any Set, whatever their paths
// are.
//
// Rows of lists that were requested as a whole, or subscribed to, are read once and cached (fetch.Hub). Keyspace events
// name the rows to read again, and a request first waits until all earlier writes are known. Counters are read on
// request, and Sets read the databases themselves. A table of more than 200,000 rows is not cached.
//
// # Writing
//
// A Set is a transaction on the entries that it touches, in memory: deletes, replaces, updates, each in the order
// given. Then mandatory leaves, references, references to deleted entries (the error names the user) and complete rows
// are checked. One script writes all rows, unless a row that was read has changed meanwhile or another Set was written,
// by any server. In that case the Set is repeated, and fails with Aborted after ten attempts. If the response to the
// script is lost, the revision of CONFIG_DB shows the outcome. Fields unknown to all modules stay. An update of a
// leaf-list adds to it, a replace sets it; a delete of name[.=value] removes one value.
//
// A Set that fails reports all of its errors, in order (set.Faults): if a step cannot be parsed or executed, the others
// are still checked. The objects that it names are uncertain from then on. Errors that the correct step would remove
// are not reported, such as a reference to an entry that the step was to create. If the meaning of a step is unclear,
// too many objects are rather uncertain than too few. So a further error may appear when another is corrected, but
// every reported error is real.
//
// # Keeping
//
// Configurations are saved as complete config_db.json files (package configfile): the startup configuration, and an
// archive of those that were started with, saved, committed or replaced. An operation (Server.Operate) copies one onto
// another, commits, or rolls back. A row of any table can be read and written directly (config-rows), checked as the
// daemons read it. Its state reports whether the other nodes represent the row completely. This is found by trying
// (set.Reported).
//
// # Subscribing
//
// Periods and results of alternate marking are not counters: there is one per period, sent on change, with a delete of
// the period that it replaces. The same applies to the results of FlyMon, one of each per epoch, and to the plans of
// table recording. Counts of recorded packets are counters.
//
// Tables are watched once for all subscribers, and an update of a leaf is encoded once for all clients. A client's
// queue holds the set of its changed entries, not their values. They are read when the client accepts the next message.
// So a slow client gets the newest values, costs a bounded amount of memory, and delays no other. Update.duplicates
// counts the writes of the row, or the samples, that one update stands for. A client that accepts nothing for five
// minutes is disconnected with ResourceExhausted. Clients share the processors ([auth.Shares]): a request delays
// another client by one chunk of entries, not by all of it. Samples are taken at start + k times the interval, however
// much changes.
//
// # Losing the databases
//
// The owner of the server gives it a claim to the databases (Server.Live). The server notices if one was emptied,
// replaced or claimed by another server, or is unreadable. It reports that, and reads again all that subscribers hold.
// Meanwhile (Server.Refuse) clients are refused with Unavailable and the reason. Open subscriptions are kept for five
// seconds, because most such failures are shorter, and then end with the reason.
//
// # Choices where gNMI leaves one
//
//	Get, path not in the schema                 InvalidArgument; the error lists the valid nodes
//	Get, path in the schema without data        NotFound; with a wildcard OK and no update; the root is {}
//	Get, Subscribe of nodes forbidden to the
//	role                                        PermissionDenied; omitted from containers and wildcards
//	Get without path                            returns what the prefix names; without a prefix OK, empty
//	Get, type CONFIG                            what a Set accepts: not config that is written elsewhere, nor data
//	                                            written through to another path unless only that was requested
//	replace, delete of what contains such       it stays, unless the value names it, as ethernet/config does
//	Get, type OPERATIONAL                       state that does not repeat config
//	use_models, unknown model or version        InvalidArgument
//	use_models, a leaf whose identities are of
//	a model that is not named                   omitted
//	origin "" and openconfig                    the same tree
//	origin sonic-db                             tables as SONiC's server has them, read-only; rows are JSON,
//	                                            each an update of its own; another origin: Unimplemented
//	origins of prefix and path differ           InvalidArgument
//	a target that is a database of SONiC        InvalidArgument, with the path of origin sonic-db
//	Path.element                                InvalidArgument, unless elem is there too
//	names in paths and JSON                     with or without the module's name
//	wildcards                                   * for a name or key, a missing key, ... for any depth
//	prefix of responses                         target and origin as requested; paths are complete
//	Set, path not in the schema                 NotFound; a member of a JSON value: InvalidArgument
//	Set of state, of read-only nodes, of keys   InvalidArgument
//	Set of nodes forbidden to the role          PermissionDenied, decided by its paths only
//	Set that contradicts the switch's state     FailedPrecondition: in use, unsupported by the silicon
//	Set that fails                              the code that all errors share, else InvalidArgument;
//	                                            Unimplemented if any is
//	errors of a Set                             20 of at most 1000 bytes, 7500 as encoded in the header, and the
//	                                            number of further errors
//	union_replace                               the nodes of all its paths are replaced by all its values; two paths
//	                                            with different values for a node, or other operations in the same
//	                                            request: InvalidArgument
//	extension depth                             for Get and Subscribe; a list and its entry are one level. A Get of
//	                                            deeper nodes only: OK and no update
//	extension master arbitration                election ids are remembered until the server ends, for 256 roles
//	extensions history, config subscription     Unimplemented; unknown extensions are ignored
//	extension commit                            as its specification requires, except that another Set is meanwhile
//	                                            refused, FailedPrecondition, only if it writes a row that the commit
//	                                            has changed
//	Set at /operations/NAME                     an rpc of tamtam-operations, alone in its Set; its value is the input
//	config-rows, configurations, not-in-force,
//	tallies                                     not in answers for the root, nor replaced or deleted with it
//	deleting a Fixed entry (a port)             InvalidArgument; replaced, it loses its settings
//	Subscribe, path not in the schema           InvalidArgument
//	Subscribe without subscription              InvalidArgument
//	ON_CHANGE on counters, or on a container
//	that has some                               InvalidArgument; use TARGET_DEFINED
//	TARGET_DEFINED                              counters sampled every 10 s, the rest on change; a sample_interval:
//	                                            InvalidArgument
//	sample_interval 0, and the minimum          for polled counters only, POLL_INTERVAL of FLEX_COUNTER_TABLE when
//	                                            the stream begins, of several groups the shortest; with other leaves
//	                                            among them, 100 ms. A shorter interval: InvalidArgument that names the
//	                                            minimum and its setting. Outputs, which use TARGET_DEFINED with an
//	                                            interval, get the minimum instead
//	heartbeat_interval, the minimum             1 s
//	heartbeat of a SAMPLE that does not
//	suppress_redundant                          all is sent once per heartbeat; a heartbeat longer than the interval
//	                                            has no effect
//	POLL with updates_only                      first the sync_response alone; each Poll then gets all
//	deleted list entry                          one delete of the entry
//	allow_aggregation, qos                      accepted, without effect
//
// # Security
//
// TLS of at least 1.2, with a CA and certificate made in Config.Dir if none is given. Credentials are checked for every
// RPC, reflection included, when its header has arrived (package auth). With users a client needs name and password, or
// a client certificate whose common name is the user's. Without users every client that can connect is admin, and the
// server listens on loopback only unless configured otherwise. Passwords need TLS. At the unix socket root and the
// server's own user are admin.
//
// The rights of a role are one value (package rights), which is in the context of every external request. It decides
// the nodes that a path of a Get or Subscribe means, and the leaves of an entry that are read. It also decides which
// nodes a Set may change, and which operations may be performed. Data that appears at several paths is hidden at all if
// it is hidden at one. Requests of the process itself have no such value. Files of users, roles and certificates are
// read again while the server runs. Settings that contradict each other are refused at the start, both named.
package mgmt
