package decide

import (
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

// Labels of the scorecard.
const (
	ScoreNormal    = "normal"
	ScoreHotspot   = "hotspot"
	ScoreUnmanaged = "unmanaged"
	ScoreOff       = "off"
	ScoreWouldBe   = "off (shadow)"
)

// score is a method's account. The balance is in calls: a record represents 1/p of them, so the sampling rate
// affects the precision of the account, not its expected value.
type score struct {
	label     string // "" = not scored
	balance   float64
	records   float64       // since the account was opened
	until     time.Time     // off until then
	backOff   time.Duration // of the last time it was off, 0 = never
	probation bool
}

func (s *score) off() bool { return s.label == ScoreOff }

// reborn returns the account of the method in a new version: a method that was off is tried, a heavy one is
// trusted.
func (s *score) reborn(cfg *ScorecardConfig) score {
	switch {
	case s.off() || s.probation:
		return score{label: ScoreNormal, balance: cfg.ProbationBalance, probation: true, backOff: s.backOff}
	case s.label == ScoreUnmanaged:
		return score{label: ScoreHotspot, balance: cfg.HotspotBalance}
	}
	return score{}
}

// keep updates the account by one interval and reports whether the method is to be off. Pinned methods, those of
// other SDKs and the overflow have no account.
func (m *method) keep(now time.Time, cfg *ScorecardConfig) {
	s := &m.score
	if !cfg.Enabled || m.pinned() || m.foreign || m.key.isOverflow() {
		*s = score{}
		return
	}
	if s.label == "" {
		*s = score{label: ScoreNormal, balance: cfg.InitialBalance}
	}
	switch {
	case s.off() && now.Before(s.until):
	case s.off():
		*s = score{label: ScoreNormal, balance: cfg.ProbationBalance, probation: true, backOff: s.backOff}
	case s.label != ScoreUnmanaged:
		s.balance = min(s.balance+m.change(cfg), cfg.UnmanagedBalance)
		s.records += m.now.metered
		s.judge(now, cfg)
	}
	if s.off() && !cfg.Shadow {
		m.mode, m.reason = methodfile.ModeOff, reasonScore
	}
}

// change returns the change of the balance by an interval's calls. A single call has no exclusive time of its own,
// so the mean is used: the method's time less the time of the methods it called. Without known callers there is
// none.
func (m *method) change(cfg *ScorecardConfig) float64 {
	if m.now.weight <= 0 {
		return 0
	}
	in, ex := &cfg.Inclusive, &cfg.Exclusive
	change := m.now.above*in.Credit - (m.now.weight-m.now.above)*in.Debit
	metered, callees := &m.wall, m.calleeWall
	if cfg.Meter == MeterCPU {
		metered, callees = &m.cpu, m.calleeCPU
	}
	if !m.version.edges() || metered.Weight <= 0 {
		return change
	}
	if exclusive := (metered.Sum - callees) / metered.Weight; exclusive >= float64(ex.Threshold) {
		return change + m.now.weight*ex.Credit
	}
	return change - m.now.weight*ex.Debit
}

// enough returns the number of records that an account needs. On probation a method was judged before, so fewer
// records suffice.
func (s *score) enough(cfg *ScorecardConfig) float64 {
	if s.probation {
		return cfg.MinRecords / 10
	}
	return cfg.MinRecords
}

// judge gives the account its label.
func (s *score) judge(now time.Time, cfg *ScorecardConfig) {
	switch {
	case s.balance >= cfg.UnmanagedBalance:
		*s = score{label: ScoreUnmanaged, balance: s.balance}
	case s.balance >= cfg.HotspotBalance:
		s.label = ScoreHotspot
	case s.balance > 0 || s.records < s.enough(cfg):
		s.label = ScoreNormal
	default:
		s.backOff = min(max(2*s.backOff, cfg.BackOff), cfg.MaxBackOff)
		*s = score{label: ScoreOff, until: now.Add(s.backOff), backOff: s.backOff}
	}
	if s.probation && s.balance >= cfg.InitialBalance {
		s.probation, s.backOff = false, 0
	}
}
