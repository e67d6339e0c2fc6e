package query

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/regression/output"
)

// NoRowsError returns the error for a window without rows that pass a filter, with suggestions of existing names.
// Times are printed in zone.
func (w *Warehouse) NoRowsError(ctx context.Context, filter Filter, window Window, zone *time.Location) error {
	services, err := w.Services(ctx)
	if err != nil {
		return err
	}
	what := "any service"
	if filter.Service != "" {
		what = "service " + quoteWithHint(filter.Service, services, func(s Service) string { return s.Name })
	}
	if filter.Namespace != "" {
		what += " in namespace " + quoteWithHint(filter.Namespace, services, func(s Service) string { return s.Namespace })
	}
	if filter.Environment != "" {
		what += " in environment " + quoteWithHint(filter.Environment, services, func(s Service) string { return s.Environment })
	}
	return &NoRows{fmt.Errorf("%w: nothing of %s %s", ErrNoData, what, window.Span(zone)), newest(w.Snapshot)}
}

// NoRows is the error for a window without rows, with the start of the warehouse's newest row, zero if it is unknown.
type NoRows struct {
	error
	Newest time.Time
}

// Unwrap returns the error without the newest row.
func (n *NoRows) Unwrap() error { return n.error }

// newest returns the start of the newest row of the files.
func newest(s *table.Snapshot) time.Time {
	last := int64(0)
	if s != nil {
		for _, f := range s.Files {
			last = max(last, f.MaxStartNS)
		}
	}
	if last == 0 {
		return time.Time{}
	}
	return time.Unix(0, last).UTC()
}

// quoteWithHint quotes a requested name and, if it does not exist, adds similar existing names.
func quoteWithHint(found string, services []Service, name func(Service) string) string {
	var all []string
	for _, s := range services {
		all = append(all, name(s))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	quoted := fmt.Sprintf("%q", found)
	if hint := configfile.DidYouMean(found, all); hint != "" && !slices.Contains(all, found) {
		return quoted + " (" + hint + ")"
	}
	return quoted
}

// Span describes a window in words.
func (w Window) Span(zone *time.Location) string {
	from, to := "since the first row", "until now"
	if !w.From.IsZero() {
		from = "from " + output.Time(w.From, zone)
	}
	if !w.To.IsZero() {
		to = "to " + output.Time(w.To, zone)
	}
	return from + " " + to
}
