package ledger

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/warehouse/parquet"
	"github.com/corehour/corehour/regression/query"
)

const (
	// defaultInterval is the assumed time between two process rows, unless a process has a shorter one.
	defaultInterval = time.Minute
	// maxDuplicateItems is the maximum number of duplicate items listed.
	maxDuplicateItems = 10
)

// sdkLosses are the SDK's counters of losses that the accounts list.
var sdkLosses = []string{
	"dropped", "folded", "fold_lost", "fold_widened", "methods_refused",
	"export.failed", "export.write_unknown", "export.measurements_unsure",
	"cpu.untrusted", "cpu.unavailable",
}

// answers are the results of queries from which accounts are computed.
type answers struct {
	duplicates []query.Duplicate
	once       bool // duplicate rows are left out
	accounts   []query.Account
	stocks     []query.Stock
	merged     map[query.Service]bool
	impossible []query.Impossible
	excess     []query.Excess
	fresh      []query.Freshness
}

func ask(ctx context.Context, w *query.Warehouse, filter query.Filter) (a answers, err error) {
	window := w.Window
	if a.duplicates, err = w.Duplicates(ctx, filter); err != nil {
		return a, err
	}
	a.once = len(a.duplicates) > 0 && w.InFiles()
	if a.accounts, err = w.Accounts(ctx, window, filter, a.once); err != nil {
		return a, err
	}
	if a.stocks, err = w.Stocks(ctx, window, filter); err != nil {
		return a, err
	}
	a.merged = map[query.Service]bool{}
	if slices.ContainsFunc(a.stocks, func(s query.Stock) bool { return s.ForeignRows > 0 }) {
		all, err := w.Merged(ctx, window, filter)
		if err != nil {
			return a, err
		}
		for _, s := range all {
			a.merged[s] = true
		}
	}
	if a.impossible, err = w.Impossible(ctx, window, filter); err != nil {
		return a, err
	}
	if a.excess, err = w.MeasuredAboveCounted(ctx, window, filter, a.once); err != nil {
		return a, err
	}
	a.fresh, err = w.FreshnessByRoot(ctx, window, filter)
	return a, err
}

// Check reports on the processes with rows in the window of the warehouse. It reads only the dates that the window
// touches. The account of a process that ran longer covers the time between two of its process rows.
func Check(ctx context.Context, w *query.Warehouse, filter query.Filter, now time.Time) (*Accounts, error) {
	a, err := ask(ctx, w, filter)
	if err != nil {
		return nil, err
	}
	r := &Accounts{
		SchemaVersion: parquet.SchemaVersion, Generation: w.Snapshot.Generation,
		Warehouses: []Warehouse{}, Services: []Service{}, Processes: []Process{}, Faults: []string{},
		Losses: Losses{DeadProcess: []DeadProcess{}, DuplicateItems: []query.Duplicate{}, SDK: map[string]float64{}},
	}
	r.describe(w, a.fresh)
	firstDate, _ := w.RawFrom()
	r.leaveOut(a.stocks, w.RolledUpTo(), firstDate)
	if err := r.addProcesses(ctx, w, filter, a.accounts, now, a.once); err != nil {
		return nil, err
	}
	r.addServices(&a)
	for i := range r.Processes {
		r.Losses.addProcess(&r.Processes[i])
	}
	for _, d := range a.duplicates {
		r.Losses.DuplicateRows += d.Surplus
		r.Losses.DuplicateRowsOfOthers += d.OtherCollectors
	}
	r.Losses.DuplicateItems = append(r.Losses.DuplicateItems, a.duplicates[:min(len(a.duplicates), maxDuplicateItems)]...)
	r.judge()
	return r, nil
}

// describe adds the numbers of files and rows read, and their freshness.
func (r *Accounts) describe(w *query.Warehouse, fresh []query.Freshness) {
	for i := range w.Files {
		r.Rows += w.Files[i].Rows
	}
	if w.InFiles() {
		r.Files = len(w.Files)
	}
	r.FreshnessP99Seconds, r.FreshnessNote = freshness(query.Slowest(fresh))
	for i := range w.Roots {
		root := &w.Roots[i]
		part := Warehouse{Warehouse: root.Address, Generation: root.Generation, Files: len(root.Files), Rows: root.Rows()}
		part.FreshnessP99Seconds, part.FreshnessNote = freshness(fresh[i])
		r.Warehouses = append(r.Warehouses, part)
	}
}

// addServices adds the totals of each service, including its processes.
func (r *Accounts) addServices(a *answers) {
	services := map[query.Service]*Service{}
	of := func(s query.Service) *Service {
		if services[s] == nil {
			services[s] = &Service{Service: s}
		}
		return services[s]
	}
	for _, s := range a.stocks {
		entry := &Service{
			Service: s.Service, Rows: s.Rows, ForeignRows: s.ForeignRows, ForeignCalls: s.ForeignCalls, AssumedCalls: s.AssumedCalls, VersionlessRows: s.VersionlessRows, ConflictingBatches: s.ConflictingBatches,
			NewestRow: &s.Last, MayBeMerged: a.merged[s.Service],
		}
		services[s.Service] = entry
		if r.NewestRow == nil || s.Last.After(*r.NewestRow) {
			r.NewestRow = &s.Last
		}
		if s.MeasurementRows > 0 {
			entry.UnpricedShare = float64(s.UnpricedRows) / float64(s.MeasurementRows)
		}
	}
	for _, i := range a.impossible {
		of(i.Service).ImpossibleRows = i.Rows
	}
	for _, e := range a.excess {
		of(e.Service).MeasuredAboveCounted = e.Measured
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		of(p.Service).addProcess(p)
	}
	for _, s := range services {
		r.Services = append(r.Services, *s)
	}
	slices.SortFunc(r.Services, func(a, b Service) int { return cmp.Compare(a.String(), b.String()) })
}

// addProcesses closes the accounts of the processes and adds them.
func (r *Accounts) addProcesses(ctx context.Context, w *query.Warehouse, filter query.Filter, accounts []query.Account, now time.Time, once bool) error {
	firstDate, _ := w.RawFrom()
	for i := range accounts {
		r.Processes = append(r.Processes, closeAccount(&accounts[i], firstDate, !w.Window.To.IsZero(), now))
	}
	return r.judgeMissing(ctx, w, filter, accounts, once)
}

// leaveOut records the dates without accounts, if there are rows of our SDK.
func (r *Accounts) leaveOut(stocks []query.Stock, rolledUpTo, firstDate string) {
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

// closeAccount closes the account of one process. If cut is set, later rows of the process were not read.
func closeAccount(a *query.Account, firstDate string, cut bool, now time.Time) Process {
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
	case a.Beats == 0: // the number of emitted calls is unknown
		p.Partial = true
		p.HandedOutCalls = p.CountedCalls
	case p.ProcessStart != nil && p.ProcessStart.Format(time.DateOnly) < firstDate:
		p.Partial = true
		p.HandedOutCalls = a.LastTotal - a.FirstTotal
		p.CountedCalls = int64(math.Round(a.CountedLater))
	}
	// A longer interval covers several that an SDK combined while no collector was available.
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

func (s *Service) addProcess(p *Process) {
	s.Processes++
	if p.State == Dead {
		s.DeadProcesses++
	}
	s.HandedOutCalls = plus(s.HandedOutCalls, p.HandedOutCalls)
	s.CountedCalls = plus(s.CountedCalls, p.CountedCalls)
	s.LostInTransit = plus(s.LostInTransit, p.LostInTransit)
	s.NotJudgedCalls = plus(s.NotJudgedCalls, p.NotJudgedCalls)
}

// plus adds numbers of calls. A sum outside of int64 stays at its end, since a sum that wraps can look balanced.
func plus(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return -math.MaxInt64
	default:
		return sum
	}
}

func (l *Losses) addProcess(p *Process) {
	// A surplus of one process must not hide the loss of another.
	l.LostInTransit = plus(l.LostInTransit, max(0, p.LostInTransit))
	l.OverCounted = plus(l.OverCounted, max(0, -p.LostInTransit))
	l.NotJudgedCalls = plus(l.NotJudgedCalls, p.NotJudgedCalls)
	if p.State == Dead {
		l.DeadProcess = append(l.DeadProcess, DeadProcess{Service: p.Service, Version: p.Version, Instance: p.Instance, LastSeen: p.LastSeen, KnowsOthers: p.SDK[endpointsStat] > 1})
	}
	for _, name := range sdkLosses {
		if v, ok := p.SDK[name]; ok {
			l.SDK[name] += v
		}
	}
}

func freshness(f query.Freshness) (p99 *float64, note string) {
	if f.Known {
		seconds := f.P99.Seconds()
		p99 = &seconds
	}
	return p99, f.Note
}

// Why returns the reason why the balance is unknown.
func (r *Accounts) Why() string {
	if missing := r.notJudged(); missing != "" {
		return missing
	}
	return r.whyNoAccount()
}

// whyNoAccount returns the reason why there are no accounts, or not for all dates.
func (r *Accounts) whyNoAccount() string {
	if r.RolledUpTo != "" {
		return "dates up to " + r.RolledUpTo + " are rolled up and keep no account"
	}
	return "the rows of this time say nothing of emitted calls"
}

// LeftOut describes the dates without accounts; empty if there are none.
func (r *Accounts) LeftOut() string {
	switch {
	case r.RolledUpTo == "" || r.CouldNotTell && r.Losses.NotJudgedCalls == 0:
		return ""
	case r.AccountsFrom == "":
		return r.whyNoAccount()
	}
	return "accounts are of " + r.AccountsFrom + " and later: " + r.whyNoAccount()
}

// judge sets whether the accounts balance, and the faults if they do not.
func (r *Accounts) judge() {
	if n := r.Losses.LostInTransit; n > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%d calls were emitted and are not stored (lost_in_transit)", n))
	}
	if n := r.Losses.OverCounted; n > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%d calls are stored beyond what their processes emitted", n))
	}
	if n := r.Losses.DuplicateRows; n > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%d rows are stored more than once", n))
	}
	if n := r.Losses.DuplicateRowsOfOthers; n > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("%d of these are stored by two collectors: if one --warehouse is a copy of another, leave it out", n))
	}
	r.CouldNotTell = len(r.Faults) == 0 && (r.own && len(r.Processes) == 0 || r.Losses.NotJudgedCalls > 0)
	r.Balanced = len(r.Faults) == 0 && !r.CouldNotTell
}
