package decide

import "encoding/json"

// stateVersion is the version of the state's form. A state of another version is refused, and the strategy starts
// to learn from nothing.
const stateVersion = 1

const (
	// maxStateName bounds each name in a state.
	maxStateName = 4096

	// maxStateMethod is an upper bound of a method's size in a state with ordinary names; it bounds
	// the input of Restore.
	maxStateMethod = 4096
)

// strategyState is the state that survives restarts. Times are Unix seconds.
type strategyState struct {
	Version int          `json:"version"`
	Last    float64      `json:"last"`
	Trim    float64      `json:"trim,omitempty"` // of the budget that all share
	Groups  []groupState `json:"groups"`
}

type groupState struct {
	Namespace   string        `json:"namespace,omitempty"`
	Service     string        `json:"service"`
	Environment string        `json:"environment,omitempty"`
	Version     string        `json:"version,omitempty"`
	First       float64       `json:"first"`
	Last        float64       `json:"last"`
	Follows     bool          `json:"follows,omitempty"`
	Opened      float64       `json:"opened,omitempty"` // its comparison with the versions before
	Weight      float64       `json:"weight"`
	Called      float64       `json:"called"`
	Counted     bool          `json:"counted,omitempty"` // counts have come
	Late        bool          `json:"late,omitempty"`    // its counts are waited for
	Owed        float64       `json:"owed,omitempty"`    // for so many seconds
	Trim        float64       `json:"trim,omitempty"`    // of its service's budget
	Bunch       [2]float64    `json:"bunch"`             // of its service
	Methods     []methodState `json:"methods"`
}

type methodState struct {
	Class     string `json:"class,omitempty"`
	Method    string `json:"method"`
	Signature string `json:"signature,omitempty"`
	Foreign   bool   `json:"foreign,omitempty"`

	Seen        float64     `json:"seen"`
	Calls       [5]float64  `json:"calls"` // the fields of level but one
	Bunch       [2]float64  `json:"bunch"`
	Wall        [4]float64  `json:"wall"` // the fields of WeightedSums
	CPU         [4]float64  `json:"cpu"`
	Entry       float64     `json:"entry,omitempty"`
	Called      float64     `json:"called,omitempty"`
	CalleeWall  float64     `json:"callee_wall,omitempty"`
	CalleeCPU   float64     `json:"callee_cpu,omitempty"`
	Compared    [4]float64  `json:"compared"`
	ComparedOf  string      `json:"compared_of,omitempty"`
	PriorSpread float64     `json:"prior_spread,omitempty"`
	PriorMean   float64     `json:"prior_mean,omitempty"`
	PriorOwn    float64     `json:"prior_own,omitempty"`
	PriorP      float64     `json:"prior_p,omitempty"`
	Learned     string      `json:"learned,omitempty"` // its class
	Next        string      `json:"looks,omitempty"`   // another class, for so many intervals
	Streak      int         `json:"streak,omitempty"`
	Owed        float64     `json:"owed,omitempty"`   // calls not judged yet
	Lately      float64     `json:"lately,omitempty"` // calls per second of the last interval
	P           float64     `json:"p,omitempty"`
	Arrived     float64     `json:"arrived,omitempty"`
	Score       *savedScore `json:"score,omitempty"`
}

type savedScore struct {
	Label     string  `json:"label"`
	Balance   float64 `json:"balance"`
	Records   float64 `json:"records"`
	Until     float64 `json:"until,omitempty"`
	BackOff   float64 `json:"back_off,omitempty"` // seconds
	Probation bool    `json:"probation,omitempty"`
}

// Snapshot returns the learned state as JSON. Its size is bounded by max_methods and the length of names.
func (b *methodStore) Snapshot() []byte {
	s := strategyState{Version: stateVersion, Last: unixSeconds(b.last), Trim: b.trim, Groups: []groupState{}}
	place := make(map[*version]int)
	for _, m := range b.order {
		v := m.version
		i, ok := place[v]
		if !ok {
			i = len(s.Groups)
			place[v] = i
			s.Groups = append(s.Groups, v.state())
		}
		s.Groups[i].Methods = append(s.Groups[i].Methods, m.state())
	}
	data, err := json.Marshal(s)
	if err != nil { // numbers are valid and the rest cannot fail
		return nil
	}
	return data
}

func (v *version) state() groupState {
	g := groupState{
		Namespace: v.group.Namespace, Service: v.group.Service, Environment: v.group.Environment, Version: v.group.Version,
		First: unixSeconds(v.first), Last: unixSeconds(v.last), Follows: v.follows, Weight: v.weight, Called: v.called,
		Counted: v.counted, Late: v.late, Owed: v.owed, Trim: v.service.trim, Bunch: v.service.burstiness.state(),
	}
	if v.service.head == v {
		g.Opened = unixSeconds(v.service.opened)
	}
	return g
}

func (m *method) state() methodState {
	l := m.calls
	s := methodState{
		Class: m.key.Class, Method: m.key.Method, Signature: m.key.Signature, Foreign: m.foreign,
		Seen:  unixSeconds(m.seen),
		Calls: [5]float64{l.Now, l.Run, l.RunSeconds, l.Sum, l.Seconds}, Bunch: l.Burstiness.state(),
		Wall: m.wall.state(), CPU: m.cpu.state(),
		Entry: m.entry, Called: m.called, CalleeWall: m.calleeWall, CalleeCPU: m.calleeCPU, Compared: m.compared.state(), ComparedOf: m.comparedOf,
		PriorSpread: m.priorSpread, PriorMean: m.priorMean, PriorOwn: m.priorOwn, PriorP: m.priorP, Learned: m.class.is, Next: m.class.next, Streak: m.class.streak,
		Owed: m.owed, Lately: m.lately, P: m.p, Arrived: m.arrived,
	}
	if a := m.score; a.label != "" {
		s.Score = &savedScore{a.label, a.balance, a.records, unixSeconds(a.until), a.backOff.Seconds(), a.probation}
	}
	return s
}

func (s *WeightedSums) state() [4]float64 { return [4]float64{s.Records, s.Weight, s.Sum, s.Squares} }
