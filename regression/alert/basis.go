package alert

// BasisOf returns the name of the time that the dollars per day of the alerts are scaled from; empty if no alert has
// dollars.
func BasisOf(alerts []Alert) string {
	basis := ""
	for i := range alerts {
		switch own := alerts[i].USDPerDayBasis; {
		case alerts[i].USDPerDay == nil || own == "" || own == basis:
		case basis == "":
			basis = own
		default:
			return "time that each service ran"
		}
	}
	return basis
}
