package evidence

import (
	"errors"
	"fmt"
	"time"
)

// Options are the parameters of an evaluation. Defaults returns those of production; a demonstration can set shorter
// times and must mention it.
type Options struct {
	// WarmUp is the time after the start of every instance that is left out, in whole buckets. Learn finds it from the
	// data.
	WarmUp time.Duration
	// Records is the minimum number of measured calls in each version.
	Records float64
	// LeastChange is the smallest change that is raised, as a fraction.
	LeastChange float64
	// LeastShare is the smallest cost of a change that is raised, as a fraction of the service's cost. 0 is any.
	LeastShare float64
	// Margin is an irrelevant change, as a fraction: the null hypothesis of the e-values is a change of at most Margin.
	Margin float64
	// Evaluations is the number of consecutive evaluations that must raise a method.
	Evaluations int
	// Alpha is the false discovery rate: the expected share of false alerts among the raised methods of a deployment.
	Alpha float64
	// Inflation multiplies all variances, for errors that the model does not include.
	Inflation float64
	// Explained is the share of a caller's growth that regressed callees must account for, so that they explain it. For
	// a caller whose own cost was tested, half is enough.
	Explained float64
}

// Defaults returns the values of docs/background/statistics.md.
func Defaults() Options {
	return Options{
		WarmUp: Learn, Records: 30, LeastChange: 0.02, Margin: 0.01,
		Evaluations: 2, Alpha: 0.05, Inflation: 1.2, Explained: 0.8,
	}
}

// scales are the effect sizes that the e-values are most sensitive to, as logarithms.
var scales = []float64{0.02, 0.06, 0.20}

func (o Options) validate() error {
	var errs []error
	refuse := func(bad bool, name, rule string, found any) {
		if bad {
			errs = append(errs, fmt.Errorf("%s must be %s, found %v", name, rule, found))
		}
	}
	refuse(o.WarmUp < 0 && o.WarmUp != Learn, "WarmUp", "at least 0, or learned", o.WarmUp)
	refuse(!(o.Records >= 1), "Records", "at least 1", o.Records)
	refuse(!(o.Margin >= 0), "Margin", "at least 0", o.Margin)
	refuse(!(o.LeastChange >= o.Margin), "LeastChange", "at least Margin", o.LeastChange)
	refuse(!(o.LeastShare >= 0 && o.LeastShare < 1), "LeastShare", "at least 0 and below 1", o.LeastShare)
	refuse(o.Evaluations < 1, "Evaluations", "at least 1", o.Evaluations)
	refuse(!(o.Alpha > 0 && o.Alpha < 1), "Alpha", "between 0 and 1", o.Alpha)
	refuse(!(o.Inflation >= 1), "Inflation", "at least 1", o.Inflation)
	refuse(!(o.Explained > 0 && o.Explained <= 1), "Explained", "above 0 and at most 1", o.Explained)
	return errors.Join(errs...)
}
