package families

import (
	"math"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/test/deploygen"
)

// bucket is the bucket length that the command uses for a run of half an hour.
const bucket = time.Minute

// Deployment aggregates the calls of a drawn deployment into cells, as the query does.
func Deployment(d *deploygen.Deployment) *evidence.Deployment {
	out := &evidence.Deployment{Begin: d.Begin, Bucket: bucket, Buckets: d.Minutes(), Callers: []string{"(entry)"}, Wall: d.Scene.Disturbance.Lock}
	for m := range d.Methods {
		out.Methods = append(out.Methods, d.Methods[m].Name)
		out.Callers = append(out.Callers, d.Methods[m].Name)
	}
	side := make([]evidence.Side, len(d.Processes))
	for i := range d.Processes {
		p := &d.Processes[i]
		if p.Head {
			side[i] = evidence.Head
		}
		out.Instances = append(out.Instances, evidence.Instance{ID: p.ID, Side: side[i], Started: p.Start})
	}
	calls := callsOf(d)
	weights := callsPerRecord(d, side, calls)
	caps := caps(d, side, weights, calls)
	n := len(d.Methods) + 1 // callers
	at := make([]int32, len(d.Methods)*n*len(d.Processes)*d.Minutes())
	for i := range calls {
		c := &calls[i]
		key := ((int(c.method)*n+int(c.caller))*len(d.Processes)+int(c.process))*d.Minutes() + int(c.minute)
		if at[key] == 0 {
			out.Cells = append(out.Cells, evidence.Cell{
				Method: int32(c.method), Caller: int32(c.caller), Instance: int32(c.process), Bucket: int32(c.minute),
			})
			at[key] = int32(len(out.Cells))
		}
		cell, w, x, limit := &out.Cells[at[key]-1], weights[side[c.process]][c.method], math.Max(1, c.cpu), caps[int(c.method)*n+int(c.caller)]
		cell.Records++
		cell.Timed++
		cell.Weight += w
		cell.Calls += w
		cell.Sum += w * x
		cell.Capped += w * math.Min(x, limit)
		cell.Log += w * math.Log(x)
		if x > evidence.Near*limit {
			cell.Near++
			cell.NearWeight += w
		}
		if x > limit {
			cell.Over++
			cell.OverWeight += w
		}
		if x > evidence.Far*limit {
			cell.Far++
			cell.FarWeight += w
		}
	}
	return out
}

// call is a deploygen.Call. caller is an index into Deployment.Callers.
type call struct {
	cpu                             float64 // or wall time under a lock
	method, caller, process, minute int16
}

func callsOf(d *deploygen.Deployment) []call {
	var out []call
	d.Each(func(c deploygen.Call) {
		time := c.CPU
		if d.Scene.Disturbance.Lock {
			time = c.Wall
		}
		out = append(out, call{float64(time), int16(c.Method), int16(c.Caller + 1), int16(c.Process), int16(c.At / bucket)})
	})
	return out
}

// callsPerRecord returns the weight of a record, by version and method.
func callsPerRecord(d *deploygen.Deployment, side []evidence.Side, measured []call) (out [2][]float64) {
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
	for i := range measured {
		records[side[measured[i].process]][measured[i].method]++
	}
	for s := range out {
		for m := range out[s] {
			out[s][m] /= math.Max(1, records[s][m])
		}
	}
	return out
}

// caps returns the weighted 99.5% quantile of the CPU time over both versions, by method and caller.
func caps(d *deploygen.Deployment, side []evidence.Side, weights [2][]float64, measured []call) []float64 {
	type weighted struct{ x, w float64 }
	n := len(d.Methods) + 1
	all := make([][]weighted, len(d.Methods)*n)
	for i := range measured {
		c := &measured[i]
		k := int(c.method)*n + int(c.caller)
		all[k] = append(all[k], weighted{c.cpu, weights[side[c.process]][c.method]})
	}
	out := make([]float64, len(all))
	for k, calls := range all {
		slices.SortFunc(calls, func(a, b weighted) int {
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
