package warehouse

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// The rate limit does not change the logs of other lines: the collector's sampling and the levels of its
// outputs stay in force.
func TestRateLimitLogs_KeepsSamplingAndLevels(t *testing.T) {
	counts := func(wrap func(*zap.Logger) *zap.Logger) [3]int {
		sampled, lines := observer.New(zapcore.InfoLevel)
		onlyErrors, errs := observer.New(zapcore.ErrorLevel)
		logger := wrap(zap.New(zapcore.NewTee(zapcore.NewSamplerWithOptions(sampled, time.Hour, 10, 100), onlyErrors)))
		logger = logger.With(zap.String("kind", "exporter"))
		for range 1000 {
			logger.Info("Sender failed")
		}
		logger.Error("Writing fails")
		return [3]int{lines.Len(), errs.Len(), lines.FilterField(zap.String("kind", "exporter")).Len()}
	}
	want := counts(func(l *zap.Logger) *zap.Logger { return l })
	assert.Equal(t, [3]int{20, 1, 20}, want)
	assert.Equal(t, want, counts(rateLimitLogs))
}
