package config

import (
	"testing"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/cost"
)

// The example files of rules are read without a warning.
func TestRules_ReadWithoutWarnings(t *testing.T) {
	owners, _, err := configfile.Source[*rules.Owners]{Key: "--owners", Path: "owners.json", Strict: true, Parse: rules.ParseOwners}.Load()
	if err != nil {
		t.Fatal(err)
	}
	if got := owners.Of("store", "shop", "production", "shop/tax.Table"); got != "tax-team" || len(owners.Routes) != 2 {
		t.Errorf("%q owns the tax, %d routes", got, len(owners.Routes))
	}
	if _, _, err := (configfile.Source[*rules.Silences]{Key: "--silences", Path: "silences.json", Strict: true, Parse: rules.ParseSilences}).Load(); err != nil {
		t.Error(err)
	}
	if _, _, err := (configfile.Source[*rules.Thresholds]{Key: "--thresholds", Path: "thresholds.json", Strict: true, Parse: rules.ParseThresholds}).Load(); err != nil {
		t.Error(err)
	}
	if _, _, err := (configfile.Source[*cost.Budgets]{Key: "--budgets", Path: "budgets.json", Strict: true, Parse: cost.ParseBudgets}).Load(); err != nil {
		t.Error(err)
	}
}
