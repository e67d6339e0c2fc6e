package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// files are the collector configurations by name.
var files = map[string]string{
	"collector.yaml": Collector,
	"tee.yaml":       Tee,
	"bucket.yaml":    Bucket,
	"gateway.yaml":   Gateway,
	"tokens.yaml":    Tokens,
	"agent.yaml":     Agent,
}

var reference = regexp.MustCompile(`\$\{(env|required):([A-Z0-9_]+)(:-([^}]*))?\}`)

// TestVariables_Documented compares the environment variables of a file with the list in its head.
func TestVariables_Documented(t *testing.T) {
	common := headOf(Collector)
	for name, text := range files {
		head := headOf(text)
		if name != "collector.yaml" && !strings.Contains(head, "and the variables of collector.yaml") {
			t.Errorf("%s: the head does not point to the variables of collector.yaml", name)
		}
		body := withoutComments(text)
		for _, match := range reference.FindAllStringSubmatch(body, -1) {
			variable, hasDefault, value := match[2], match[3] != "", match[4]
			line := lineAbout(head, variable)
			if line == "" && hasDefault {
				line = lineAbout(common, variable)
			}
			switch {
			case hasDefault == (match[1] == "required"):
				t.Errorf("%s: %s must either have a default or be required, found %s", name, variable, match[0])
			case line == "":
				t.Errorf("%s: %s is not documented in the head", name, variable)
			case !hasDefault && !strings.Contains(paragraphAbout(head, variable), "must be set"):
				t.Errorf("%s: %s has no default, and the head does not say that it must be set", name, variable)
			case name == "collector.yaml" && value != "" && !strings.HasSuffix(line, " "+value):
				t.Errorf("%s: %s has the default %q, the head says %q", name, variable, value, line)
			}
		}
	}
	for line := range strings.Lines(common) {
		fields := strings.Fields(line)
		if len(fields) > 1 && strings.HasPrefix(fields[1], "COREHOUR_") && !strings.Contains(Collector, "${env:"+fields[1]+":-") {
			t.Errorf("collector.yaml: the head names %s, which is not read", fields[1])
		}
	}
}

// TestVariables_OneDefault checks that a variable has one default, except where a head explains another.
func TestVariables_OneDefault(t *testing.T) {
	explained := []string{
		"COREHOUR_GRPC_ENDPOINT", "COREHOUR_HTTP_ENDPOINT", "COREHOUR_RATES_ADDRESS", "COREHOUR_JAEGER_ADDRESS", // a gateway listens on every address
		"COREHOUR_MEMORY_LIMIT_MIB", "COREHOUR_MEMORY_SPIKE_MIB", // an agent is small, a gateway large
	}
	defaults := make(map[string]map[string]bool)
	for _, text := range files {
		for _, match := range reference.FindAllStringSubmatch(withoutComments(text), -1) {
			variable := match[2]
			if defaults[variable] == nil {
				defaults[variable] = make(map[string]bool)
			}
			defaults[variable][match[4]] = true
		}
	}
	for variable, values := range defaults {
		if len(values) > 1 && !slices.Contains(explained, variable) {
			t.Errorf("%s has several defaults: %q", variable, slices.Sorted(maps.Keys(values)))
		}
	}
}

// headOf is the comment at the top.
func headOf(text string) string {
	head, _, _ := strings.Cut(text, "\n\nreceivers:")
	return head
}

func lineAbout(head, variable string) string {
	for line := range strings.Lines(head) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[1] == variable {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// paragraphAbout returns the line about a variable and its continuation lines.
func paragraphAbout(head, variable string) string {
	_, rest, ok := strings.Cut(head, "#   "+variable+" ")
	if !ok {
		return ""
	}
	if next := strings.Index(rest, "COREHOUR_"); next >= 0 {
		rest = rest[:next]
	}
	return rest
}

func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}
