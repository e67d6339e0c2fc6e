package decide

import (
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

// prepare does the common work of all strategies before rates are decided: class, whether the method is measured,
// and comparisons.
func (b *methodStore) prepare(now time.Time) {
	for _, m := range b.order {
		m.classify(&b.cfg.Classes)
		m.mode = methodfile.ModeSample
		m.keep(now, &b.cfg.Scorecard)
		switch {
		case m.pinned():
			m.pin(&b.cfg)
		case m.mode == methodfile.ModeSample && !m.version.heard:
			m.p, m.reason = m.start(&b.cfg), reasonResting
		}
	}
	b.compare(now)
}

// pin applies the method file.
func (m *method) pin(cfg *Config) {
	m.reason = reasonFile
	if m.rule.Mode != "" {
		m.mode = m.rule.Mode
	}
	switch {
	case m.rule.Rate > 0 && m.rule.Explicit:
		m.p = m.rule.Rate
	case m.mode == methodfile.ModeAggregate:
		m.p = 1
	default:
		m.p = m.start(cfg)
	}
}

// free reports whether the strategy decides the rate.
func (m *method) free() bool {
	return m.version.heard && m.mode == methodfile.ModeSample && !m.pinned()
}
