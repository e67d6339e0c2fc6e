package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/corehour/corehour/regression/output"
)

// Most returns the top services (0 = all) by missing calls, then by emitted calls, and a line on the others.
func (r *Accounts) Most(top int) (shown []Service, more []string) {
	shown, left := output.Most(r.Services, top, func(a, b Service) int {
		return cmp.Or(cmp.Compare(off(b.LostInTransit)+b.NotJudgedCalls, off(a.LostInTransit)+a.NotJudgedCalls),
			cmp.Compare(float64(b.HandedOutCalls)+b.ForeignCalls, float64(a.HandedOutCalls)+a.ForeignCalls))
	})
	var sum Service
	for i := range left {
		s := &left[i]
		sum.Processes += s.Processes
		sum.DeadProcesses += s.DeadProcesses
		sum.HandedOutCalls = plus(sum.HandedOutCalls, s.HandedOutCalls)
		sum.CountedCalls = plus(sum.CountedCalls, s.CountedCalls)
		sum.LostInTransit = plus(sum.LostInTransit, s.LostInTransit)
		sum.ForeignRows += s.ForeignRows
	}
	return shown, output.More(len(left), fmt.Sprintf("services with %d processes, %d dead, %d calls emitted, %d stored, %d missing, %d foreign rows",
		sum.Processes, sum.DeadProcesses, sum.HandedOutCalls, sum.CountedCalls, sum.LostInTransit, sum.ForeignRows))
}

// NotInOrder returns the top processes (0 = all) that are dead or whose account does not balance, and a line on the
// others. Processes with the most missing calls come first.
func (r *Accounts) NotInOrder(top int) (shown []Process, more []string) {
	odd := slices.DeleteFunc(slices.Clone(r.Processes), func(p Process) bool {
		return p.LostInTransit == 0 && p.NotJudgedCalls == 0 && p.State != Dead
	})
	shown, left := output.Most(odd, top, func(a, b Process) int {
		return cmp.Or(cmp.Compare(off(b.LostInTransit)+b.NotJudgedCalls, off(a.LostInTransit)+a.NotJudgedCalls), cmp.Compare(b.HandedOutCalls, a.HandedOutCalls))
	})
	dead, lost := 0, int64(0)
	for i := range left {
		if lost = plus(lost, left[i].LostInTransit); left[i].State == Dead {
			dead++
		}
	}
	return shown, output.More(len(left), fmt.Sprintf("processes, %d dead, with %d calls missing", dead, lost))
}

// off returns the distance of a balance from 0: the number of missing or surplus calls.
func off(balance int64) int64 { return max(balance, -balance) }
