package evaluation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/cost"
	"github.com/corehour/corehour/regression/drift"
	"github.com/corehour/corehour/regression/query"
)

// serviceHistory holds the days of one service.
type serviceHistory struct {
	drift.History
	query.Service
	metric query.Metric
	names  []query.MethodDay // of each method: class, method and signature
	first  time.Time         // the date of day 0
	silent bool              // without rows for so long that no drift is current
	// cost returns the daily cost of the service in a window.
	cost        func(query.Window) (*cost.Day, error)
	deployments []pairs.Deployment
	// assumed is the share of measured calls without a known sampling probability.
	assumed float64

	methods, callers map[string]int32
}

// days returns the part of the window that consists of closed days (UTC).
func (o *Options) days() (query.Window, error) {
	w := o.Window
	if w.To.IsZero() || w.To.After(o.Now) {
		w.To = o.Now
	}
	w.To = w.To.UTC().Truncate(24 * time.Hour)
	if !w.From.IsZero() {
		w.From = w.From.UTC().Truncate(24 * time.Hour)
	}
	if !w.From.Before(w.To) {
		return w, fmt.Errorf("%w: no closed day (UTC) %s", query.ErrNoData, o.Window.Span(o.Zone))
	}
	return w, nil
}

// needsDays adds the number of days that a drift needs to query.ErrNoData.
func needsDays(err error) error {
	if !errors.Is(err, query.ErrNoData) {
		return err
	}
	return fmt.Errorf("%w; drift needs closed days (UTC), and of each method %d of the 56 before each of nine consecutive days", err, drift.LeastDays)
}

// histories reads the days of all services, each for its metric.
func (o *Options) histories(ctx context.Context, w *query.Warehouse, window query.Window) ([]*serviceHistory, error) {
	runs, err := w.Runs(ctx, window, o.Filter)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, needsDays(w.NoRowsError(ctx, o.Filter, o.Window, o.Zone))
	}
	metrics := o.metricsOf(runs)
	asked := map[query.Metric]bool{}
	for _, metric := range metrics {
		asked[metric] = true
	}
	var all []*serviceHistory
	for _, metric := range []query.Metric{query.CPU, query.Wall} {
		if !asked[metric] {
			continue
		}
		var h *serviceHistory
		err := w.Days(ctx, metric, window, o.Filter, func(row *query.MethodDay) error {
			if metrics[row.Service] != metric {
				return nil
			}
			if h == nil || h.Service != row.Service {
				h = &serviceHistory{Service: row.Service, metric: metric, methods: map[string]int32{}, callers: map[string]int32{}}
				all = append(all, h)
			}
			h.addRow(row)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: calls were counted %s, and none was measured", query.ErrNoData, o.Window.Span(o.Zone))
	}
	byService := pairs.ByService(runs)
	for _, h := range all {
		h.finish(window.To)
		h.deployments = pairs.Deployments(byService[h.Service])
		h.assumed = assumedOf(byService[h.Service])
		h.cost = func(window query.Window) (*cost.Day, error) {
			return cost.DayOf(ctx, w, window, h.Service, "", cost.Options{})
		}
	}
	return all, nil
}

func assumedOf(runs []query.Run) float64 {
	var assumed, measured int64
	for i := range runs {
		assumed, measured = assumed+runs[i].Assumed, measured+runs[i].Measured
	}
	return float64(assumed) / float64(max(1, measured))
}

// metricsOf returns the metric by which each service is evaluated.
func (o *Options) metricsOf(runs []query.Run) map[query.Service]query.Metric {
	out := map[query.Service]query.Metric{}
	for i := range runs {
		r := &runs[i]
		switch {
		case o.Metric != "":
			out[r.Service] = o.Metric
		case r.CPUMeasured > 0:
			out[r.Service] = query.CPU
		case out[r.Service] == "":
			out[r.Service] = query.Wall
		}
	}
	return out
}

// addRow adds a row. Days are counted from 1970 until finish knows the first day.
func (h *serviceHistory) addRow(row *query.MethodDay) {
	m, known := h.methods[row.Full]
	if !known {
		m = int32(len(h.names))
		h.methods[row.Full] = m
		h.names = append(h.names, *row)
		h.Methods = append(h.Methods, row.Full)
	}
	c, known := h.callers[row.Caller]
	if !known {
		c = int32(len(h.Callers))
		h.callers[row.Caller] = c
		h.Callers = append(h.Callers, row.Caller)
	}
	h.Rows = append(h.Rows, drift.Day{
		Method: m, Caller: c, Day: int32(row.Date.Unix() / 86400),
		Records: row.Records, Weight: row.Weight, Capped: row.Capped, Log: row.Log,
	})
}

// silence is the maximum time without rows for a drift to be current: two weeks.
const silence = 14 * 24 * time.Hour

func (h *serviceHistory) finish(end time.Time) {
	first, last := h.Rows[0].Day, h.Rows[0].Day
	for i := range h.Rows {
		first, last = min(first, h.Rows[i].Day), max(last, h.Rows[i].Day)
	}
	for i := range h.Rows {
		h.Rows[i].Day -= first
	}
	h.first = time.Unix(int64(first)*86400, 0).UTC()
	h.Days = int(last-first) + 1
	h.silent = end.Sub(h.day(h.Days)) >= silence
}

// day is the date of a day of the history.
func (h *serviceHistory) day(n int) time.Time { return h.first.AddDate(0, 0, n) }
