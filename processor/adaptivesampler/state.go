package adaptivesampler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/statefile"
)

// samplerState is the state that survives a restart: the strategy's state and the rates in force, so that SDKs
// that ask right after a restart get the rates they already use.
type samplerState struct {
	Strategy string       `json:"strategy"`
	Learned  []byte       `json:"learned"` // owned by the strategy
	Groups   []groupState `json:"groups"`
}

type groupState struct {
	Namespace   string        `json:"namespace,omitempty"`
	Service     string        `json:"service"`
	Environment string        `json:"environment,omitempty"`
	Version     string        `json:"version,omitempty"`
	Methods     []methodState `json:"methods"`
}

type methodState struct {
	Name      string          `json:"name"`
	Class     string          `json:"class,omitempty"` // for names with separate class and method
	Signature string          `json:"signature,omitempty"`
	Apart     bool            `json:"apart,omitempty"`
	Operation string          `json:"operation,omitempty"`
	Ours      bool            `json:"ours,omitempty"`
	Foreign   bool            `json:"foreign,omitempty"`
	Mode      methodfile.Mode `json:"mode,omitempty"` // the decision; absent if the strategy made none
	Rate      float64         `json:"rate,omitempty"`
	CPURate   float64         `json:"cpu_rate,omitempty"`
	Tier      string          `json:"tier,omitempty"`
	Learned   string          `json:"learned_class,omitempty"`
	Score     string          `json:"score,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Arrived   float64         `json:"arrived,omitempty"`
}

func (m *methodState) key() methodKey {
	id := methodspan.Identity{Class: m.Name}
	if m.Apart {
		id = methodspan.Identity{Class: m.Class, Method: m.Name}
	}
	return methodKey{id, m.Signature}
}

// valid reports whether the values are in range. A checksum detects only accidental damage.
func (m *methodState) valid() bool {
	share := func(x float64) bool { return x >= 0 && x <= 1 }
	switch m.Mode {
	case "", methodfile.ModeOff:
	case methodfile.ModeSample, methodfile.ModeAggregate:
		if m.Rate < methodfile.MinRate {
			return false
		}
	default:
		return false
	}
	return share(m.Rate) && share(m.CPURate) && share(m.Arrived) && m.key().len() <= maxName && len(m.Operation) <= maxName
}

// decodeState decodes a state and rejects one that no sampler writes.
func decodeState(data []byte) (*samplerState, error) {
	var s samplerState
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("must hold one state, found more behind it")
	}
	for i := range s.Groups {
		for j := range s.Groups[i].Methods {
			if m := &s.Groups[i].Methods[j]; !m.valid() {
				return nil, fmt.Errorf("groups[%d].methods[%d] must hold a mode and rates between 0 and 1, found mode %q, rate %v, CPU rate %v", i, j, m.Mode, m.Rate, m.CPURate)
			}
		}
	}
	return &s, nil
}

// capture returns the current state.
func (l *controlLoop) capture() *samplerState {
	s := &samplerState{Strategy: l.config.Strategy}
	if l.strategy != nil {
		s.Learned = l.strategy.Snapshot()
	}
	t := l.table
	t.mu.RLock()
	defer t.mu.RUnlock()
	groups := slices.SortedFunc(maps.Values(t.groups), func(a, b *group) int { return cmp.Compare(a.ordinal, b.ordinal) })
	for _, g := range groups { // oldest first, so that restore keeps the order of versions
		gs := groupState{Namespace: g.Namespace, Service: g.Service, Environment: g.Environment, Version: g.Version}
		for name, m := range g.plain {
			gs.Methods = append(gs.Methods, m.state(qualified(name)))
		}
		for key, m := range g.apart {
			gs.Methods = append(gs.Methods, m.state(key))
		}
		s.Groups = append(s.Groups, gs)
	}
	return s
}

func (m *method) state(key methodKey) methodState {
	s := methodState{Name: key.name(), Signature: key.signature}
	if key.Method != "" {
		s.Class, s.Apart = key.Class, true
	}
	m.mu.Lock()
	s.Operation, s.Ours, s.Foreign, s.Arrived = m.operation, m.ours, m.foreign, m.arrived
	m.mu.Unlock()
	if d := m.decision; d.learned && m.decided > 0 {
		s.Mode, s.Rate, s.CPURate = d.mode, d.rate, d.cpuRate
		s.Tier, s.Learned, s.Score, s.Reason = d.tier, d.class, d.score, d.reason
		if s.Mode == "" {
			s.Mode = methodfile.ModeSample
		}
	}
	return s
}

// save writes the state. A failure is logged, counted and retried at the next interval. The decisions in force
// stay.
func (l *controlLoop) save() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unread {
		if _, err := os.Lstat(l.config.State.File); !errors.Is(err, fs.ErrNotExist) {
			l.telemetry.saved(false)
			return // logged at the start
		}
		l.unread = false
	}
	data, err := json.Marshal(l.capture())
	if err == nil {
		err = statefile.Save(l.config.State.File, data)
	}
	l.telemetry.saved(err == nil)
	if err != nil {
		l.log.Error("state could not be written: after a restart rates are learned again", zap.String("file", l.config.State.File), zap.Error(err))
	}
}

// restore reads the state of the previous process. A file that is not a valid state of this strategy is moved
// aside and logged once, and the sampler starts without state. A file that cannot be read can be valid: it is
// neither moved nor overwritten.
func (l *controlLoop) restore() {
	path := l.config.State.File
	if path == "" {
		return
	}
	s, err := l.read(path)
	if err == nil {
		l.adoptState(s)
		l.log.Info("state restored", zap.String("file", path), zap.Int("methods", l.table.count))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		l.log.Info("no state yet: rates are learned from the start", zap.String("file", path))
		return
	}
	l.telemetry.saved(false)
	about := []zap.Field{zap.String("file", path), zap.Error(err)}
	var fault *statefile.Fault
	if errors.As(err, &fault) {
		to, err := statefile.Refuse(path)
		about = append(about, zap.String("moved_to", to), zap.NamedError("moving", err))
		l.unread = err != nil
	} else {
		l.unread = true
	}
	if l.unread {
		l.log.Error("state cannot be read, or not be moved aside: rates are learned again, and not saved while the file is there; "+
			"make it readable and restart to go on by it, or move it away to save what is learned from now on", about...)
		return
	}
	l.log.Error("state is not usable: rates are learned again, beginning with what the method file and cold_start say", about...)
}

func (l *controlLoop) read(path string) (*samplerState, error) {
	data, err := statefile.Load(path)
	if err != nil {
		return nil, err
	}
	s, err := decodeState(data)
	if err == nil && s.Strategy != l.config.Strategy {
		err = fmt.Errorf("must be of the strategy %s, found %s", l.config.Strategy, configfile.Quote(s.Strategy))
	}
	if err == nil && l.strategy != nil {
		err = l.strategy.Restore(s.Learned)
	}
	if err != nil {
		return nil, &statefile.Fault{Rule: err.Error()}
	}
	return s, nil
}

// claims are the state files in use by this process.
var claims sync.Map

// claim reserves the state file, so that a second sampler cannot use it.
func (l *controlLoop) claim() error {
	if l.config.State.File == "" {
		return nil
	}
	path, err := filepath.Abs(l.config.State.File)
	if err != nil {
		return fmt.Errorf("`state::file` must be a path, found %s: %w", configfile.Quote(l.config.State.File), err)
	}
	name := "processors::" + l.id.String()
	if other, taken := claims.LoadOrStore(path, name); taken {
		return fmt.Errorf("`state::file` must be one sampler's alone, found %s of %s and %s: a sampler in two pipelines is two samplers", configfile.Quote(path), other, name)
	}
	l.claimed = path
	return nil
}

// adoptState puts the rates of a state in force, within the bounds of the method file.
func (l *controlLoop) adoptState(s *samplerState) {
	l.followFile()
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range s.Groups {
		gs := &s.Groups[i]
		id := decide.Group{Namespace: gs.Namespace, Service: gs.Service, Environment: gs.Environment, Version: gs.Version}
		if len(t.groups) >= maxGroups || len(id.Namespace)+len(id.Service)+len(id.Environment)+len(id.Version) > maxName {
			continue
		}
		g := t.installGroup(t.newGroup(id, ""))
		if l.strategy != nil {
			g.unknown = l.unknownOf(id)
		}
		for j := range gs.Methods {
			t.adoptMethod(g, &gs.Methods[j], l)
		}
	}
}

func (t *methodTable) adoptMethod(g *group, s *methodState, l *controlLoop) {
	key := s.key()
	f := key.parse()
	if f == g.overflow.function || t.count >= t.maxMethods {
		return
	}
	t.place(g, key, t.newMethod(g, f, key.name()), l.last)
	m := g.methods[f]
	m.operation, m.arrived, m.used = s.Operation, s.Arrived, t.epoch
	m.ours, m.foreign = m.ours || s.Ours, m.foreign || s.Foreign
	if s.Mode == "" || l.strategy == nil {
		return
	}
	m.decision = t.prepare.learned(&decide.Decision{Mode: s.Mode, P: s.Rate, CPUP: s.CPURate, Tier: s.Tier,
		Class: s.Learned, Score: s.Score, Reason: s.Reason}, m.decision, m.fixed, t.rules.bounds(m.rule))
	m.decided = t.epoch
}
