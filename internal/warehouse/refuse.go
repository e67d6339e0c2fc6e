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

// Reason is the reason why rows were refused.
type Reason string

const (
	TooLate      Reason = "too_late"      // started before IntakeOptions.Late
	Expired      Reason = "expired"       // belongs to a date that retention has dropped
	InFuture     Reason = "in_future"     // starts after IntakeOptions.Future
	BadID        Reason = "bad_id"        // the item's id cannot be remembered
	FoldConflict Reason = "fold_conflict" // some of the items folded in are stored already
)

// Reasons lists all reasons.
var Reasons = []Reason{TooLate, Expired, InFuture, BadID, FoldConflict}

// RowError describes the refused rows of an item. They are refused permanently, so retrying is useless.
type RowError struct {
	Item   string
	Reason Reason
	Rows   int
	Detail string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("item %.100q: refused %d rows: %s", e.Item, e.Rows, e.Detail)
}

// RowErrors splits the error of a Write into the refused rows and the failure of the write itself. failure
// is nil if all other rows were written.
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

// maxRowErrors is the maximum number of RowErrors of one Write. Result.Refused counts all refused rows.
const maxRowErrors = 64

const maxIDBytes = 256

// checkID returns a description of the problem with an item's id, or "" if the id is valid.
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

// refusals collects the refused rows of a Write.
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

// window is the range of accepted starts.
type window struct {
	from, to     int64
	late, future time.Duration
	floor        string // first date that is not dropped
	floorNS      int64
}

func (in *Intake) window() window {
	o, now := &in.opts, in.opts.Now()
	return window{
		from: now.Add(-o.Late).UnixNano(), to: now.Add(o.Future).UnixNano(), late: o.Late, future: o.Future,
		floor: in.floor, floorNS: DayStart(in.floor),
	}
}

// accept adds the rows of an item that can be stored to a batch. It sets the item id in each row, which the
// recovery of orphaned files needs.
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
		r.addRefusal(item.ID, TooLate, late, lateDetail(lateNS, w.late))
	}
	if expired > 0 {
		r.addRefusal(item.ID, Expired, expired, fmt.Sprintf("they started before %s, the first date that retention has left", w.floor))
	}
	if future > 0 {
		r.addRefusal(item.ID, InFuture, future, futureDetail(futureNS, w.future))
	}
}

func lateDetail(earliestNS int64, late time.Duration) string {
	return fmt.Sprintf("the earliest started at %s, more than %s ago", utc(earliestNS), late)
}

func futureDetail(latestNS int64, future time.Duration) string {
	return fmt.Sprintf("the latest starts at %s, more than %s ahead of this machine's clock", utc(latestNS), future)
}

// Misdated returns the refusals, by reason, that a store with these bounds makes for the starts of rows.
func Misdated(items []methodspan.Item, late, future time.Duration, now time.Time) []*RowError {
	from, to := now.Add(-late).UnixNano(), now.Add(future).UnixNano()
	old, ahead := &RowError{Reason: TooLate}, &RowError{Reason: InFuture}
	var earliestNS, latestNS int64
	for i := range items {
		for j := range items[i].Rows {
			switch start := items[i].Rows[j].StartNS; {
			case start < from:
				if old.Rows == 0 || start < earliestNS {
					earliestNS = start
				}
				old.Rows++
			case start > to:
				latestNS = max(latestNS, start)
				ahead.Rows++
			}
		}
	}
	var refused []*RowError
	if old.Rows > 0 {
		old.Detail = lateDetail(earliestNS, late)
		refused = append(refused, old)
	}
	if ahead.Rows > 0 {
		ahead.Detail = futureDetail(latestNS, future)
		refused = append(refused, ahead)
	}
	return refused
}

func utc(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339) }
