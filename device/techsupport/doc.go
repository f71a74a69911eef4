// Package techsupport packs the facts about an installation into one archive, for people without access to it:
// databases, reports of Redis and the daemons, the doctor's findings, facts of the machine. Secrets are left out, and
// the manifest lists what could not be collected.
package techsupport
