package rules

import "testing"

// The longest method wins, then the longest class, then an entry with a service. A figure that an entry does not set
// comes from the next entry.
func TestThresholds(t *testing.T) {
	file, warnings, err := ParseThresholds([]byte(`{"version": 1, "thresholds": [
		{"service": "shop", "threshold_percent": 20},
		{"class": "shop/tax", "min_records": 1000},
		{"method": "shop/tax.Rate", "threshold_percent": 5},
		{"service": "shop", "method": "shop/tax.Rate", "min_records": 50.5},
		{"threshold_percent": 1}, {"service": "x"}, {"service": "x", "threshold_percent": -1}
	]}`))
	if err != nil || len(warnings) != 3 {
		t.Fatal(warnings, err)
	}
	for _, c := range []struct {
		service, class, full string
		percent              float64
		records              int64
	}{
		{"shop", "shop/tax", "shop/tax.Rate", 5, 51},
		{"shop", "shop/tax", "shop/tax.Table", 20, 1000},
		{"cart", "shop/tax", "shop/tax.Rate", 5, 1000},
		{"shop", "shop/taxi", "shop/taxi.Rate", 20, 100},
		{"cart", "cart", "cart.Total", 10, 100},
	} {
		if percent, records := file.Of("", c.service, "", c.class, c.full, 10, 100); percent != c.percent || records != c.records {
			t.Errorf("%s of %s: %g%%, %d records", c.full, c.service, percent, records)
		}
	}
	if percent, records := (*Thresholds)(nil).Of("", "shop", "", "", "", 10, 100); percent != 10 || records != 100 {
		t.Errorf("without a file: %g%%, %d records", percent, records)
	}
}
