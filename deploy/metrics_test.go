package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// metric is what is known of a metric from the file its component is generated
// from.
type metric struct {
	ours   bool
	loss   bool // its description says that something is lost
	labels []string
	values map[string][]string // of labels that are enumerations
}

// metadata is the part of a component's metadata.yaml that names metrics.
type metadata struct {
	Attributes map[string]struct {
		Enum []string `json:"enum"`
	} `json:"attributes"`
	Telemetry struct {
		Metrics map[string]struct {
			Description string   `json:"description"`
			Attributes  []string `json:"attributes"`
		} `json:"metrics"`
	} `json:"telemetry"`
}

// helpers are the collector's packages that every exporter and receiver reports
// through, with the labels they add.
var helpers = map[string][]string{
	"go.opentelemetry.io/collector/exporter/exporterhelper": {"exporter", "data_type"},
	"go.opentelemetry.io/collector/receiver/receiverhelper": {"receiver", "transport"},
}

// knownMetrics reads the metadata of our components and of the helpers. Names are
// those of the reader in config/collector.yaml, which adds no suffixes.
func knownMetrics(t *testing.T) map[string]metric {
	t.Helper()
	found := map[string]metric{"up": {}} // Prometheus makes it
	for _, pattern := range []string{"receiver/*", "processor/*", "exporter/*", "extension/*"} {
		paths, err := filepath.Glob(filepath.Join("..", pattern, "metadata.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			readMetadata(t, path, true, nil, found)
		}
	}
	for module, added := range helpers {
		out, err := exec.CommandContext(t.Context(), "go", "-C", "..", "list", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", module, err)
		}
		readMetadata(t, filepath.Join(strings.TrimSpace(string(out)), "metadata.yaml"), false, added, found)
	}
	return found
}

func readMetadata(t *testing.T, path string, ours bool, added []string, into map[string]metric) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m metadata
	if err := yaml.Unmarshal(data, &m); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for name, described := range m.Telemetry.Metrics {
		entry := metric{
			ours:   ours,
			loss:   regexp.MustCompile(`\b(are|was|were) lost\b`).MatchString(described.Description),
			labels: append(described.Attributes, added...),
			values: make(map[string][]string),
		}
		for _, attribute := range described.Attributes {
			if enum := m.Attributes[attribute].Enum; len(enum) > 0 {
				entry.values[attribute] = enum
			}
		}
		into["otelcol_"+name] = entry
	}
}

// TestDocumentedMetricsExist looks up every metric that a page of documentation
// names, and every metric of ours that means a loss in the page on troubleshooting.
func TestDocumentedMetricsExist(t *testing.T) {
	metrics := knownMetrics(t)
	pages, err := filepath.Glob(filepath.Join("..", "docs", "*", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range append(pages, filepath.Join("..", "config", "tee.yaml")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\botelcol_\w+`).FindAllString(string(text), -1) {
			if _, ok := metrics[name]; !ok {
				t.Errorf("%s names the metric %s, which no component has", filepath.Base(page), name)
			}
		}
	}
	troubleshooting, err := os.ReadFile(filepath.Join("..", "docs", "guides", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range metrics {
		if m.ours && (m.loss || regexp.MustCompile(`lost|damaged|unknown|refused|failures|behind|overflow|folded|duplicates|skipped|faults|forgotten|reloads|contradictions|unpriced`).MatchString(name)) &&
			!strings.Contains(string(troubleshooting), "`"+name+"`") {
			t.Errorf("docs/guides/troubleshooting.md does not explain %s", name)
		}
	}
}
