// Package techsupport packs the facts about an installation into one archive, for people without access to it. It
// collects databases, reports of Redis and the daemons, the doctor's findings, and facts about the machine. Secrets are
// omitted, and the manifest lists items that could not be collected.
package techsupport
