package pricebook

// Outcome is where a price comes from, or why there is none.
type Outcome uint8

// The outcomes; from NoPrices on there is no price.
const (
	ByEntry Outcome = iota
	ByDefault
	NoPrices     // none are configured
	NoAttributes // the process does not say where it runs, and there is no default
	NoEntry      // no entry matches, and there is no default
	Outcomes     // is how many there are
)

// Priced tells whether there is a price.
func (o Outcome) Priced() bool { return o <= ByDefault }

// String is the outcome as metrics and price sources name it.
func (o Outcome) String() string {
	return [Outcomes]string{"entry", "default", "no_prices", "no_attributes", "no_entry"}[o]
}
