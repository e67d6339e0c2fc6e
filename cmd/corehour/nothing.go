package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// nothing returns the error for filters that no row passed, with names that exist.
func (c *common) nothing(ctx context.Context, w *query.Warehouse) error {
	services, err := w.Services(ctx)
	if err != nil {
		return err
	}
	what := "any service"
	var names, namespaces, environments []string
	for _, s := range services {
		names, namespaces, environments = append(names, s.Name), append(namespaces, s.Namespace), append(environments, s.Environment)
	}
	hint := func(found string, all []string) string {
		slices.Sort(all)
		all = slices.Compact(all)
		if slices.Contains(all, found) {
			return ""
		}
		if h := configfile.DidYouMean(found, all); h != "" {
			return " (" + h + ")"
		}
		return ""
	}
	if c.filter.Service != "" {
		what = fmt.Sprintf("service %q", c.filter.Service) + hint(c.filter.Service, names)
	}
	if c.filter.Namespace != "" {
		what += fmt.Sprintf(" in namespace %q", c.filter.Namespace) + hint(c.filter.Namespace, namespaces)
	}
	if c.filter.Environment != "" {
		what += fmt.Sprintf(" in environment %q", c.filter.Environment) + hint(c.filter.Environment, environments)
	}
	return fmt.Errorf("%w: nothing of %s %s", query.ErrNoData, what, c.span())
}

func (c *common) span() string {
	from, to := "since the first row", "until now"
	if !c.window.From.IsZero() {
		from = "from " + output.Time(c.window.From, c.zone)
	}
	if !c.window.To.IsZero() {
		to = "to " + output.Time(c.window.To, c.zone)
	}
	return from + " " + to
}
