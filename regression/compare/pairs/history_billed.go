package pairs

import (
	"context"
	"errors"
	"time"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/query"
)

// Remembered caches, for a day, the differences between processes in earlier deployments. Where reads are billed, each
// evaluation would otherwise pay again for data that no longer changes, except for late rows.
type Remembered struct{ of map[deployed]remembered }

type deployed struct {
	query.Service
	version string
}

type remembered struct {
	seen []evidence.ProcessDifferences
	at   time.Time
}

const (
	rememberFor = day
	// maxRemembered is the maximum number of entries (service and version); at the limit the cache is cleared.
	maxRemembered = 1000
)

// billed reads the earlier deployments from the newest to the oldest, each with only its own days. It stops at the
// first that costs more than allowed and returns those read so far.
func (h *history) billed(ctx context.Context, p Pair, from time.Time, short bool) ([]evidence.ProcessDifferences, error) {
	key := deployed{p.Service, p.Head.Version}
	if seen, ok := h.options.Remembered.get(key, h.options.AsOf); ok {
		return seen, nil
	}
	pairs, known := p.Earlier, true
	if short {
		before, err := h.before(ctx, p, from)
		switch {
		case err == nil:
			pairs = before
		case errors.Is(err, bigquery.ErrQueryTooLarge): // a refused query costs nothing: the next evaluation can try again
			known = false
		default:
			return nil, err
		}
	}
	var seen []evidence.ProcessDifferences
	for _, earlier := range pairs {
		d, err := h.alone(ctx, earlier)
		if errors.Is(err, bigquery.ErrQueryTooLarge) {
			break
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, d)
	}
	if known {
		h.options.Remembered.keep(key, remembered{seen, h.options.AsOf})
	}
	return seen, nil
}

// before returns the earlier deployments since from.
func (h *history) before(ctx context.Context, p Pair, from time.Time) ([]Pair, error) {
	if err := h.open(ctx, from); err != nil {
		return nil, err
	}
	return h.earlier(ctx, p, from)
}

// alone reads one earlier deployment, with only its own days.
func (h *history) alone(ctx context.Context, p Pair) (evidence.ProcessDifferences, error) {
	plan := planFor(p, h.options)
	window := query.Window{From: sooner(plan.base.From, plan.head.From), To: later(plan.head.To, plan.base.To)}
	w, err := h.w.Reopen(ctx, window)
	if err != nil {
		return evidence.ProcessDifferences{}, err
	}
	defer w.Close()
	return h.difference(ctx, w, p)
}

func (r *Remembered) get(key deployed, now time.Time) ([]evidence.ProcessDifferences, bool) {
	if r == nil {
		return nil, false
	}
	found, ok := r.of[key]
	return found.seen, ok && now.Sub(found.at) < rememberFor
}

func (r *Remembered) keep(key deployed, seen remembered) {
	if r == nil {
		return
	}
	if r.of == nil || len(r.of) >= maxRemembered {
		r.of = map[deployed]remembered{}
	}
	r.of[key] = seen
}
