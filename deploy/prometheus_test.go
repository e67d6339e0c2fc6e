package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// ruleFile is a Prometheus rule file, with the fields that ours uses.
type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func readRules(t *testing.T) ruleFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("prometheus", "corehour.rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file ruleFile
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRules_Complete(t *testing.T) {
	seen := make(map[string]bool)
	file := readRules(t)
	if first := file.Groups[0].Name; first != "corehour-loss" {
		t.Errorf("the first group is %s: losses come first", first)
	}
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			if !regexp.MustCompile(`^Corehour[A-Z]\w+$`).MatchString(r.Alert) || seen[r.Alert] {
				t.Errorf("%s: a name must begin with Corehour and come once", r.Alert)
			}
			seen[r.Alert] = true
			if r.For != "" {
				if _, err := time.ParseDuration(r.For); err != nil {
					t.Errorf("%s: for: %v", r.Alert, err)
				}
			}
			if want := map[string]string{"corehour-loss": "page", "corehour-precision": "ticket"}[group.Name]; r.Labels["severity"] != want {
				t.Errorf("%s: severity is %q, the group's is %q", r.Alert, r.Labels["severity"], want)
			}
			for _, name := range []string{"summary", "description", "runbook"} {
				if r.Annotations[name] == "" {
					t.Errorf("%s: annotation %s is missing", r.Alert, name)
				}
			}
			checkRunbook(t, r)
			for name, text := range r.Annotations {
				checkTemplate(t, r.Alert+": "+name, text)
			}
		}
	}
}

// checkRunbook checks that the runbook link leads to a heading of the documentation.
func checkRunbook(t *testing.T, r rule) {
	t.Helper()
	page, anchor, _ := strings.Cut(r.Annotations["runbook"], "#")
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Errorf("%s: runbook: %v", r.Alert, err)
		return
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			heading := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
			if strings.ReplaceAll(heading, " ", "-") == anchor {
				return
			}
		}
	}
	t.Errorf("%s: runbook: %s has no heading %q", r.Alert, page, anchor)
}

// checkTemplate parses an annotation as Prometheus does, with its variables and the functions that we use.
func checkTemplate(t *testing.T, where, text string) {
	t.Helper()
	functions := template.FuncMap{"humanizeDuration": func(any) string { return "" }}
	if _, err := template.New(where).Funcs(functions).Parse("{{$labels := .Labels}}{{$value := .Value}}" + text); err != nil {
		t.Error(err)
	}
}

// TestRules_NamesExist parses every expression and checks that its metrics and labels exist. It also
// checks that both sides of a comparison have the same labels.
func TestRules_NamesExist(t *testing.T) {
	metrics := knownMetrics(t)
	promql := parser.NewParser(parser.Options{})
	for _, group := range readRules(t).Groups {
		for _, r := range group.Rules {
			expr, err := promql.ParseExpr(r.Expr)
			if err != nil {
				t.Errorf("%s: %v", r.Alert, err)
				continue
			}
			checkOperands(t, r.Alert, expr, metrics)
			used := 0
			var outgoing []string // labels of the metrics in the expression
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				selector, ok := node.(*parser.VectorSelector)
				if !ok {
					return nil
				}
				used++
				metric, ok := metrics[selector.Name]
				if !ok {
					t.Errorf("%s: no component has a metric %s", r.Alert, selector.Name)
					return nil
				}
				outgoing = append(outgoing, metric.labels...)
				for _, matcher := range selector.LabelMatchers {
					if matcher.Name != "__name__" {
						checkMatcher(t, r.Alert, selector.Name, metric, matcher)
					}
				}
				return nil
			})
			if used == 0 {
				t.Errorf("%s: asks for no metric", r.Alert)
			}
			for _, match := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations["summary"], -1) {
				if !slices.Contains(append(outgoing, "instance", "job"), match[1]) {
					t.Errorf("%s: the summary shows the label %s, which the metrics do not have", r.Alert, match[1])
				}
			}
		}
	}
}

// checkMatcher checks that a matcher can match at least one value of its label.
func checkMatcher(t *testing.T, alert, name string, m metric, matcher *labels.Matcher) {
	t.Helper()
	if matcher.Name == "job" {
		return // set by the scrape configuration
	}
	if !slices.Contains(m.labels, matcher.Name) {
		t.Errorf("%s: %s has no label %s", alert, name, matcher.Name)
		return
	}
	values, ok := m.values[matcher.Name]
	if !ok {
		return // not an enumeration
	}
	if !slices.ContainsFunc(values, matcher.Matches) {
		t.Errorf("%s: %s matches none of %q", alert, matcher, values)
	}
}

// checkOperands checks that the two sides of a binary expression can match. They match on all their labels,
// so a label that only one side has makes the result always empty. It returns the labels of expr's series.
func checkOperands(t *testing.T, where string, expr parser.Expr, metrics map[string]metric) []string {
	t.Helper()
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return append([]string{"instance", "job"}, metrics[e.Name].labels...)
	case *parser.AggregateExpr:
		inner := checkOperands(t, where, e.Expr, metrics)
		return slices.DeleteFunc(inner, func(label string) bool { return slices.Contains(e.Grouping, label) == e.Without })
	case *parser.BinaryExpr:
		left, right := checkOperands(t, where, e.LHS, metrics), checkOperands(t, where, e.RHS, metrics)
		if m := e.VectorMatching; m != nil && e.Op != parser.LOR {
			unmatched := func(label string) bool { return slices.Contains(m.MatchingLabels, label) != m.On }
			l, r := slices.DeleteFunc(slices.Clone(left), unmatched), slices.DeleteFunc(slices.Clone(right), unmatched)
			slices.Sort(l)
			slices.Sort(r)
			if !slices.Equal(l, r) {
				t.Errorf("%s: %s: %q on the left are matched with %q on the right", where, e, l, r)
			}
		}
		if e.LHS.Type() == parser.ValueTypeScalar {
			return right
		}
		return left
	}
	var found []string
	for child := range parser.ChildrenIter(expr) {
		if inner, ok := child.(parser.Expr); ok {
			found = append(found, checkOperands(t, where, inner, metrics)...)
		}
	}
	return found
}

// TestRules_EveryLossHasAlert checks that an alert exists for every metric of ours that indicates losses, damage,
// unknown or refused data, failures, or a bucket that is behind.
func TestRules_EveryLossHasAlert(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("prometheus", "corehour.rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range knownMetrics(t) {
		if m.ours && (m.loss || regexp.MustCompile(`lost|damaged|unknown|rows_refused|failures|behind`).MatchString(name)) &&
			!regexp.MustCompile(`\b`+name+`\b`).Match(data) {
			t.Errorf("%s has no alert", name)
		}
	}
}
