// Package swss implements SONiC's database conventions: how rows, queues and notifications are stored in Redis, and
// the scripts that move them. So SONiC's own tools and daemons can work on the same databases.
//
//   - [Table]: rows as plain hashes (COUNTERS_DB, STATE_DB, writes to CONFIG_DB)
//   - [ProducerState] and [ConsumerState]: rows handed over through a pending set; several writes of a row are
//     merged (APPL_DB)
//   - [Queue]: operations queued in order (ASIC_DB, FLEX_COUNTER_DB); [Inbox] waits for the answer to a request
//   - [Reading]: a one-time read of rows of any tables
//   - [Subscriber]: rows watched by keyspace events (CONFIG_DB, STATE_DB)
//   - [NotificationProducer] and [NotificationConsumer]: messages without delivery guarantee (the ASIC's notifications)
//
// Everything that a daemon consumes is a [Source] on its one [Listener]. Redis is either an external server or the
// embedded one (see [Open]), which keeps its data in this process and also accepts other clients.
//
// This package contains the functions that every user of SONiC's databases needs, whatever the tables mean. Table and
// field names belong to package schema.
package swss
