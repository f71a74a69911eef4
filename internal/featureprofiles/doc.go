// Featureprofiles runs tests of openconfig/featureprofiles on a switch, each on a fresh one, and compares their results
// with a table.
//
//	go run ./internal/featureprofiles -dir FOLDER [-tamtam FILE] [-only PATTERN] [-jobs N]
//
// FOLDER/src/featureprofiles is a checkout, and FOLDER/bin/NAME.test the test binary of the folder NAME in it. Logs are
// written to FOLDER/log. FILE is the program tamtam. -only selects folders by a regular expression.
//
// tests.txt is the table. It names all tests for one device and gNMI alone, and further ones, with their results. A
// test that passes has the word passes. Any other has a reason: an absent feature, a traffic generator, or names of a
// vendor. The run fails if a test does not have the result of the table, or is not in the table. A test without binary
// is an error, unless the table gives one reason for its whole folder.
//
// A test reads its deviations from metadata.textproto. It runs in a copy of its folder, whose metadata.textproto has
// the deviations of tests.txt for the vendor OPENCONFIG. Some tests have names of a vendor's ports in their source.
//
//	go run ./internal/featureprofiles -dir FOLDER -edit
//
// writes copies of these files, with the edits that tests.txt lists, to FOLDER/edited. The file overlay.json there maps
// files of the checkout to them.
package main
