// Package featuretest checks for the tests of every TAM feature what a [feature.Feature] keeps: [Whole]
// after any step, [Empty] at the end.
//
// [Extensions] is what the chips of these tests have in common: the calls on extensions, without their
// meaning.
//
// What belongs here: what is true of any feature. What one feature keeps belongs to its tests.
package featuretest
