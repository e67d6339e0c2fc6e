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

// health reports that the component fails as long as one of its parts does.
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

// reportLoads logs that loading begins to fail, and that it works again. A sink that loads
// later calls it.
func (w *warehouseExporter) reportLoads(failure error) {
	switch {
	case !w.health.set(loading, failure, w.host):
	case failure != nil:
		w.logger.Error("Loading into BigQuery fails. Rows wait on disk.", zap.Error(failure))
	default:
		w.logger.Info("Loading into BigQuery works again.")
	}
}
