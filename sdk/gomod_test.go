package corehour

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The module must fit into any program: it requires nothing, and states the older of the two supported Go
// releases.
func TestGoMod_NoDependencies(t *testing.T) {
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		switch word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "", "module", "go":
		default:
			t.Errorf("go.mod says %q", strings.TrimSpace(line))
		}
	}
	release := regexp.MustCompile(`(?m)^go (1\.\d+)\.0$`).FindSubmatch(data)
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if release == nil || !strings.Contains(string(readme), "Go "+string(release[1])+" and") {
		t.Errorf("go.mod and README.md do not name the same oldest release of Go: %s", release)
	}
}
