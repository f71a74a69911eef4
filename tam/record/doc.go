// Package record defines the formats of table recording. These are a pipeline as a graph of tables and conditions, the
// probabilities of its edges, the plan that assigns tables to bits, and the record in a mirrored packet.
//
// It follows C. Huang et al., "Troubleshooting Programmable Data Planes via Real-Time Table Information Recording",
// IEEE/ACM Transactions on Networking, 2025 ("the paper" below).
//
// What belongs here: formats that the planner, the chip, the orch and the collector share, as JSON and bytes. What does
// not: the search for plans (recordplan), and the writing of bits (the chip).
package record
