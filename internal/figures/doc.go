// Command figures checks the documentation against its commands. It runs the commands in README.md and in the pages of
// docs and its folders, with the tamtam of this tree. Then it compares their output with the page. `make figures` runs
// all commands. The gate runs those that end in seconds or have a short form.
//
// # Annotation
//
// A comment in front of a fenced block or a table marks its content as the output of commands:
//
//	<!-- figures: OPTION, OPTION
//	COMMAND
//	-->
//
// In a fenced block the lines "$ COMMAND" are run one after the other, and each must print the text below it. Commands
// in the comment run first, and must succeed. Any other block, such as a table, must be the combined output of the
// commands in the comment. A line "..." stands for any number of lines. Blanks at the end of a line and empty lines at
// the end of an output do not count. Standard error is part of the output.
//
//	long            the block needs more than seconds, so the gate does not run it in full. In the gate, bench runs
//	                in its short form, and later commands use its results: they must succeed, but their output is
//	                not compared. Other long blocks are skipped; experiments run in the tests of lab/experiments
//	machine         the output depends on the machine: numbers and column widths are not compared
//	mask REGEXP     matching text, such as a time or a port, is not compared (may be repeated; no commas)
//	fails           the last command must exit with another status than 0; without this option all must exit with 0
//	tree            the commands run in the root of the tree
//	with VARIABLE   the block is skipped, with a message, if this environment variable is not set
//	file NAME       the block is no output: it is written to this file, for later commands
//	picture FILE    in front of a line with a picture: the picture must be this file, which the commands make
//	setup           no block follows: the commands are run at this place of the page
//
// A block with commands, or without a language (such as ```json or ```text), needs a comment. So does a table with a
// column of measurements. Lines typed at tamtam's own shell (sonic# ...) are run as one session of `tamtam cli --echo`.
// A block that begins in a mode (sonic(config-tam)# ...) enters the mode first.
//
// # Where commands run
//
// Each page has a temporary folder with links to the tree's cmd, docs and lab. So a command works as a reader in the
// tree's root types it, and leaves its files elsewhere. data is the data directory of its switch, with the CA that
// other clients require. A "tamtam up" runs until the page ends, or the next "tamtam up" begins. Later commands run
// once the switch is up. It gets separate ports, and redis-cli, `tamtam cli`, `tamtam subscribe`, `tamtam trace` and
// `tamtam config` connect to it. A live switch needs a moment to apply a change. So a command that only reads is
// repeated for a while if its output differs from the page.
//
// With --port Ethernet0=eth1 the switch runs in a separate network namespace, in which eth1 is created for it. Later
// commands run there too. They send from host-eth1, the other end, which has only the addresses that they give it.
// Without namespaces, iproute2 or redis-cli, a page that needs them is skipped, with a message. A single block (-only
// PAGE:LINE) runs after the long setups of its page, if it is not in the gate.
package main
