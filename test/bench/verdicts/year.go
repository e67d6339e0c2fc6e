package main

import (
	"context"
	"fmt"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/sim"
)

const (
	goalDrift = 10 // seconds, for one evaluation of the year
	// recordsADay is the number of measured calls per method and day.
	recordsADay = 20_000
	// commitDays is the number of days stored per commit. The writer refuses rows much older than its clock.
	commitDays = 21
)

// yearBegins is a Monday.
var yearBegins = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)

// year draws a year in which 2% of the methods drift, stores one rollup row per method, caller and date, and
// searches for drift. A service that is called all day by several processes has one rollup row per hour
// and process: more rows to read, but no more to evaluate. So a figure reports the number of stored rows.
func (b *bench) year(ctx context.Context, root string, s size) error {
	b.tell("drawing %d days of %d methods", s.days, s.yearMethods)
	h := sim.DrawMonths(sim.Months{
		Methods: s.yearMethods, Days: s.days, Records: recordsADay, Changed: 0.02, Effect: 0.1, Begin: s.days / 2, Over: 60,
	}, seed, 0)
	b.tell("storing them: %d sums", len(h.Rows))
	rows, err := storeYear(ctx, root, h)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d methods, %d days", s.yearMethods, s.days)
	b.lower("rows stored, "+what+", one sum of an hour each method, caller and date", float64(rows), "", sim.None)
	b.tell("asking for the days")
	seconds, found, err := queryYear(ctx, root)
	if err != nil {
		return err
	}
	b.lower(fmt.Sprintf("query of the days, %d of them", found), seconds, "s", sim.None)
	b.tell("judging them")
	if seconds, err = sim.DriftSeconds(h); err != nil {
		return err
	}
	b.lower(fmt.Sprintf("one look for drift at %s, after the query", what), seconds, "s", goalDrift)
	return b.command(ctx, goals{}, "it", nothing, "drift", "--warehouse", root, "--from", day(yearBegins), "--to", day(yearBegins.AddDate(0, 0, s.days)))
}

func storeYear(ctx context.Context, root string, h *sim.History) (rows int, err error) {
	byDay := make([][]int, h.Days)
	for i := range h.Rows {
		byDay[h.Rows[i].Day] = append(byDay[h.Rows[i].Day], i)
	}
	resource := &methodspan.Resource{
		ServiceNamespace: "store", Service: "shop", Environment: "production", Version: versions[0], Instance: "shop-7d9f-01",
		ProcessStartNS: yearBegins.UnixNano(),
	}
	for from := 0; from < h.Days; from += commitDays {
		to := min(h.Days, from+commitDays)
		s, err := newStore(root, yearBegins.AddDate(0, 0, to))
		if err != nil {
			return rows, err
		}
		s.items = from * 1_000_000 // keeps item names unique
		for d := from; d < to && err == nil; d++ {
			at := yearBegins.AddDate(0, 0, d).Add(12 * time.Hour)
			for _, i := range byDay[d] {
				day := &h.Rows[i]
				f := methodspan.ParseFunction(h.Methods[day.Method])
				r := methodspan.Row{
					Resource: resource, Kind: methodspan.KindAggregate, Level: methodspan.LevelHour,
					StartNS: at.UnixNano(), EndNS: at.Add(time.Hour).UnixNano(),
					Class: f.Class, Method: f.Method, Caller: "shop/caller." + h.Callers[day.Caller],
				}
				measure(&r, day.Records, day.Capped/day.Weight)
				if r.Measured == 0 {
					continue
				}
				if err = s.addRow(ctx, r); err != nil {
					break
				}
			}
		}
		if cerr := s.close(ctx); err == nil {
			err = cerr
		}
		rows += s.stored
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// queryYear queries the days as the command does.
func queryYear(ctx context.Context, root string) (seconds float64, days int, err error) {
	begin := time.Now()
	w, err := query.Open(ctx, root, query.Window{})
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if cerr := w.Close(); err == nil {
			err = cerr
		}
	}()
	err = w.Days(ctx, query.CPU, query.Window{}, query.Filter{}, func(*query.MethodDay) error {
		days++
		return nil
	})
	return time.Since(begin).Seconds(), days, err
}
