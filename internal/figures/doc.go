// Command figures holds the pages to what their commands give: it runs the commands that
// README.md and the pages in docs and its folders quote, with the tamtam of this tree, and compares what they
// print with what stands in the page. `make figures` runs it on everything, the gate on what ends in seconds or
// has a short form.
//
// # Annotation
//
// A comment in front of a fenced block or a table says that its content is made by commands:
//
//	<!-- figures: OPTION, OPTION
//	COMMAND
//	-->
//
// In a fenced block with lines "$ COMMAND" these are run one after the other, and each must print
// what stands below it; commands in the comment, if any, are run before, and must succeed. Any other
// block, a table above all, must be what the commands in the comment print together. A line that is
// just "..." stands for any number of lines, blanks at the end of a line and empty lines at the
// end of an output do not count, and what goes to standard error is part of the output.
//
//	long            not as a whole in the gate: it takes more than seconds. There bench has its short form, and
//	                those behind it what that left: they must succeed, and what they print is not compared.
//	                Other long blocks are left out; experiments run in the tests of lab/experiments
//	machine         figures of a machine: numbers are not compared, nor are widths of columns
//	mask REGEXP     what it matches is not compared (a time, a port; may be repeated; no commas)
//	fails           the last command's exit status is not 0; without it all must be
//	tree            the commands run in the root of the tree
//	with VARIABLE   left out, and said so, where this variable of the environment is not set
//	file NAME       the block is no output: it is written to this file, for the commands behind it
//	picture FILE    in front of a line that is a picture: it must be this file, which commands have made
//	setup           the comment stands alone: its commands are run at this place of the page
//
// A block with commands, or of which nobody says what it is (```json, ```text), needs a comment, and so does
// a table with a column of measurements. Lines typed at tamtam's own shell (sonic# ...) are run as one
// session of `tamtam cli --echo`; a block that begins in a mode (sonic(config-tam)# ...) gets there first.
//
// # Where commands run
//
// Each page has a temporary folder with links to the tree's cmd, docs and lab, so that a command
// works as a reader in the tree's root types it, and leaves its files elsewhere; data is the data directory of its
// switch, with the CA that clients of others want. A command that
// begins with "tamtam up" runs until the page, or the next one, ends; those behind it run when the
// switch is up. It gets ports of its own, and redis-cli, `tamtam cli`, `tamtam subscribe`,
// `tamtam trace` and `tamtam config` are pointed to it.
// A live switch takes a moment for what it is told: a command that only reads is asked again for a
// while if its answer is not the page's.
//
// With --port Ethernet0=eth1 the switch runs in a network of its own, in which eth1 is made for it; the
// commands behind it run there too, and send from host-eth1, the other end, which has no address but
// what they give it. Where that cannot be (no namespaces, no iproute2), or redis-cli is not installed,
// the page that needs it is skipped, and told. A single block (-only PAGE:LINE) runs behind the long
// setups of its page, if it is not in the gate.
package main
