package decide

// Reasons of decisions. They are few, because they are values of a metric's
// label, too.
const (
	reasonFile     = "method file"
	reasonShare    = "share of the budget"
	reasonTotal    = "share for the total cost"
	reasonFloor    = "floor for rare methods"
	reasonUniform  = "uniform share of the budget"
	reasonClass    = "class"
	reasonCold     = "cold start"
	reasonCompared = "two versions are compared"

	reasonSuspicious = "it may have become more expensive, and gets records until that is certain"

	reasonMinimum  = "lowest rate"
	reasonMaximum  = "highest rate"
	reasonRising   = "rising step by step"
	reasonStill    = "no higher before counts come or while the budget is overspent"
	reasonResting  = "not heard"
	reasonScore    = "scorecard"
	ReasonOverflow = "methods beyond the bound"
)
