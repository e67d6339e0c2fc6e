package main

import (
	"io"
	"strings"
	"testing"
)

func TestSimulate_NoDeployments(t *testing.T) {
	if err := simulate(0, "", seed, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "--deployments") {
		t.Errorf("accepted: %v", err)
	}
}

func TestSimulate_UnknownTable(t *testing.T) {
	if err := simulate(1, "weather", seed, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "--only") {
		t.Errorf("accepted: %v", err)
	}
}
