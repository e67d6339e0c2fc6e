package deploygen

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// Parameters of the model. SD is the standard deviation of a logarithm; shares and factors are of 1.
const (
	levelMedianNS   = 200e3 // levels of methods are lognormal
	levelSD         = 0.8
	callSD          = 0.7 // a call around the level
	waitMean        = 0.2 // wall time is CPU time x (1 + W), W exponential
	slowHost        = 0.2 // a slow host in addition to HostSD
	slowHostP       = 0.05
	callsPerRecord  = 4
	outsideShare    = 0.05 // CPU of a process outside of methods
	differShare     = 0.1  // methods with DifferSD
	loadExponentMax = 0.3  // own cost is multiplied by load to a power of at most this, drawn per method
	arSD            = 0.1
	dip, dipP       = 0.3, 0.1 // cost and minutes
	neighbor        = 0.3      // cost of one process for a third of the time
	coldMin         = 0.2      // cost of a new process
	coldMax         = 0.6
	coldLeft        = 0.05 // after 1 to 6 minutes
	halfLife        = 10.0 // minutes
	halfMin         = 0.3  // cost of half of the methods of a new process
	halfMax         = 1.0
	busyMax         = 0.58 // cost of a method in the first head process
	lockUsed        = 0.5  // time of the lock in the base
	crashMin        = 3    // minutes
	crashMax        = 6
)

// Begin is the time of the first record of a deployment.
var Begin = time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)

// Versions of the processes.
const (
	BaseVersion = "1.9.0"
	HeadVersion = "1.10.0"
)

// Deployment is a drawn deployment. It is safe for use by several goroutines.
type Deployment struct {
	Scene     Scene
	Begin     time.Time
	Duration  time.Duration
	Methods   []Method
	Processes []Process // base first
	Hosts     []Host
	// HostDifference is the log ratio, head to base, that the hosts alone cause in a method with loading 1.
	HostDifference float64

	graph   graph
	minutes int
	level   []float64 // mean own cost in ns by process, minute and method, without rare calls
	calls   []int32   // by process, minute and edge
	depth   [][]uint8 // recursion depth by process and request
	rare    [2][]Rare // by version and method
}

// Method is a method and the truth about it.
type Method struct {
	Name string // fully qualified, in the format of an SDK
	// P is the probability that a call is measured.
	P float64
	// Callers contains the methods that call it: Entry for calls from outside, its own index for recursion.
	Callers []int
	Truth
}

// Truth contains log ratios of the mean cost per call, head to base.
type Truth struct {
	Own, Inclusive float64 // changes caused by the version
	Unchanged      bool    // the own cost is the same

	// These include the drawn conditions: infinitely many records would show these values.
	MeasuredOwn, MeasuredInclusive float64
}

// Process is a running process.
type Process struct {
	ID      string
	Head    bool
	Version string
	Start   time.Time
	End     time.Time // zero if it outlives the deployment
	Host    int

	random [2]uint64 // seed of its records
}

// Host is a machine that runs one process.
type Host struct {
	Name string
	// Slow is the log of the host's slowdown of a method with loading 1.
	Slow float64
}

// Draw returns the deployment determined by a scene and a seed.
func Draw(s Scene, seed uint64) *Deployment {
	s = s.withDefaults()
	name := fnv.New64a()
	fmt.Fprint(name, s.Name())
	rng := rand.New(rand.NewPCG(seed, name.Sum64()))
	d := &Deployment{Scene: s, Begin: Begin, Duration: s.Duration, minutes: int(s.Duration / time.Minute)}
	d.graph = drawGraph(rng, s.Structure)
	nominal, changed := d.drawMethods(rng)
	d.drawProcesses(rng)
	d.drawLevels(rng, nominal, changed)
	d.drawCalls(rng)
	d.addTruth(nominal, changed)
	return d
}

// drawMethods returns the mean own costs in base, and the factors by which head changes them.
func (d *Deployment) drawMethods(rng *rand.Rand) (nominal, factors []float64) {
	s := d.Scene
	for m := range s.Structure.Methods {
		p := 1.0 / callsPerRecord
		if !s.WholeRequests {
			p /= d.graph.perRequest[m]
		}
		d.Methods = append(d.Methods, Method{Name: fmt.Sprintf("app/steps.Step%02d", m), P: p})
		nominal = append(nominal, levelMedianNS*math.Exp(levelSD*rng.NormFloat64()))
		factors = append(factors, 1)
	}
	for _, e := range d.graph.edges {
		d.Methods[e.method].Callers = append(d.Methods[e.method].Callers, e.caller)
	}
	for _, m := range d.graph.changed(rng, s.Change.Where) {
		factors[m] = s.Change.Factor
	}
	rare := s.Disturbance.Rare
	for version := range d.rare {
		d.rare[version] = make([]Rare, len(d.Methods))
		for m := range d.Methods {
			if rare.Both {
				d.rare[version][m] = rare
				if version == 1 && rare.HeadFactor > 0 {
					d.rare[version][m].Factor = rare.HeadFactor
				}
			}
		}
	}
	if rare.P > 0 && !rare.Both {
		path := d.graph.path()
		d.rare[1][path[len(path)-1]] = rare
	}
	return nominal, factors
}

func (d *Deployment) drawProcesses(rng *rand.Rand) {
	s := d.Scene
	for i := range s.Base + s.Head {
		p := Process{ID: fmt.Sprintf("process-%02d", i), Version: BaseVersion, Host: i}
		age := time.Hour + time.Duration(rng.Int64N(int64(23*time.Hour)))
		p.Start = d.Begin.Add(-age)
		if i >= s.Base {
			p.Head, p.Version = true, HeadVersion
		}
		if p.Head || s.Disturbance.Tie {
			p.Start = d.Begin
		}
		p.random = [2]uint64{rng.Uint64(), rng.Uint64()}
		h := Host{Name: fmt.Sprintf("host-%02d", i), Slow: s.HostSD * rng.NormFloat64()}
		if rng.Float64() < slowHostP {
			h.Slow += math.Log1p(slowHost)
		}
		if p.Head && s.Disturbance.CrashLoop {
			d.crash(rng, p, h)
			continue
		}
		d.Processes, d.Hosts = append(d.Processes, p), append(d.Hosts, h)
	}
}

// crash adds the lives of a process that is restarted every few minutes, all on one host.
func (d *Deployment) crash(rng *rand.Rand, p Process, h Host) {
	end := d.Begin.Add(d.Duration)
	for id := p.ID; p.Start.Before(end); p.Start = p.End {
		life := p
		life.ID, life.Host = fmt.Sprintf("%s-%02d", id, len(d.Processes)), len(d.Hosts)
		p.End = p.Start.Add(time.Duration(crashMin+rng.IntN(crashMax-crashMin+1)) * time.Minute)
		life.End, life.random = p.End, [2]uint64{rng.Uint64(), rng.Uint64()}
		d.Processes, d.Hosts = append(d.Processes, life), append(d.Hosts, h)
	}
}

// runs reports whether a process runs in a minute.
func (d *Deployment) runs(p *Process, minute int) bool {
	at := d.Begin.Add(time.Duration(minute) * time.Minute)
	return !at.Before(p.Start) && (p.End.IsZero() || at.Before(p.End))
}

func (p *Process) version() int {
	if p.Head {
		return 1
	}
	return 0
}

// load returns the request rate of a process relative to an undisturbed process.
func (d *Deployment) load(p *Process) float64 {
	switch load := d.Scene.Disturbance.HeadLoad; {
	case p.Head && load > 1:
		return load
	case !p.Head && load > 0 && load < 1:
		return 1 / load
	}
	return 1
}
