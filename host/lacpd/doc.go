// Package lacpd is LACP on a daemon: it lets a [lacp.Agent] decide which members of the switch's PortChannels carry
// traffic. It is for the one that has the chip's CPU port: hostd, or hostifd beside FRR.
//
// # Who owns what
//
// Which PortChannels negotiate is configuration, and tammgrd says it in APPL_DB: rows of LAG_TABLE with
// protocol=lacp. What each member may do is a row of STATE_DB LACP_MEMBER_TABLE, with the fields of SONiC's tlm_teamd
// and the state of the mux machine; it is this package's alone. tammgrd follows mux and writes the status of
// LAG_MEMBER_TABLE, and orchagent says there, in oper_status, what is in force; that is what the partner is told.
//
// SONiC has these fields in STATE_DB LAG_TABLE and LAG_MEMBER_TABLE. There they would share rows with the reports of
// tammgrd and orchagent, which remove them as a whole.
//
// # Restarts
//
// Who begins finds the partners of his members in LACP_MEMBER_TABLE and goes on as if nothing had been, and as long
// as nobody runs LACP members stay as they are. The partner notices an absence that is longer than what it was asked
// to wait: 3 seconds with fast_rate, else 90. While there is no CPU port time stands still.
package lacpd
