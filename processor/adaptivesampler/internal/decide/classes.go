package decide

// Classes that are learned.
const (
	ClassEntry = "entry" // called from outside
	ClassMid   = "mid"
	ClassInner = "inner" // called very often
)

// class is the class of a method, and the other class that it recently matched.
type class struct {
	is     string
	next   string // another class that it matched, for streak intervals
	streak int
	guess  bool // made before counts came
}

// classify decides by frequency and caller. A method that is called very often is an inner one wherever it is
// called from, because an entry's records would cost too much.
//
// A class has two thresholds, one to enter it and a lower one to leave it, and a method must match another class
// for several intervals in a row. A class that was guessed before counts arrived changes at once. So does any
// class to inner if the method is called far more often than needed, because waiting would cost most there.
func (m *method) classify(cfg *ClassesConfig) {
	if m.frozen() {
		return
	}
	current := m.classNow(cfg)
	c := &m.class
	flood := current == ClassInner && m.usual() >= cfg.Hysteresis*cfg.InnerCallsPerSecond
	if c.is == "" || c.guess || flood {
		*c = class{is: current, guess: m.uncounted()}
		return
	}
	if current == c.is {
		c.next, c.streak = "", 0
		return
	}
	if current != c.next {
		c.next, c.streak = current, 0
	}
	if c.streak++; c.streak >= cfg.HoldIntervals {
		*c = class{is: current}
	}
}

func (m *method) classNow(cfg *ClassesConfig) string {
	inner, entry := cfg.InnerCallsPerSecond, cfg.EntryShare
	switch m.class.is {
	case ClassInner:
		inner /= cfg.Hysteresis
	case ClassEntry:
		entry /= cfg.Hysteresis
	}
	switch {
	case m.usual() >= inner:
		return ClassInner
	case m.called > 0 && m.entry >= entry*m.called:
		return ClassEntry
	}
	return ClassMid
}

// rate returns the rate of the class under the strategy tiers.
func (c *ClassesConfig) rate(class string) float64 {
	switch class {
	case ClassEntry:
		return c.EntryRate
	case ClassInner:
		return c.InnerRate
	}
	return c.MidRate
}
