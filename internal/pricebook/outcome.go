package pricebook

// Outcome is where a price comes from, or why there is none.
type Outcome uint8

// The outcomes; from NoPrices on there is no price.
const (
	ByEntry Outcome = iota
	ByDefault
	ByList       // a public list price: no entry matches, and there is no default
	NoPrices     // none are configured
	NoAttributes // the process does not say where it runs, and there is no default
	NoEntry      // no entry matches, and there is no default
	Outcomes     // is how many there are
)

// Priced reports whether there is a price.
func (o Outcome) Priced() bool { return o <= ByList }

// String is the outcome as metrics and price sources name it.
func (o Outcome) String() string {
	return [Outcomes]string{"entry", "default", "list", "no_prices", "no_attributes", "no_entry"}[o]
}
