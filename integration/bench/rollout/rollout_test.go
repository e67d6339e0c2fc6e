//go:build linux

package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/corehour/corehour/integration/harness"
)

// TestRollout_OnlyPlantedFunctionIsRaised runs the shortest form: a broker for four minutes as it is, and with a function
// that takes twice its time.
func TestRollout_OnlyPlantedFunctionIsRaised(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Chdir(filepath.Join("..", ".."))
	bin, err := harness.Binaries(harness.CommandBinary, harness.CollectorBinary)
	if err != nil {
		t.Fatal(err)
	}
	o := options{
		bin: bin, out: t.TempDir(), config: "../config/collector.yaml", keep: t.TempDir(),
		duration: 4 * time.Minute, strict: true, servers: []string{"nats"}, processes: []int{1}, changes: []int{0, 100},
	}
	if err := o.run(t.Context()); err != nil {
		t.Error(err)
	}
}
