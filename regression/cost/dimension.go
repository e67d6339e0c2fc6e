package cost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/query"
)

// Dimension is an attribute that costs are grouped by.
type Dimension string

const (
	ByMethod      Dimension = "method"
	ByClass       Dimension = "class"
	ByService     Dimension = "service"
	ByVersion     Dimension = "version"
	ByEnvironment Dimension = "environment"
	ByOwner       Dimension = "owner"
	ByCaller      Dimension = "caller"
	ByGroup       Dimension = "group"
)

// columnsOf maps a dimension to the columns that identify its groups.
var columnsOf = map[Dimension][]string{
	ByMethod:      {"service_namespace", "service", "environment", "class", "method"},
	ByClass:       {"service_namespace", "service", "environment", "class"},
	ByService:     {"service_namespace", "service", "environment"},
	ByVersion:     {"service_namespace", "service", "environment", "version"},
	ByEnvironment: {"environment"},
	ByOwner:       {"owner"},
	ByGroup:       {"goroutine_group"},
	ByCaller:      {"service_namespace", "service", "environment"},
}

// allDimensions are all dimensions.
var allDimensions = []Dimension{ByMethod, ByClass, ByService, ByVersion, ByCaller, ByEnvironment, ByOwner, ByGroup}

// ParseBy parses a comma-separated list of dimensions, such as `service,version`.
func ParseBy(s string) ([]Dimension, error) {
	var out []Dimension
	for part := range strings.SplitSeq(s, ",") {
		d := Dimension(strings.TrimSpace(part))
		switch {
		case !slices.Contains(allDimensions, d):
			known := names(allDimensions)
			return nil, fmt.Errorf("--by: want some of %s, found %q (%s)", strings.Join(known, ", "), part, configfile.DidYouMean(string(d), known))
		case slices.Contains(out, d):
			return nil, fmt.Errorf("--by: want each once, found %q twice", d)
		}
		out = append(out, d)
	}
	return out, nil
}

func names(dimensions []Dimension) []string {
	out := make([]string, len(dimensions))
	for i, d := range dimensions {
		out[i] = string(d)
	}
	return out
}

// columns returns the columns of all dimensions in the order of query.GroupColumns.
func columns(by []Dimension) []string {
	var out []string
	for _, c := range query.GroupColumns {
		if slices.ContainsFunc(by, func(d Dimension) bool { return slices.Contains(columnsOf[d], c) }) {
			out = append(out, c)
		}
	}
	return out
}

// grouper is the set of columns to group by.
type grouper map[string]bool

func newGrouper(by []Dimension) grouper {
	g := grouper{}
	for _, c := range columns(by) {
		g[c] = true
	}
	return g
}

func (g grouper) groupOf(m *query.MethodCost) query.Group {
	only := func(column, value string) string {
		if g[column] {
			return value
		}
		return ""
	}
	return query.Group{
		Service: query.Service{
			Namespace: only("service_namespace", m.Namespace), Name: only("service", m.Name), Environment: only("environment", m.Environment),
		},
		Version: only("version", m.Version), Class: only("class", m.Class), Method: only("method", m.Method), Owner: only("owner", m.Owner),
		GoroutineGroup: only("goroutine_group", m.GoroutineGroup),
	}
}
