package deploygen

import (
	"math"
	"math/rand/v2"
	"time"
)

// Call is a measured call.
type Call struct {
	Method  int
	Caller  int // Entry for a call from outside
	Process int
	At      time.Duration // since Begin
	CPU     int64         // ns, including callees
	Wall    int64         // ns
}

// drawCalls draws the exact call counts.
func (d *Deployment) drawCalls(rng *rand.Rand) {
	d.calls = make([]int32, 0, len(d.Processes)*d.minutes*len(d.graph.edges))
	d.depth = make([][]uint8, len(d.Processes))
	byMethod := make([]int32, len(d.Methods))
	for i := range d.Processes {
		mean := callsPerRecord * float64(d.Scene.Records) / float64(d.minutes) * d.load(&d.Processes[i])
		for minute := range d.minutes {
			clear(byMethod)
			mean := mean
			if !d.runs(&d.Processes[i], minute) {
				mean = 0
			}
			for _, e := range d.graph.edges {
				var n int32
				switch {
				case e.caller == Entry:
					n = poisson(rng, mean)
				case e.self():
					for range byMethod[e.method] {
						again := uint8(0)
						for again < math.MaxUint8 && rng.Float64() < selfCall {
							again++
						}
						d.depth[i] = append(d.depth[i], again)
						n += int32(again)
					}
				default:
					n = byMethod[e.caller]
				}
				byMethod[e.method] += n
				d.calls = append(d.calls, n)
			}
		}
	}
}

// poisson returns a Poisson variable: it counts the events of a unit-rate process up to mean.
func poisson(rng *rand.Rand, mean float64) int32 {
	n := int32(0)
	for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
		n++
	}
	return n
}

// Minutes returns the number of minutes with records.
func (d *Deployment) Minutes() int { return d.minutes }

// byEdge returns the number of calls of a process in a minute, by edge.
func (d *Deployment) byEdge(process, minute int) []int32 {
	edges := len(d.graph.edges)
	at := (process*d.minutes + minute) * edges
	return d.calls[at : at+edges]
}

// Calls sets calls to the exact number of calls of each method of a process in a minute.
func (d *Deployment) Calls(process, minute int, calls []int64) {
	clear(calls)
	for e, n := range d.byEdge(process, minute) {
		calls[d.graph.edges[e].method] += int64(n)
	}
}

// Each passes all measured calls to use, by process, then by minute. Calls within a minute are not sorted.
// Repeated use passes the same calls.
func (d *Deployment) Each(use func(Call)) {
	for i := range d.Processes {
		d.EachOf(i, use)
	}
}

// EachOf passes the measured calls of one process to use.
func (d *Deployment) EachOf(process int, use func(Call)) {
	p := &d.Processes[process]
	r := recorder{
		Deployment: d, rng: rand.New(rand.NewPCG(p.random[0], p.random[1])),
		process: process, rare: d.rare[p.version()], plain: d.Scene.Disturbance.Rare.P == 0, use: use,
	}
	for r.minute = range d.minutes {
		r.level = d.levels(process, r.minute)
		calls := d.byEdge(process, r.minute)
		if d.Scene.WholeRequests {
			r.requests(int(calls[0]))
			continue
		}
		for e, edge := range d.graph.edges {
			p := d.Methods[edge.method].P
			for range calls[e] {
				if r.rng.Float64() < p {
					r.record(edge.method, edge.caller, r.at(), r.call(edge.method))
				}
			}
		}
	}
}

// recorder draws the records of one process.
type recorder struct {
	*Deployment
	rng     *rand.Rand
	process int
	minute  int
	level   []float64
	rare    []Rare
	plain   bool // no method has rare calls
	use     func(Call)
	request int
}

// at returns a random time within the minute.
func (r *recorder) at() time.Duration {
	return time.Duration(r.minute)*time.Minute + time.Duration(r.rng.Float64()*float64(time.Minute))
}

func (r *recorder) record(method, caller int, at time.Duration, cpu float64) {
	wait := waitMean
	if r.Scene.Disturbance.Lock { // the mean wait in a queue with one server
		used := math.Min(0.95, lockUsed*r.load(&r.Processes[r.process]))
		wait = used / (1 - used)
	}
	wall := cpu * (1 + wait*r.rng.ExpFloat64())
	r.use(Call{Method: method, Caller: caller, Process: r.process, At: at, CPU: int64(cpu), Wall: int64(wall)})
}

// noiseMean is the mean of the lognormal noise of a call. The noise is divided by it, to have mean 1.
var noiseMean = math.Exp(callSD * callSD / 2)

// own draws the own cost of a call.
func (r *recorder) own(method int) float64 {
	x := r.level[method] / noiseMean * math.Exp(callSD*r.rng.NormFloat64())
	if rare := &r.rare[method]; rare.P > 0 && r.rng.Float64() < rare.P {
		x *= rare.Factor
	}
	return x
}

// call draws the inclusive cost of a call.
func (r *recorder) call(method int) float64 {
	if below := r.graph.below[method]; below != nil && r.plain {
		sum := 0.0
		for _, m := range below {
			sum += r.level[m] * math.Exp(callSD*r.rng.NormFloat64())
		}
		return sum / noiseMean
	}
	for sum := 0.0; ; {
		sum += r.own(method)
		for _, callee := range r.graph.callees[method] {
			sum += r.call(callee)
		}
		if !r.graph.recursive[method] || r.rng.Float64() >= selfCall {
			return sum
		}
	}
}

// requests samples the n requests of a minute and records all calls of the sampled requests.
func (r *recorder) requests(n int) {
	for range n {
		if r.rng.Float64() < 1.0/callsPerRecord {
			r.whole(0, Entry, r.at(), r.again())
		}
		r.request++
	}
}

// again returns the number of times that the recursive method calls itself in the current request.
func (r *recorder) again() uint8 {
	if depth := r.depth[r.process]; depth != nil {
		return depth[r.request]
	}
	return 0
}

// whole records a call and all calls below it, and returns its inclusive cost.
func (r *recorder) whole(method, caller int, at time.Duration, again uint8) float64 {
	sum := r.own(method)
	for _, callee := range r.graph.callees[method] {
		sum += r.whole(callee, method, at, again)
	}
	if r.graph.recursive[method] && again > 0 {
		sum += r.whole(method, method, at, again-1)
	}
	r.record(method, caller, at, sum)
	return sum
}

// CPU returns the CPU time in ns that a process used in each minute: the own cost of all its calls and the time
// outside of all methods.
func (d *Deployment) CPU(process int) []float64 {
	p := &d.Processes[process]
	r := recorder{Deployment: d, rng: rand.New(rand.NewPCG(p.random[1], p.random[0])), rare: d.rare[p.version()]}
	cpu := make([]float64, d.minutes)
	for t := range cpu {
		r.level = d.levels(process, t)
		for e, n := range d.byEdge(process, t) {
			cpu[t] += (1 + outsideShare) * r.sum(d.graph.edges[e].method, int(n))
		}
	}
	return cpu
}

// sum draws the total own cost of n calls. It draws each call if calls are few or some are rare and expensive;
// otherwise it draws a normal variable, which is close to the sum.
func (r *recorder) sum(method, n int) float64 {
	const few = 32
	sum := 0.0
	if n < few || r.rare[method].P > 0 {
		for range n {
			sum += r.own(method)
		}
		return sum
	}
	return r.level[method] * (float64(n) + math.Sqrt(float64(n)*math.Expm1(callSD*callSD))*r.rng.NormFloat64())
}
