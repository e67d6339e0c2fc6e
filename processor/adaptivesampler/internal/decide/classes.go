package decide

// Classes that are learned.
const (
	ClassEntry = "entry" // called from outside
	ClassMid   = "mid"
	ClassInner = "inner" // called very often
)

// class is what a method is, and what it has lately looked like.
type class struct {
	is     string
	looks  string
	streak int
	guess  bool // made before counts came
}

// classify looks at how often the method is called and from where. A method that
// is called very often is an inner one wherever it stands: what an entry may
// cost in records is not so much as that.
//
// A class has two thresholds, one to become it and a lower one to leave it, and
// a method must match another for some intervals in a row. A class that was guessed
// before counts arrived changes at once, and so does any class to inner when the
// method is called far more often than that needs: waiting would cost most there.
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
