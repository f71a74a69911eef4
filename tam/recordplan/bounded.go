//go:build !race

package recordplan

const bounded = true
