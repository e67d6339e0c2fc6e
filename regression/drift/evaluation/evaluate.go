package evaluation

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/drift"
	"github.com/corehour/corehour/regression/query"
)

// Options selects the data to evaluate.
type Options struct {
	Window query.Window // cut to closed days
	Filter query.Filter
	Metric query.Metric // empty = CPU where a service has it, else wall
	Owners *rules.Owners
	Now    time.Time
	// Open opens the warehouse for a window.
	Open func(context.Context, query.Window) (*query.Warehouse, error)
	Zone *time.Location // of times in errors
}

// Evaluate replays the daily evaluations of the services of a warehouse. It returns query.ErrNoData if no call was
// measured on a closed day.
func Evaluate(ctx context.Context, o Options) (*Evaluation, error) {
	window, err := o.days()
	if err != nil {
		return nil, needsDays(err)
	}
	w, err := o.Open(ctx, window)
	if err != nil {
		return nil, needsDays(err)
	}
	defer w.Close()
	histories, err := o.histories(ctx, w, window)
	if err != nil {
		return nil, err
	}
	f := newEvaluation()
	for _, h := range histories {
		s, err := h.replay(o.Owners)
		if err != nil {
			return nil, err
		}
		f.addService(s)
		alerts, err := h.alerts(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.Service, err)
		}
		f.Alerts = append(f.Alerts, alerts...)
	}
	return f, nil
}

// EvaluateCSV replays the daily evaluations of a file of daily series. It creates no alerts.
func EvaluateCSV(file io.Reader) (*Evaluation, error) {
	series, err := drift.ReadCSV(file)
	if err != nil {
		return nil, err
	}
	h := &serviceHistory{History: series.History, first: series.First}
	for _, name := range series.Methods {
		h.names = append(h.names, query.MethodDay{Method: name, Full: name})
	}
	s, err := h.replay(nil)
	if err != nil {
		return nil, err
	}
	f := newEvaluation()
	f.OfSeries = true
	f.addService(s)
	return f, nil
}

func newEvaluation() *Evaluation {
	return &Evaluation{Services: []*Service{}, Sorted: delivery.NewSorted(), CouldNotTell: true}
}

func (f *Evaluation) addService(s *Service) {
	f.Services = append(f.Services, s)
	f.CouldNotTell = f.CouldNotTell && s.Judged == 0
}

// replay replays the evaluations of a history.
func (h *serviceHistory) replay(owners *rules.Owners) (*Service, error) {
	result, err := drift.Replay(&h.History)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.Service, err)
	}
	return h.describe(result, owners), nil
}
