package fake

// job is a query or a load.
type job struct{}

// Query is what a query job asks.
type Query struct{ Text string }

// Result is its answer.
type Result struct{}
