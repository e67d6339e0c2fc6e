package pricebook

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each list has its source and date, and its prices are per vCPU.
func TestLists_HaveSource(t *testing.T) {
	lists, err := Lists()
	require.NoError(t, err)
	found := map[listName]float64{}
	for _, l := range lists {
		_, err := time.Parse(time.DateOnly, l.Date)
		assert.NoError(t, err)
		source, err := url.Parse(l.Source)
		assert.NoError(t, err)
		assert.Equal(t, "https", source.Scheme)
		assert.NotEmpty(t, l.Region)
		assert.Contains(t, []string{"aws", "azure", "gcp"}, l.CloudProvider)
		for name, usd := range l.USDPerCoreHour {
			_, again := found[listName{l.CloudProvider, name}]
			assert.False(t, again, "%s is listed twice", name)
			found[listName{l.CloudProvider, name}] = usd
			assert.Empty(t, PriceFault(usd))
			assert.True(t, usd > 0.02 && usd < 0.2, "%s costs %v an hour and vCPU", name, usd)
		}
	}
	assert.Equal(t, len(found), len(listed()))
	assert.Greater(t, len(found), 100)
	// Prices of machines that differ only in memory are a price per vCPU plus a price per GiB:
	// a figure with a typing error is not on one line with the others.
	for _, family := range []struct {
		name string
		gib  [3]float64 // a vCPU of highcpu, standard and highmem
	}{
		{"n1", [3]float64{0.9, 3.75, 6.5}}, {"e2", [3]float64{1, 4, 8}}, {"n2d", [3]float64{1, 4, 8}}, {"c2d", [3]float64{2, 4, 8}},
		{"c3", [3]float64{2, 4, 8}}, {"c3d", [3]float64{2, 4, 8}}, {"c4a", [3]float64{2, 4, 8}}, {"n4", [3]float64{2, 4, 8}}, {"n4d", [3]float64{2, 4, 8}},
	} {
		low, middle, high := found[listName{"gcp", family.name + "-highcpu"}], found[listName{"gcp", family.name + "-standard"}], found[listName{"gcp", family.name + "-highmem"}]
		share := (family.gib[1] - family.gib[0]) / (family.gib[2] - family.gib[0])
		assert.InEpsilon(t, low+share*(high-low), middle, 0.01, family.name)
	}
	for _, pair := range [][2]string{{"m6i", "m5"}, {"c6i", "c5"}, {"r6i", "r5"}} { // of one price
		assert.Equal(t, found[listName{"aws", pair[0]}], found[listName{"aws", pair[1]}])
	}
	assert.InEpsilon(t, found[listName{"azure", "Standard_Ds_v5"}], found[listName{"aws", "m5"}], 1e-9)
}

func TestFamily(t *testing.T) {
	for hostType, want := range map[string]string{
		"m7i.large": "m7i", "m7i-flex.2xlarge": "m7i-flex", "n2-standard-8": "n2-standard", "Standard_D4s_v5": "Standard_Ds_v5", "Standard_F16s_v2": "Standard_Fs_v2",
		"Standard_E104is_v5": "Standard_Eis_v5", "Standard_E8-4s_v5": "", "n2-custom-4-8192": "n2-custom-4", "e2-medium": "", "": "", ".": "", "-": "", "Standard_": "", "Standard_4": "", "own": "", "-8": "",
	} {
		assert.Equal(t, want, Family(hostType), hostType)
	}
}

// The order is: entries, the default, list prices.
func TestLookup_ListPricesLast(t *testing.T) {
	machine := Place{CloudProvider: "aws", Region: "eu-west-1", HostType: "m7i.large", CapacityType: "on-demand"}
	spot, other, nobody := machine, machine, machine
	spot.CapacityType, other.HostType, nobody.CloudProvider = "spot", "x9.large", ""
	const list = "list aws/m7i (us-east-1, 2026-07-20)"
	for _, c := range []struct {
		book  string
		place Place
		want  string
	}{
		{"prices: [{region: mars, usd_per_core_hour: 1}]", machine, list},
		{"prices: [{region: eu-west-1, usd_per_core_hour: 1}]", machine, "prices[0] */eu-west-1/*/*"},
		{"default: {usd_per_core_hour: 1}", machine, "default"},
		{"prices: [{region: mars, usd_per_core_hour: 1}]", spot, "unpriced: no_entry"},
		{"prices: [{region: mars, usd_per_core_hour: 1}]", other, "unpriced: no_entry"},
		{"prices: [{region: mars, usd_per_core_hour: 1}]", nobody, "unpriced: no_entry"},
		{"list_prices: true", machine, list},
		{"list_prices: false", machine, "unpriced: no_entry"},
		{"{list_prices: false, default: {usd_per_core_hour: 1}}", machine, "default"},
		{"{currency: EUR, prices: [{region: mars, usd_per_core_hour: 1}]}", machine, "unpriced: no_entry"},
	} {
		b, warnings := parse(t, c.book)
		assert.Empty(t, warnings)
		assert.Equal(t, c.want, b.Lookup(c.place).Source, "%s of %s", c.place, c.book)
	}
	v := Empty().Lookup(machine)
	assert.Equal(t, Found{USD: 0.0504, Source: list, Outcome: ByList}, *v)
	assert.Equal(t, "list aws/fargate (us-east-1, 2026-03-10)", Empty().Lookup(Place{CloudProvider: "aws", HostType: "fargate"}).Source)
	assert.Equal(t, "unpriced: no_prices", Empty().Lookup(other).Source)
	_, warnings := parse(t, "list_prices: often")
	assert.Equal(t, []string{`list_prices (line 1): must be true or false, found "often"`}, warnings)
}
