package warehouse

import (
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// quietPrefixes are the beginnings of the lines that repeat with every request
// as long as something is wrong: the helper's own and ours.
var quietPrefixes = []string{"Exporting failed.", msgRefused}

const (
	msgRefused    = "Rows refused"
	quietInterval = time.Minute
)

// quiet passes one line of each prefix per interval and says how many it held
// back. Metrics count all of them.
func quiet(logger *zap.Logger) *zap.Logger {
	shared := &quietState{last: map[string]time.Time{}, held: map[string]int{}}
	return logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return &quietCore{core, shared}
	}))
}

type quietState struct {
	mu   sync.Mutex
	last map[string]time.Time
	held map[string]int
}

// pass tells whether a line goes out now and how many were held back before it.
func (s *quietState) pass(prefix string, now time.Time) (held int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, seen := s.last[prefix]; seen && now.Sub(last) < quietInterval {
		s.held[prefix]++
		return 0, false
	}
	held = s.held[prefix]
	s.last[prefix], s.held[prefix] = now, 0
	return held, true
}

type quietCore struct {
	zapcore.Core
	state *quietState
}

func (c *quietCore) With(fields []zapcore.Field) zapcore.Core {
	return &quietCore{c.Core.With(fields), c.state}
}

func (c *quietCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, c)
}

func (c *quietCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	for _, prefix := range quietPrefixes {
		if !strings.HasPrefix(entry.Message, prefix) {
			continue
		}
		held, ok := c.state.pass(prefix, entry.Time)
		if !ok {
			return nil
		}
		if held > 0 {
			fields = append(fields, zap.Int("held_back", held))
		}
		break
	}
	// The cores below have their own levels, and may leave lines out.
	if checked := c.Core.Check(entry, nil); checked != nil {
		checked.Write(fields...)
	}
	return nil
}
