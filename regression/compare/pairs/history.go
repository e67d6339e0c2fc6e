package pairs

import (
	"context"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/probecost"
	"github.com/corehour/corehour/regression/query"
)

const (
	// historyDays is the number of days before the newest row of a service in which earlier deployments are read.
	historyDays = 28
	// earlierPairs is the maximum number of earlier deployments of a service that are read.
	earlierPairs = 5
)

// history reads the differences between processes in earlier deployments of a service: from the window of the warehouse
// and, if these are too few, from the time before it.
type history struct {
	w       *query.Warehouse
	options Options
	costs   probecost.Table
	longer  *query.Warehouse // opened with the longer window when it is needed
	from    time.Time        // start of the longer window
}

func (h *history) close() {
	if h.longer != nil {
		_ = h.longer.Close()
	}
}

func (h *history) of(ctx context.Context, p Pair) ([]evidence.ProcessDifferences, error) {
	from := p.Head.Last.Add(-historyDays * day).Truncate(day) // usually the same for all services
	short := len(p.Earlier) < earlierPairs && h.w.Window.From.After(from)
	if !h.w.InFiles() {
		return h.billed(ctx, p, from, short)
	}
	if !short {
		return h.differences(ctx, h.w, p.Earlier)
	}
	if err := h.open(ctx, from); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil { // a cache can be too small for more days: use the window only
		return h.differences(ctx, h.w, p.Earlier)
	}
	pairs, err := h.earlier(ctx, p, from)
	if err != nil {
		return nil, err
	}
	return h.differences(ctx, h.longer, pairs)
}

// earlier returns the deployments of a service in the longer window that come before pair p.
func (h *history) earlier(ctx context.Context, p Pair, from time.Time) ([]Pair, error) {
	runs, err := h.longer.RunsBy(ctx, h.options.Unit(), query.Window{From: from, To: p.Head.First}, query.Filter{Namespace: p.Namespace, Service: p.Name, Environment: p.Environment})
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r query.Run) bool { return r.Service != p.Service })
	return earlierOf(p.Service, Deployments(runs), p), nil
}

// open opens the warehouse with a window that starts at from or earlier.
func (h *history) open(ctx context.Context, from time.Time) error {
	if h.longer != nil && !h.from.After(from) {
		return nil
	}
	h.close()
	w, err := h.w.Reopen(ctx, query.Window{From: from, To: h.w.Window.To})
	h.longer, h.from = w, from
	return err
}

func (h *history) differences(ctx context.Context, w *query.Warehouse, pairs []Pair) ([]evidence.ProcessDifferences, error) {
	var out []evidence.ProcessDifferences
	for _, p := range pairs {
		seen, err := h.difference(ctx, w, p)
		if err != nil {
			return nil, err
		}
		out = append(out, seen)
	}
	return out, nil
}

func (h *history) difference(ctx context.Context, w *query.Warehouse, p Pair) (evidence.ProcessDifferences, error) {
	prepared, err := assembleAll(ctx, w, p, h.options, h.costs)
	if err != nil {
		return evidence.ProcessDifferences{}, err
	}
	return evidence.MeasureDifferences(prepared[0].deployment, h.options.rule())
}
