package stats

// Margin returns half the width of the two-sided confidence interval by Student's t.
func (e Estimate) Margin(level float64) float64 { return quantile(level, e.DF) * e.SE }
