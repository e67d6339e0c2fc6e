package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var (
	variable = regexp.MustCompile(`\b(COREHOUR|OTEL)_[A-Z0-9_]+\b`)
	getenv   = regexp.MustCompile(`"((?:COREHOUR|OTEL)_[A-Z0-9_]+)"`)
	fromEnv  = regexp.MustCompile(`\$\{(?:env|required):([A-Z0-9_]+)`)
)

// variablesRead returns the variables that a configuration or a program of this
// repository reads.
func variablesRead(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	collect := func(pattern string, form *regexp.Regexp) {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no files: %v", pattern, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range form.FindAllStringSubmatch(string(text), -1) {
				found[match[1]] = path
			}
		}
	}
	collect("config/*.yaml", fromEnv)
	collect("sdk/*.go", getenv)
	return found
}

// TestPages_VariablesExist compares the variables of the documentation with those that
// are read, in both directions.
func TestPages_VariablesExist(t *testing.T) {
	read := variablesRead(t)
	pages := pages(t)
	for page, text := range pages {
		if !strings.HasPrefix(page, "docs/") && page != "README.md" {
			continue
		}
		for _, name := range variable.FindAllString(text, -1) {
			if read[name] == "" {
				t.Errorf("%s names %s, which nothing reads", page, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if !strings.Contains(pages["docs/reference/configuration.md"], "`"+name+"`") {
			t.Errorf("docs/reference/configuration.md does not explain %s, which %s reads", name, read[name])
		}
	}
}

// TestPages_YAMLBlocksParse parses every YAML block of a page.
func TestPages_YAMLBlocksParse(t *testing.T) {
	blocks := 0
	for page, text := range pages(t) {
		for _, match := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1) {
			blocks++
			var into any
			if err := yaml.UnmarshalStrict([]byte(match[1]), &into); err != nil {
				t.Errorf("%s: %v\n%s", page, err, match[1])
			}
		}
	}
	if blocks == 0 {
		t.Error("no page shows YAML")
	}
}
