package query

import (
	"context"
	"database/sql"
)

// maxPriced bounds the hosts that are listed, times the prices that each had.
const maxPriced = 20_000

// MaxPriced is the number of rows that are listed.
func (s scope) MaxPriced() int { return maxPriced }

// Priced is a host, where it ran and the price that was stored with its rows.
type Priced struct {
	Place
	Host   string // empty = not known
	Source string
	USD    float64 // an hour of a core; 0 = unpriced
	Rows   int64
	CPUNS  float64 // of its processes
}

// Priced lists hosts by their CPU time, the largest first, and reports whether that is all.
func (w *Warehouse) Priced(ctx context.Context, window Window, f Filter) (hosts []Priced, all bool, err error) {
	err = w.each(ctx, "priced", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var p Priced
		err := rows.Scan(into(&p.CloudProvider), into(&p.Region), into(&p.HostType), into(&p.CapacityType), into(&p.Host), into(&p.Source), into(&p.USD), &p.Rows, into(&p.CPUNS))
		hosts = append(hosts, p)
		return err
	})
	return hosts, len(hosts) < maxPriced, err
}
