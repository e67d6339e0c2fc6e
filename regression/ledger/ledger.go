package ledger

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/parquet"
	"github.com/corehour/corehour/regression/query"
)

const (
	// defaultInterval is between two process rows, unless a process shows that
	// its own is shorter.
	defaultInterval = time.Minute
	// maxDuplicateItems is how many are named.
	maxDuplicateItems = 10
)

// sdkLosses are the SDK's counters that a reader of the ledger wants to see.
var sdkLosses = []string{
	"dropped", "folded", "fold_lost", "fold_widened", "methods_refused",
	"export.failed", "export.write_unknown", "export.measurements_unsure",
	"cpu.untrusted", "cpu.unavailable",
}

// Check makes the report about the processes that were seen in the window that the
// warehouse was opened with, and reads no other dates than those it touches. An
// account that goes beyond them is made of what is between two of the process's rows.
func Check(ctx context.Context, w *query.Warehouse, filter query.Filter, now time.Time) (*Report, error) {
	window := w.Window
	r := &Report{
		SchemaVersion: parquet.SchemaVersion, Generation: w.Snapshot.Generation, Files: len(w.Files),
		Services: []Service{}, Processes: []Process{}, Faults: []string{},
		Losses: Losses{DeadProcess: []DeadProcess{}, DuplicateItems: []query.Duplicate{}, SDK: map[string]float64{}},
	}
	for i := range w.Files {
		r.Rows += w.Files[i].Rows
	}
	if !w.InFiles() {
		r.Files = 0
	}
	accounts, err := w.Accounts(ctx, window, filter)
	if err != nil {
		return nil, err
	}
	stocks, err := w.Stocks(ctx, window, filter)
	if err != nil {
		return nil, err
	}
	duplicates, err := w.Duplicates(ctx)
	if err != nil {
		return nil, err
	}
	fresh, err := w.Freshness(ctx, window, filter)
	if err != nil {
		return nil, err
	}
	r.FreshnessNote = fresh.Note
	if fresh.Known {
		seconds := fresh.P99.Seconds()
		r.FreshnessP99Seconds = &seconds
	}
	services := map[query.Service]*Service{}
	for _, s := range stocks {
		entry := &Service{
			Service: s.Service, Rows: s.Rows, ForeignRows: s.ForeignRows, ForeignCalls: s.ForeignCalls, VersionlessRows: s.VersionlessRows,
			NewestRow: &s.Last,
		}
		if r.NewestRow == nil || s.Last.After(*r.NewestRow) {
			r.NewestRow = &s.Last
		}
		if s.MeasurementRows > 0 {
			entry.UnpricedShare = float64(s.UnpricedRows) / float64(s.MeasurementRows)
		}
		services[s.Service] = entry
	}
	firstDate, _ := w.RawFrom()
	r.leaveOut(stocks, w.RolledUpTo(), firstDate)
	for i := range accounts {
		p := settle(&accounts[i], firstDate, !window.To.IsZero(), now)
		if services[p.Service] == nil {
			services[p.Service] = &Service{Service: p.Service}
		}
		services[p.Service].add(&p)
		r.Losses.add(&p)
		r.Processes = append(r.Processes, p)
	}
	for _, s := range services {
		r.Services = append(r.Services, *s)
	}
	slices.SortFunc(r.Services, func(a, b Service) int { return cmp.Compare(a.String(), b.String()) })
	for _, d := range duplicates {
		r.Losses.DuplicateRows += d.Surplus
	}
	r.Losses.DuplicateItems = append(r.Losses.DuplicateItems, duplicates[:min(len(duplicates), maxDuplicateItems)]...)
	r.judge()
	return r, nil
}

// leaveOut names the dates that keep no account of the rows of ours in them.
func (r *Report) leaveOut(stocks []query.Stock, rolledUpTo, firstDate string) {
	for _, s := range stocks {
		if s.Rows > s.ForeignRows {
			r.own = true
			r.RolledUpTo = rolledUpTo
		}
	}
	if r.RolledUpTo != "" {
		r.AccountsFrom = firstDate
	}
}

// settle closes the account of one process; with cut its later rows were not read.
func settle(a *query.Account, firstDate string, cut bool, now time.Time) Process {
	if cut && a.Beats > 0 {
		a.Counted -= a.CountedAfter
		a.CountedLater -= a.CountedAfter
	}
	p := Process{
		Service: a.Service, Version: a.Version, Instance: a.Instance, LastSeen: a.Last, SDK: a.Stats,
		HandedOutCalls: a.LastTotal, CountedCalls: int64(math.Round(a.Counted)), State: Running,
	}
	if !a.ProcessStart.IsZero() {
		p.ProcessStart = &a.ProcessStart
	}
	switch {
	case a.Beats == 0: // nothing says what was handed out
		p.Partial = true
		p.HandedOutCalls = p.CountedCalls
	case p.ProcessStart != nil && p.ProcessStart.Format(time.DateOnly) < firstDate:
		p.Partial = true
		p.HandedOutCalls = a.LastTotal - a.FirstTotal
		p.CountedCalls = int64(math.Round(a.CountedLater))
	}
	// A longer one is several that an SDK added up while no collector was there.
	interval := min(a.Interval, defaultInterval)
	if a.Beats < 2 {
		interval = max(interval, defaultInterval)
	}
	switch {
	case a.Final:
		p.State = Ended
	case now.Sub(a.Last) > 2*interval:
		p.State = Dead
	}
	p.LostInTransit = p.HandedOutCalls - p.CountedCalls
	return p
}

func (s *Service) add(p *Process) {
	s.Processes++
	if p.State == Dead {
		s.DeadProcesses++
	}
	s.HandedOutCalls += p.HandedOutCalls
	s.CountedCalls += p.CountedCalls
	s.LostInTransit += p.LostInTransit
}

func (l *Losses) add(p *Process) {
	// One process's surplus must not hide another's loss.
	l.LostInTransit += max(0, p.LostInTransit)
	l.OverCounted += max(0, -p.LostInTransit)
	if p.State == Dead {
		l.DeadProcess = append(l.DeadProcess, DeadProcess{Service: p.Service, Version: p.Version, Instance: p.Instance, LastSeen: p.LastSeen})
	}
	for _, name := range sdkLosses {
		if v, ok := p.SDK[name]; ok {
			l.SDK[name] += v
		}
	}
}

// Why says in words why there are no accounts, or not of all dates.
func (r *Report) Why() string {
	if r.RolledUpTo != "" {
		return "dates up to " + r.RolledUpTo + " are rolled up and keep no account"
	}
	return "the rows of this time say nothing of calls handed out"
}

// LeftOut says in words which dates are not told of; empty if all that were looked at
// are.
func (r *Report) LeftOut() string {
	switch {
	case r.RolledUpTo == "" || r.CouldNotTell:
		return ""
	case r.AccountsFrom == "":
		return r.Why()
	}
	return "accounts are of " + r.AccountsFrom + " and later: " + r.Why()
}

// judge says whether the account balances and what is wrong if not.
func (r *Report) judge() {
	if n := r.Losses.LostInTransit; n > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%d calls were handed out and are not stored (lost_in_transit)", n))
	}
	if n := r.Losses.OverCounted; n > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%d calls are stored beyond what their processes handed out", n))
	}
	if n := r.Losses.DuplicateRows; n > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%d rows are stored more than once", n))
	}
	r.CouldNotTell = len(r.Faults) == 0 && r.own && len(r.Processes) == 0
	r.Balanced = len(r.Faults) == 0 && !r.CouldNotTell
}
