// Package featuretest checks the invariants of a [feature.Feature] in the tests of every TAM feature: [Whole] after
// any step, [Empty] at the end.
//
// [Extensions] is the common part of the chips in these tests: the calls on extensions, without their meaning.
//
// This package checks properties that all features have. Properties of one feature belong to its tests.
package featuretest
