package evidence

import "math"

// leastCallsChange is the smallest change of calls per call that is raised. A new query per item in a loop at least
// doubles the calls; smaller changes usually come from the data.
const leastCallsChange = 0.10

// callsPrior is the assumed standard deviation of calls per call between processes.
const callsPrior = 0.02

// pair is a caller and a method that it calls, as indices into Methods.
type pair struct{ caller, method int32 }

// compareCalls compares, for every pair of caller and method, the calls of the method per call of the caller. A query
// in a loop raises no method's cost per call, so the comparison of costs misses it. Calls of the caller replace the
// weights of records, and calls of the method replace their cost; the rest is as for costs. It counts all timed calls,
// with or without CPU time: with the weights of CPU times, other processes stand for a process without CPU times,
// over different periods for each method. The pairs are a separate family of hypotheses.
func compareCalls(x *index, o Options) ([]compared, error) {
	d := &Deployment{
		Callers: []string{""}, Instances: x.d.Instances, Overlap: x.d.Overlap, ByAge: x.d.ByAge,
		Begin: x.d.Begin, Bucket: x.d.Bucket, Buckets: x.d.Buckets,
		// A slow host does not change the number of calls.
		Spreads: Spreads{Hosts: Spread{1e-8, hostsPriorDF}, Processes: Spread{callsPrior * callsPrior, betweenPriorDF}},
	}
	callers := d.addPairs(x)
	if len(callers) == 0 {
		return nil, nil
	}
	y, err := newIndex(d, o)
	if err != nil {
		return nil, err
	}
	copy(y.warm, x.warm)
	y.processBuckets = x.processBuckets
	pairs := compare(y, newStandard(y), nil)
	for i := range pairs {
		pairs[i].decide, pairs[i].tails = []statistic{cost}, nil
		pairs[i].caller, pairs[i].verdict.Caller = callers[i], callers[i]
	}
	processSpreads := learnProcessSpreads(y, hostEffects{}, pairs)
	processSpreads.hosts = Spread{} // a slow host does not change the number of calls
	for i := range pairs {
		if pairs[i].estimate(processSpreads, o, o.Inflation); pairs[i].verdict.State == NotProven {
			pairs[i].inferAlone("", processSpreads, o)
		}
	}
	return pairs, nil
}

// addPairs adds a method to d for each pair of caller and method, with the calls of the method as its cost. It returns
// the callers of the pairs.
func (d *Deployment) addPairs(x *index) (callers []string) {
	type key struct{ instance, bucket int32 }
	calls := map[int32]map[key][2]float64{} // method -> its calls and records
	position := map[string]int32{}
	for m, name := range x.d.Methods {
		position[name] = int32(m)
	}
	callerMethod := make([]int32, len(x.d.Callers))
	for i, name := range x.d.Callers {
		callerMethod[i] = -1
		if m, ok := position[name]; ok {
			callerMethod[i] = m
			calls[m] = map[key][2]float64{}
		}
	}
	if len(calls) == 0 { // no caller was measured
		return nil
	}
	for i := range x.cells {
		c := &x.cells[i]
		if own := calls[c.Method]; own != nil && c.made() && x.shown(c) {
			k := key{c.Instance, c.Bucket}
			own[k] = [2]float64{own[k][0] + c.Calls, own[k][1] + c.Timed}
		}
	}
	number := map[pair]int32{}
	for i := range x.cells {
		c := &x.cells[i]
		caller := callerMethod[c.Caller]
		if caller < 0 || caller == c.Method || !c.made() || !x.shown(c) {
			continue
		}
		of := calls[caller][key{c.Instance, c.Bucket}]
		if !(of[0] > 0) {
			continue // the caller's own calls were not measured here
		}
		p := pair{caller, c.Method}
		n, ok := number[p]
		if !ok {
			n = int32(len(d.Methods))
			number[p] = n
			d.Methods = append(d.Methods, x.d.Methods[c.Method])
			callers = append(callers, x.d.Methods[caller])
		}
		d.Cells = append(d.Cells, Cell{
			Method: n, Instance: c.Instance, Bucket: c.Bucket,
			Records: math.Min(c.Timed, of[1]), Weight: of[0], Sum: c.Calls, Capped: c.Calls, Log: of[0] * math.Log(c.Calls/of[0]),
		})
	}
	return callers
}

// made reports whether the cell contains timed calls.
func (c *Cell) made() bool { return c.Calls > 0 && c.Timed > 0 }

// describeCalls clears the fields that have no meaning for calls and sets the reason.
func describeCalls(v *outcome) {
	v.Mix, v.ExcessPerDay = 0, 0
	v.Reason = callsReason(v)
}
