package families

import (
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/internal/scenes"
	"github.com/corehour/corehour/regression/judge"
)

// slot is that of a run of half an hour.
const slot = time.Minute

// Deployment adds up the calls of a drawn deployment, as the query does.
func Deployment(d *scenes.Deployment) *judge.Deployment {
	out := &judge.Deployment{Begin: d.Begin, Slot: slot, Slots: d.Minutes(), Callers: []string{"(entry)"}}
	for m := range d.Methods {
		out.Methods = append(out.Methods, d.Methods[m].Name)
		out.Callers = append(out.Callers, d.Methods[m].Name)
	}
	side := make([]judge.Side, len(d.Processes))
	for i := range d.Processes {
		p := &d.Processes[i]
		if p.Head {
			side[i] = judge.Head
		}
		out.Instances = append(out.Instances, judge.Instance{ID: p.ID, Side: side[i], Started: p.Start})
	}
	weights := callsPerRecord(d, side)
	caps := caps(d, side, weights)
	n := len(d.Methods) + 1 // callers
	at := map[int]int{}     // of a cell
	d.Each(func(c scenes.Call) {
		minute := int(c.At / slot)
		key := ((c.Method*n+c.Caller+1)*len(d.Processes)+c.Process)*d.Minutes() + minute
		i, ok := at[key]
		if !ok {
			i = len(out.Cells)
			at[key] = i
			out.Cells = append(out.Cells, judge.Cell{
				Method: int32(c.Method), Caller: int32(c.Caller + 1), Instance: int32(c.Process), Slot: int32(minute),
			})
		}
		cell, w, x, limit := &out.Cells[i], weights[side[c.Process]][c.Method], math.Max(1, float64(c.CPU)), caps[c.Method*n+c.Caller+1]
		cell.Records++
		cell.Timed++
		cell.Weight += w
		cell.Calls += w
		cell.Sum += w * x
		cell.Capped += w * math.Min(x, limit)
		cell.Log += w * math.Log(x)
		if x > judge.Near*limit {
			cell.Near++
			cell.NearWeight += w
		}
		if x > limit {
			cell.Over++
			cell.OverWeight += w
		}
		if x > judge.Far*limit {
			cell.Far++
			cell.FarWeight += w
		}
	})
	return out
}

// callsPerRecord is the weight of a record, by version and method.
func callsPerRecord(d *scenes.Deployment, side []judge.Side) (out [2][]float64) {
	for s := range out {
		out[s] = make([]float64, len(d.Methods))
	}
	calls := make([]int64, len(d.Methods))
	for p := range d.Processes {
		for minute := range d.Minutes() {
			d.Calls(p, minute, calls)
			for m, n := range calls {
				out[side[p]][m] += float64(n)
			}
		}
	}
	var records [2][]float64
	for s := range records {
		records[s] = make([]float64, len(d.Methods))
	}
	d.Each(func(c scenes.Call) { records[side[c.Process]][c.Method]++ })
	for s := range out {
		for m := range out[s] {
			out[s][m] /= math.Max(1, records[s][m])
		}
	}
	return out
}

// caps are the 99.5% quantiles by method and caller, of both versions.
func caps(d *scenes.Deployment, side []judge.Side, weights [2][]float64) []float64 {
	type call struct{ x, w float64 }
	n := len(d.Methods) + 1
	all := make([][]call, len(d.Methods)*n)
	d.Each(func(c scenes.Call) {
		k := c.Method*n + c.Caller + 1
		all[k] = append(all[k], call{float64(c.CPU), weights[side[c.Process]][c.Method]})
	})
	out := make([]float64, len(all))
	for k, calls := range all {
		slices.SortFunc(calls, func(a, b call) int {
			if a.x < b.x {
				return -1
			}
			return 1
		})
		total, sum := 0.0, 0.0
		for _, c := range calls {
			total += c.w
		}
		for _, c := range calls {
			if sum += c.w; sum >= 0.995*total {
				out[k] = c.x
				break
			}
		}
	}
	return out
}
