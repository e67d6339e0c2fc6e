package deploygen

import (
	"fmt"
	"strings"
	"time"
)

// Scene contains the parameters of a drawn deployment. Records defaults to 400, Duration to 30 minutes.
type Scene struct {
	Family      string
	Structure   Structure
	Change      Change
	Base, Head  int     // numbers of processes
	HostSD      float64 // standard deviation of the log slowness of hosts
	InstanceSD  float64 // standard deviation of the log cost per process and method
	LoadingSD   float64 // standard deviation of the methods' sensitivity to slow hosts, 0 = all alike
	Disturbance Disturbance

	Records       int // mean per method and process
	WholeRequests bool
	Duration      time.Duration // a whole number of minutes
}

// Default values of a Scene.
const (
	DefaultRecords  = 400
	DefaultDuration = 30 * time.Minute
)

// Kinds of structures.
const (
	KindChain      = "chain"
	KindTree       = "tree"
	KindRecursion  = "recursion"
	KindSharedLeaf = "shared-leaf"
)

// Structure is the shape of a call graph.
type Structure struct {
	Kind    string
	Methods int
}

// Structures with a fixed size.
var (
	Recursion  = Structure{KindRecursion, 4}
	SharedLeaf = Structure{KindSharedLeaf, 6}
)

// Chain returns a chain of n methods: each calls the next.
func Chain(n int) Structure { return Structure{KindChain, n} }

// Tree returns a tree of n methods with random parents.
func Tree(n int) Structure { return Structure{KindTree, n} }

// Values of Change.Where: the methods that change.
const (
	Nothing = "nothing"
	Leaf    = "leaf"
	Middle  = "middle"
	Root    = "root"
	Two     = "two"
	Third   = "third"
	Half    = "half"
	All     = "all"
)

// Change multiplies the own cost of some methods in the head version.
type Change struct {
	Where  string
	Factor float64
}

// Fits reports whether a structure has enough methods for the change.
func (c Change) Fits(s Structure) bool {
	needed := map[string]int{Middle: 3, Root: 2, Two: 3, Third: 3, Half: 4}
	return s.Methods >= needed[c.Where]
}

func (c Change) String() string {
	switch {
	case c.Where == Nothing:
		return Nothing
	case c.Factor >= 5:
		return fmt.Sprintf("%s-x%.0f", c.Where, c.Factor)
	}
	return fmt.Sprintf("%s%+.0f%%", c.Where, 100*(c.Factor-1))
}

// Disturbance contains violations of the model's assumptions. They can be combined. The zero value has none.
type Disturbance struct {
	Rare      Rare
	DifferSD  float64 // InstanceSD of a tenth of the methods
	HeadLoad  float64 // ratio of requests per process, head to base; 0 = 1
	AR        float64 // autoregression coefficient from minute to minute
	Dips      bool
	Neighbor  bool
	Tie       bool
	ColdCache bool
	// ColdHalf makes half of the methods of each new process slow, with a half-life of 10 minutes.
	ColdHalf bool
	// BusyHost slows each method of the first head process down by a factor of its own for all of its life.
	BusyHost bool
	// Lock lets calls wait for a lock that the base uses for half of the time: wall time follows the load.
	Lock bool
	// CrashLoop restarts each head process after a few minutes, as a process of its own.
	CrashLoop bool
}

// Rare describes rare expensive calls: the share P of the calls costs Factor times as much.
type Rare struct {
	P, Factor float64
	Both      bool // all methods in both versions; otherwise only the leaf, only in head
	// HeadFactor replaces Factor in head, if Both.
	HeadFactor float64
}

func (d Disturbance) String() string {
	var parts []string
	add := func(is bool, format string, values ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, values...))
		}
	}
	where := "leaf"
	if d.Rare.Both {
		where = "both"
	}
	add(d.Rare.P > 0, "rare-%g%%-x%g-%s", 100*d.Rare.P, d.Rare.Factor, where)
	add(d.Rare.HeadFactor > 0, "rare-head-x%g", d.Rare.HeadFactor)
	add(d.DifferSD > 0, "differ-%g%%", 100*d.DifferSD)
	add(d.HeadLoad > 1, "load-head-x%g", d.HeadLoad)
	add(d.HeadLoad > 0 && d.HeadLoad < 1, "load-base-x%g", 1/d.HeadLoad)
	add(d.AR > 0, "ar-%g", d.AR)
	add(d.Dips, "dips")
	add(d.Neighbor, "neighbor")
	add(d.ColdCache, "cold-cache")
	add(d.Tie, "tie")
	add(d.ColdHalf, "cold-half")
	add(d.BusyHost, "busy-host")
	add(d.Lock, "lock")
	add(d.CrashLoop, "crash-loop")
	if len(parts) == 0 {
		return "undisturbed"
	}
	return strings.Join(parts, "+")
}

func (s Structure) String() string {
	if s.Kind == KindChain || s.Kind == KindTree {
		return fmt.Sprintf("%s-%d", s.Kind, s.Methods)
	}
	return s.Kind
}

// Name returns all parameters of the scene, separated by spaces.
func (s Scene) Name() string {
	s = s.withDefaults()
	felt, calls := "alike", "calls"
	if s.LoadingSD > 0 {
		felt = "differently"
	}
	if s.WholeRequests {
		calls = "requests"
	}
	return fmt.Sprintf("%s %s %s %d+%d hosts=%g%% instance=%g%% felt=%s %s records=%d sampled=%s %s",
		s.Family, s.Structure, s.Change, s.Base, s.Head, 100*s.HostSD, 100*s.InstanceSD, felt,
		s.Disturbance, s.Records, calls, strings.TrimSuffix(s.Duration.String(), "0s"))
}

func (s Scene) withDefaults() Scene {
	if s.Records == 0 {
		s.Records = DefaultRecords
	}
	if s.Duration == 0 {
		s.Duration = DefaultDuration
	}
	return s
}
