//go:build unix

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/corehour/corehour/integration/harness"
)

const joinProgram = `package main

import (
	"fmt"
	"strings"
)

type joiner interface{ Join(words []string) string }

type text struct{}

func (text) Join(words []string) (all string) {
	%s
}

func render(j joiner, words []string) int { return len(strings.ToUpper(j.Join(words))) }

func main() {
	words, bytes := strings.Fields(strings.Repeat("word ", 1500)), 0
	for range 300 {
		bytes += render(text{}, words)
	}
	fmt.Println(bytes)
}
`

// The compiler could inline Join, whose only callers have an interface. It has a probe, so regress and cost name
// it, not its caller, after it has become quadratic.
func TestInstrument_QuadraticJoinBehindInterface(t *testing.T) {
	t.Parallel()
	releases := []struct{ version, body string }{
		{"1.9", "b := make([]byte, 0, 4*len(words))\n\tfor _, w := range words {\n\t\tb = append(b, w...)\n\t}\n\treturn string(b)"},
		{"1.10", "for _, w := range words {\n\t\tall += w\n\t}\n\treturn all"},
	}
	dir := t.TempDir()
	for _, r := range releases {
		tree := filepath.Join(dir, r.version)
		if err := os.Mkdir(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"go.mod": "module example.com/join\n\ngo 1.25\n", "main.go": fmt.Sprintf(joinProgram, r.body)} {
			if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := harness.BuildProbed(programs.command, tree, filepath.Join(tree, "join")); err != nil {
			t.Fatal(err)
		}
	}
	warehouse := filepath.Join(dir, "warehouse")
	for range 3 {
		for _, r := range releases {
			e := startExec(t, "--rate", "1", "--warehouse", warehouse, "--output", os.DevNull, "--", "env",
				"OTEL_SERVICE_NAME=join", "OTEL_RESOURCE_ATTRIBUTES=service.version="+r.version, filepath.Join(dir, r.version, "join"))
			e.line(t, "1800000")
			e.finish(t, 0)
		}
	}
	command := harness.Command{Binary: programs.command, Warehouse: warehouse}
	found, err := command.Regress(t.Context(), "--method", "threshold", "--warm-up", "0s") // each process runs for a second
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Alerts) != 1 || found.Alerts[0].Class != "example.com/join.text" || found.Alerts[0].Method != "Join" || found.Alerts[0].ChangePercent < 100 {
		t.Errorf("alerts: %+v\n%s", found.Alerts, found.Output)
	}
	costs, err := command.Cost(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first := costs.Methods[0]; first.Class != "example.com/join.text" || first.Method != "Join" {
		t.Errorf("the first line of cost: %+v", first)
	}
}
