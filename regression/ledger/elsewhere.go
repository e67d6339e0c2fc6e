package ledger

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
)

// MissingBatches are requests of a process that are not stored. They are gaps in the batch numbers between two process
// rows whose totals show that calls are missing in between.
type MissingBatches struct {
	Batches int64 `json:"batches"`
	First   int64 `json:"first"` // number of the first missing batch
	Last    int64 `json:"last"`
	Calls   int64 `json:"calls"` // emitted in these batches
	// Unnumbered is set if rows of the process have no batch number, so that the gaps are uncertain: ids were
	// omitted, or rows were aggregated because a queue was full.
	Unnumbered bool `json:"unnumbered,omitempty"`
}

// endpointsStat is the SDK's statistic for the number of collectors that a process can send to.
const endpointsStat = "export.endpoints"

// judgeMissing divides missing calls into lost ones and calls that can be in a warehouse that was not read. The latter
// are in missing batches of a process that can send to more collectors than were read. A process that does not
// report its number of collectors is assumed to have others if one collector was read.
func (r *Accounts) judgeMissing(ctx context.Context, w *query.Warehouse, filter query.Filter, accounts []query.Account, once bool) error {
	if !w.InFiles() {
		return nil // all collectors write to one dataset
	}
	collectors := 0
	for i := range w.Roots {
		collectors += w.Roots[i].Collectors
	}
	var lacking []query.Account
	var of []*Process
	for i := range r.Processes {
		if r.Processes[i].LostInTransit > 0 {
			lacking, of = append(lacking, accounts[i]), append(of, &r.Processes[i])
		}
	}
	return w.Batches(ctx, w.Window, filter, lacking, once, func(i int, batches []query.Batch) {
		p, a := of[i], &lacking[i]
		missing := missingBatches(batches, batchPrefix(a), p.Partial)
		if missing.Batches == 0 && !missing.Unnumbered {
			return
		}
		p.MissingBatches = &missing
		endpoints, says := p.SDK[endpointsStat]
		if says && int(endpoints) <= collectors || !says && collectors > 1 {
			return
		}
		p.NotJudgedCalls = min(p.LostInTransit, missing.Calls)
		if missing.Unnumbered {
			p.NotJudgedCalls = p.LostInTransit
		}
		p.LostInTransit -= p.NotJudgedCalls
	})
}

// batchPrefix returns the prefix of the number in the ids of a process's batches.
func batchPrefix(a *query.Account) string {
	key := methodspan.ProcessKey{
		ServiceNamespace: a.Namespace, Service: a.Name, Version: a.Version, Environment: a.Environment, Instance: a.Instance,
	}
	if !a.ProcessStart.IsZero() {
		key.ProcessStartNS = a.ProcessStart.UnixNano()
	}
	return key.Hash() + "-"
}

// missingBatches compares the emitted calls in process rows with the batches between them. If partial is set it
// begins at the first process row, else with batch 1.
func missingBatches(batches []query.Batch, prefix string, partial bool) MissingBatches {
	type numbered struct {
		number int64
		query.Batch
	}
	var m MissingBatches
	var stored []numbered
	for _, b := range batches {
		text, ours := strings.CutPrefix(b.ID, prefix)
		number, err := strconv.ParseInt(text, 10, 64)
		if ours && err == nil {
			stored = append(stored, numbered{number, b})
		} else if b.HasBeat || b.Calls > 0 {
			m.Unnumbered = true
		}
	}
	slices.SortFunc(stored, func(a, b numbered) int { return int(min(1, max(-1, a.number-b.number))) })
	var before numbered // the last batch with a process row
	present := int64(0) // batches since then
	known := !partial
	first, last := int64(0), int64(0) // of the numbers missing since then
	for i, b := range stored {
		previous := before.number
		if i > 0 {
			previous = stored[i-1].number
		}
		if b.number-previous > 1 {
			if first == 0 {
				first = previous + 1
			}
			last = b.number - 1
		}
		if !b.HasBeat {
			present++
			continue
		}
		absent := b.number - before.number - 1 - present
		calls := b.Total - before.Total - int64(math.Round(b.Calls))
		if known && absent > 0 && calls > 0 {
			if m.Batches == 0 {
				m.First = first
			}
			m.Batches, m.Last, m.Calls = m.Batches+absent, last, m.Calls+calls
		}
		before, present, first, last, known = b, 0, 0, 0, true
	}
	return m
}

// String returns a description of the batches.
func (m *MissingBatches) String() string {
	switch m.Batches {
	case 0:
		return "rows without a batch number"
	case 1:
		return fmt.Sprintf("batch %d", m.First)
	case m.Last - m.First + 1:
		return fmt.Sprintf("%d batches, %d to %d", m.Batches, m.First, m.Last)
	}
	return fmt.Sprintf("%d batches between %d and %d", m.Batches, m.First, m.Last)
}

// maxNamed is the maximum number of processes that a sentence names.
const maxNamed = 3

// notJudged describes the calls that can be in another collector's warehouse; empty if there are none.
func (r *Accounts) notJudged() string {
	if r.Losses.NotJudgedCalls == 0 {
		return ""
	}
	var of []string
	for i := range r.Processes {
		if p := &r.Processes[i]; p.NotJudgedCalls > 0 {
			of = append(of, fmt.Sprintf("%s (%s)", p.name(), p.MissingBatches))
		}
	}
	if more := len(of) - maxNamed; more > 0 {
		of = append(of[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d calls of %s are not here and may have gone to another collector", r.Losses.NotJudgedCalls, strings.Join(of, ", "))
}

func (p *Process) name() string {
	return strings.Join(slices.DeleteFunc([]string{p.Name, p.Version, p.Instance}, func(s string) bool { return s == "" }), " ")
}
