//go:build race

package maintain_test

const raceDetector = true
