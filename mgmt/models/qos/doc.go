// Package qos maps the module openconfig-qos to SONiC's rows. OpenConfig's objects are these rows:
//
//	classifier X_ipv4, X_ipv6  the row X of DSCP_TO_TC_MAP, which applies to both versions of IP
//	term N                     the fields of the row with the class N
//	forwarding-group N         the traffic class N; its queue is that of TC_TO_QUEUE_MAP, if it is the same at all ports
//	queue N                    the queue N of each port
//	scheduler-policy P         the rows P@N of SCHEDULER; the scheduler 0 has the strict queues, 1 has the others
//	scheduler-policy EthernetN the rows of QUEUE of the port, if they name other schedulers
//	interface EthernetN        the port's rows of PORT_QOS_MAP and QUEUE
//
// What belongs here: reading these objects from rows, and writing the rows. Rows for several ports or queues are shown,
// but a Set can only repeat what they have.
package qos
