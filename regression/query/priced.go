package query

import (
	"context"
	"database/sql"
)

// maxPriced bounds the number of listed hosts, times the prices of each host.
const maxPriced = 20_000

// MaxPriced returns the maximum number of listed rows.
func (s scope) MaxPriced() int { return maxPriced }

// Priced is a host with its place and the price that was stored with its rows.
type Priced struct {
	Place
	Host   string // empty = not known
	Source string
	USD    float64 // per core and hour; 0 = unpriced
	Rows   int64
	CPUNS  float64 // of its processes
}

// Priced returns hosts by their CPU time, the largest first, and reports whether the list is complete.
func (w *Warehouse) Priced(ctx context.Context, window Window, f Filter) (hosts []Priced, all bool, err error) {
	err = w.queryRows(ctx, "priced", scope{Filter: f}, filterArgs(window, f), func(rows *sql.Rows) error {
		var p Priced
		err := rows.Scan(nullable(&p.CloudProvider), nullable(&p.Region), nullable(&p.HostType), nullable(&p.CapacityType), nullable(&p.Host), nullable(&p.Source), nullable(&p.USD), &p.Rows, nullable(&p.CPUNS))
		hosts = append(hosts, p)
		return err
	})
	return hosts, len(hosts) < maxPriced, err
}
