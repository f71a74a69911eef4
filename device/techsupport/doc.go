// Package techsupport packs what is to be known of an installation into one archive, for those who were not there:
// databases, what Redis and the daemons say, what the doctor finds, facts of the machine. Secrets are left out, and
// what could not be collected is said in its manifest.
package techsupport
