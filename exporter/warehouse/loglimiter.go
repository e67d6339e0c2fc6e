package warehouse

import (
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// limitedPrefixes are the prefixes of log lines that repeat with every request during a fault: the helper's
// and ours.
var limitedPrefixes = []string{"Exporting failed.", msgRefused, msgNewProcess}

const (
	msgRefused    = "Rows refused"
	msgNewProcess = "New process refused"
	limitInterval = time.Minute
)

// rateLimitLogs returns a logger that writes one line of each prefix per interval, with
// the number of those suppressed. Metrics count all of them.
func rateLimitLogs(logger *zap.Logger) *zap.Logger {
	shared := &logLimiter{last: map[string]time.Time{}, suppressed: map[string]int{}}
	return logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return &limitedCore{core, shared}
	}))
}

type logLimiter struct {
	mu         sync.Mutex
	last       map[string]time.Time
	suppressed map[string]int
}

// allow reports whether a line is written now and how many were suppressed before it.
func (s *logLimiter) allow(prefix string, now time.Time) (held int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, seen := s.last[prefix]; seen && now.Sub(last) < limitInterval {
		s.suppressed[prefix]++
		return 0, false
	}
	held = s.suppressed[prefix]
	s.last[prefix], s.suppressed[prefix] = now, 0
	return held, true
}

type limitedCore struct {
	zapcore.Core
	state *logLimiter
}

func (c *limitedCore) With(fields []zapcore.Field) zapcore.Core {
	return &limitedCore{c.Core.With(fields), c.state}
}

func (c *limitedCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, c)
}

func (c *limitedCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	for _, prefix := range limitedPrefixes {
		if !strings.HasPrefix(entry.Message, prefix) {
			continue
		}
		held, ok := c.state.allow(prefix, entry.Time)
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
