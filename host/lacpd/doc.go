// Package lacpd runs LACP on a daemon: a [lacp.Agent] decides which members of the switch's PortChannels carry traffic.
// It is for the daemon that has the chip's CPU port: hostd, or hostifd beside FRR.
//
// # Ownership of rows
//
// Which PortChannels negotiate is configuration, which tammgrd writes to APPL_DB: rows of LAG_TABLE with protocol=lacp.
// What each member may do is a row of STATE_DB LACP_MEMBER_TABLE, with the fields of SONiC's tlm_teamd and the state of
// the mux machine. Only this package writes it. tammgrd follows mux and writes the status of LAG_MEMBER_TABLE.
// orchagent writes the effective state there, in oper_status, and LACP announces that state to the partner.
//
// SONiC has these fields in STATE_DB LAG_TABLE and LAG_MEMBER_TABLE. There they would share rows with the reports of
// tammgrd and orchagent, which remove them as a whole.
//
// # Restarts
//
// A daemon that starts finds the partners of its members in LACP_MEMBER_TABLE and continues as if it had not stopped.
// While no daemon runs LACP, members stay as they are. The partner notices an absence that is longer than its timeout:
// 3 seconds with fast_rate, otherwise 90. While the CPU port is not connected, LACP's timers do not advance.
package lacpd
