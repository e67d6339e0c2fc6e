package warehouse

import (
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
)

// part is an activity that the component's status depends on.
type part int

const (
	writing part = iota
	loading
	uploading
	parts
)

// health reports the component as failed while one of its parts fails.
type health struct {
	mu      sync.Mutex
	failing [parts]bool
}

// set records the state of a part and reports whether it has changed.
func (h *health) set(p part, failure error, host component.Host) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failing[p] == (failure != nil) {
		return false
	}
	h.failing[p] = failure != nil
	switch {
	case failure != nil:
		componentstatus.ReportStatus(host, componentstatus.NewRecoverableErrorEvent(failure))
	case h.failing == [parts]bool{}:
		componentstatus.ReportStatus(host, componentstatus.NewEvent(componentstatus.StatusOK))
	}
	return true
}

// report logs once that a part fails, and once that it works again.
func (w *warehouseExporter) report(p part, failure error, fails, works string) {
	switch {
	case !w.health.set(p, failure, w.host):
	case failure != nil:
		w.logger.Error(fails, zap.Error(failure))
	default:
		w.logger.Info(works)
	}
}
