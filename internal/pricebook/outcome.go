package pricebook

// Outcome is the origin of a price, or the reason why there is none.
type Outcome uint8

// The outcomes; from NoPrices on there is no price.
const (
	ByEntry Outcome = iota
	ByDefault
	ByList       // a public list price: no entry matches, and there is no default
	NoPrices     // none are configured
	NoAttributes // the resource does not name a place, and there is no default
	NoEntry      // no entry matches, and there is no default
	Outcomes     // the number of outcomes
)

// Priced reports whether there is a price.
func (o Outcome) Priced() bool { return o <= ByList }

// String returns the name of the outcome in metrics and price sources.
func (o Outcome) String() string {
	return [Outcomes]string{"entry", "default", "list", "no_prices", "no_attributes", "no_entry"}[o]
}
