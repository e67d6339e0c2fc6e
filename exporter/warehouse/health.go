package warehouse

import (
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
)

// part is one of what the component's status is made of.
type part int

const (
	writing part = iota
	loading
	uploading
	parts
)

// health reports that the component fails as long as one of its parts does.
type health struct {
	mu      sync.Mutex
	failing [parts]bool
}

// set notes what a part says of itself and tells whether that is news.
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

// loads is told by a sink that loads later when that begins to fail, and when it
// works again.
func (w *warehouse) loads(failure error) {
	switch {
	case !w.health.set(loading, failure, w.host):
	case failure != nil:
		w.logger.Error("Loading into BigQuery fails. Rows wait on disk.", zap.Error(failure))
	default:
		w.logger.Info("Loading into BigQuery works again.")
	}
}
