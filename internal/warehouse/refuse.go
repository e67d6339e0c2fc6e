package warehouse

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/multierr"

	"github.com/corehour/corehour/internal/methodspan"
)

// Reason says why rows were refused.
type Reason string

const (
	TooLate      Reason = "too_late"      // started before IntakeOptions.Late
	Expired      Reason = "expired"       // of a date that retention has dropped
	InFuture     Reason = "in_future"     // starts after IntakeOptions.Future
	BadID        Reason = "bad_id"        // the item's id can't be remembered
	FoldConflict Reason = "fold_conflict" // some of what was folded in is stored already
)

// Reasons lists all of them.
var Reasons = []Reason{TooLate, Expired, InFuture, BadID, FoldConflict}

// RowError says which rows of an item were refused. They never will be
// accepted, so there is no use in trying again.
type RowError struct {
	Item   string
	Reason Reason
	Rows   int
	Detail string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("item %.100q: refused %d rows: %s", e.Item, e.Rows, e.Detail)
}

// RowErrors parts the error of a Write into the rows that were refused and the
// failure of the write itself, which is nil if the rest was written.
func RowErrors(err error) (refused []*RowError, failure error) {
	if whole, ok := err.(*Error); ok { //nolint:errorlint // what it wraps must not come apart
		return nil, whole
	}
	for _, e := range multierr.Errors(err) {
		var re *RowError
		if errors.As(e, &re) {
			refused = append(refused, re)
		} else {
			failure = multierr.Append(failure, e)
		}
	}
	return refused, failure
}

// maxRowErrors bounds what one Write reports one by one. Result.Refused counts
// all of them.
const maxRowErrors = 64

const maxIDBytes = 256

// checkID tells what is wrong with an item's id, "" if nothing.
func checkID(id string) string {
	switch {
	case id == "":
		return "the item has no id"
	case len(id) > maxIDBytes:
		return fmt.Sprintf("the id has %d bytes, at most %d are allowed", len(id), maxIDBytes)
	case !utf8.ValidString(id):
		return "the id is no valid UTF-8"
	case strings.ContainsFunc(id, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return "the id has control characters"
	}
	return ""
}

// refusals collects what a Write refuses.
type refusals struct {
	byReason map[Reason]int
	errs     []error
}

func (r *refusals) addRefusal(item string, reason Reason, rows int, detail string) {
	if r.byReason == nil {
		r.byReason = map[Reason]int{}
	}
	r.byReason[reason] += rows
	if len(r.errs) < maxRowErrors {
		r.errs = append(r.errs, &RowError{Item: item, Reason: reason, Rows: rows, Detail: detail})
	}
}

// window is the span of starts that are accepted.
type window struct {
	from, to     int64
	late, future time.Duration
	floor        string // the first date that is not dropped
	floorNS      int64
}

func (in *Intake) window() window {
	o, now := &in.opts, in.opts.Now()
	return window{
		from: now.Add(-o.Late).UnixNano(), to: now.Add(o.Future).UnixNano(), late: o.Late, future: o.Future,
		floor: in.floor, floorNS: DayStart(in.floor),
	}
}

// accept adds the rows of an item that may be stored to a batch, and says in each which
// item it is of, which is what adoption goes by.
func (r *refusals) accept(b *Batch, item *methodspan.Item, w window) {
	rows, first, last := b.Rows, b.first, b.last
	var late, expired, future int
	var lateNS, futureNS int64
	for i := range item.Rows {
		row := &item.Rows[i]
		if row.BatchID != item.ID {
			row.BatchID = item.ID
		}
		switch {
		case row.StartNS < w.from:
			if late == 0 || row.StartNS < lateNS {
				lateNS = row.StartNS
			}
			late++
		case row.StartNS < w.floorNS:
			expired++
		case row.StartNS > w.to:
			futureNS = max(futureNS, row.StartNS)
			future++
		default:
			rows = append(rows, row)
			first, last = min(first, row.StartNS), max(last, row.StartNS)
		}
	}
	b.Rows, b.first, b.last = rows, first, last
	if late > 0 {
		r.addRefusal(item.ID, TooLate, late, fmt.Sprintf("the earliest started at %s, more than %s ago", utc(lateNS), w.late))
	}
	if expired > 0 {
		r.addRefusal(item.ID, Expired, expired, fmt.Sprintf("they started before %s, the first date that retention has left", w.floor))
	}
	if future > 0 {
		r.addRefusal(item.ID, InFuture, future, fmt.Sprintf("the latest starts at %s, more than %s ahead of this machine's clock", utc(futureNS), w.future))
	}
}

func utc(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
