// Package record is the language of table recording: what a pipeline is as a graph
// of tables and conditions, how likely a packet takes each edge, what a plan
// records of it in which bits, and the record that a mirrored packet carries.
//
// It follows C. Huang et al., "Troubleshooting Programmable Data Planes via
// Real-Time Table Information Recording", IEEE/ACM Transactions on Networking, 2025
// ("the paper" in what follows).
//
// What may enter: forms that the planner, the chip, the orch and the collector
// share, their JSON and their bytes. How plans are found is recordplan's matter, how
// bits are written that of the chip.
package record
