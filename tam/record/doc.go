// Package record is the language of table recording: what a pipeline is as a graph
// of tables and conditions, how likely a packet takes each edge, what a plan
// records of it in which bits, and the record that a mirrored packet carries.
//
// It follows C. Huang et al., "Troubleshooting Programmable Data Planes via
// Real-Time Table Information Recording", IEEE/ACM Transactions on Networking, 2025
// ("the paper" in what follows).
//
// What belongs here: forms that the planner, the chip, the orch and the collector share, their JSON and
// their bytes. How plans are found belongs to recordplan, how bits are written to the chip.
package record
