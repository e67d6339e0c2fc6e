package deploygen

import (
	"fmt"
	"strings"
	"time"
)

// Scene is what a deployment is drawn from. Records and Duration default to 400 and
// 30 minutes where they are 0.
type Scene struct {
	Family      string
	Structure   Structure
	Change      Change
	Base, Head  int     // processes
	HostSD      float64 // of the log slowness of hosts
	InstanceSD  float64 // of log cost per process and method
	LoadingSD   float64 // of how strongly methods feel slowness, 0 = alike
	Disturbance Disturbance

	Records       int // of a method and process, in the mean
	WholeRequests bool
	Duration      time.Duration // whole minutes
}

// Defaults of a Scene.
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

// Structure is a shape of call graphs.
type Structure struct {
	Kind    string
	Methods int
}

// Structures without a size.
var (
	Recursion  = Structure{KindRecursion, 4}
	SharedLeaf = Structure{KindSharedLeaf, 6}
)

// Chain is n methods each of which calls the next.
func Chain(n int) Structure { return Structure{KindChain, n} }

// Tree is n methods with drawn parents.
func Tree(n int) Structure { return Structure{KindTree, n} }

// Methods that a Change is of.
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

// Fits reports whether a structure has room for the change.
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

// Disturbance is what breaks the assumptions of a model. The zero value disturbs
// nothing; several may come together.
type Disturbance struct {
	Rare      Rare
	DifferSD  float64 // instance sd of a tenth of the methods
	HeadLoad  float64 // requests of a process of head by those of base, 0 = 1
	AR        float64 // coefficient from minute to minute
	Dips      bool
	Neighbor  bool
	Tie       bool
	ColdCache bool
}

// Rare are rare expensive calls: a share of P of the calls costs Factor times as much.
type Rare struct {
	P, Factor float64
	Both      bool // all methods of both versions, otherwise the leaf in head
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
	add(d.DifferSD > 0, "differ-%g%%", 100*d.DifferSD)
	add(d.HeadLoad > 1, "load-head-x%g", d.HeadLoad)
	add(d.HeadLoad > 0 && d.HeadLoad < 1, "load-base-x%g", 1/d.HeadLoad)
	add(d.AR > 0, "ar-%g", d.AR)
	add(d.Dips, "dips")
	add(d.Neighbor, "neighbor")
	add(d.ColdCache, "cold-cache")
	add(d.Tie, "tie")
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
