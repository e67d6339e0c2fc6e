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

// metric describes a metric as its component's metadata.yaml does.
type metric struct {
	ours   bool
	loss   bool // the description mentions a loss
	labels []string
	values map[string][]string // allowed values of labels that are enumerations
}

// metadata is the part of a component's metadata.yaml that describes metrics.
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

// helpers are the collector's packages that report metrics for every exporter and receiver, with the labels
// that they add.
var helpers = map[string][]string{
	"go.opentelemetry.io/collector/exporter/exporterhelper": {"exporter", "data_type"},
	"go.opentelemetry.io/collector/receiver/receiverhelper": {"receiver", "transport"},
}

// knownMetrics returns the metrics of our components and of the helpers, by the name that the reader in
// config/collector.yaml exposes. This reader adds no suffixes.
func knownMetrics(t *testing.T) map[string]metric {
	t.Helper()
	found := map[string]metric{
		"up": {}, // Prometheus adds it
		// extension/filestorage, a wrapper without a metadata.yaml, adds it.
		"otelcol_extension_file_storage_damaged": {ours: true, labels: []string{"outcome"}, values: map[string][]string{"outcome": {"moved", "kept"}}},
	}
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

// TestMetrics_DocumentedExist checks that every metric on a page of the documentation exists, and that the
// troubleshooting page explains every metric of ours that indicates a loss or a fault.
func TestMetrics_DocumentedExist(t *testing.T) {
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
