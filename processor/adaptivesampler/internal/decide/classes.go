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
	looks  string
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
	looks := m.looks(cfg)
	c := &m.class
	flood := looks == ClassInner && m.usual() >= cfg.Hysteresis*cfg.InnerCallsPerSecond
	if c.is == "" || c.guess || flood {
		*c = class{is: looks, guess: m.uncounted()}
		return
	}
	if looks == c.is {
		c.looks, c.streak = "", 0
		return
	}
	if looks != c.looks {
		c.looks, c.streak = looks, 0
	}
	if c.streak++; c.streak >= cfg.HoldIntervals {
		*c = class{is: looks}
	}
}

func (m *method) looks(cfg *ClassesConfig) string {
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
