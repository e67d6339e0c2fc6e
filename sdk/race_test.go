//go:build race

package corehour

const raceEnabled = true
