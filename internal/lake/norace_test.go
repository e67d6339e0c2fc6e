//go:build !race

package lake_test

const raceDetector = false
