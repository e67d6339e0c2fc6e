package pricebook

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parse(t *testing.T, text string) (*Book, []string) {
	t.Helper()
	b, warnings, err := Parse([]byte(text))
	require.NoError(t, err)
	var lines []string
	for _, w := range warnings {
		lines = append(lines, w.Error())
	}
	return b, lines
}

func TestParse_Example(t *testing.T) {
	text, err := os.ReadFile("../../config/prices.yaml")
	require.NoError(t, err)
	b, warnings := parse(t, string(text))
	assert.Empty(t, warnings)
	v := b.Lookup(Place{CloudProvider: "aws", Region: "eu-west-1", HostType: "m7i.large", CapacityType: "spot"})
	assert.Equal(t, Found{USD: 0.0212, Source: "prices[1] aws/eu-west-1/m7i.large/spot", Outcome: ByEntry}, *v)
	assert.Equal(t, "default", b.Lookup(Place{Region: "eu-west-1"}).Source)
}

func TestParse_UnusableFiles(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "must hold a YAML mapping, found an empty file"},
		{"# nothing\n", "must hold a YAML mapping, found an empty file"},
		{"currency: EUR\n", "must hold `prices` or `default`, found only `currency`"},
		{"- a", "must hold a YAML mapping, found a list"},
		{"a: [", "not YAML: yaml: line 1: did not find expected node content"},
		{"default: {usd_per_core_hour: 1}\n---\ndefault: {}", "must hold one YAML document, found several"},
		{"a\xff", "not YAML: yaml: invalid leading UTF-8 octet"},
	} {
		b, warnings, err := Parse([]byte(c.text))
		assert.EqualError(t, err, c.want)
		assert.Nil(t, b)
		assert.Empty(t, warnings)
	}
}

// Every fault costs its entry and no other: the entry after it is in force.
func TestParse_FaultyEntries(t *testing.T) {
	for _, c := range []struct{ name, entry, want string }{
		{"negative", `{region: a, usd_per_core_hour: -0.5}`, `prices[0].usd_per_core_hour (line 2): must be a finite number above 0, found -0.5`},
		{"zero", `{region: a, usd_per_core_hour: 0}`, `prices[0].usd_per_core_hour (line 2): must be a finite number above 0, found 0`},
		{"infinite", `{region: a, usd_per_core_hour: .inf}`, `prices[0].usd_per_core_hour (line 2): must be a finite number above 0, found .inf`},
		{"infinite product", `{region: a, usd_per_core_hour: 1e300}`, `prices[0].usd_per_core_hour (line 2): must be at most 1048576, found 1e300`},
		{"no number", `{region: a, usd_per_core_hour: .nan}`, `prices[0].usd_per_core_hour (line 2): must be a finite number above 0, found .nan`},
		{"huge", `{region: a, usd_per_core_hour: 1e999}`, `prices[0].usd_per_core_hour (line 2): must be a number, found "1e999"`},
		{"quoted", `{region: a, usd_per_core_hour: "0.5"}`, `prices[0].usd_per_core_hour (line 2): must be a number, found "0.5": remove the quotes`},
		{"text", `{region: a, usd_per_core_hour: cheap}`, `prices[0].usd_per_core_hour (line 2): must be a number, found "cheap"`},
		{"list", `{region: a, usd_per_core_hour: [1]}`, `prices[0].usd_per_core_hour (line 2): must be a number, found a list`},
		{"no price", `{region: a}`, `prices[0] (line 2): missing key "usd_per_core_hour"`},
		{"null price", `{region: a, usd_per_core_hour: }`, `prices[0].usd_per_core_hour (line 2): must be a number, found null`},
		{"nothing named", `{usd_per_core_hour: 1}`, "prices[0] (line 2): must name at least one of cloud_provider, region, host_type and capacity_type, found none: the price of all other processes is `default`"},
		{"unknown key", `{region: a, host: b, usd_per_core_hour: 1}`, `prices[0] (line 2): unknown key "host": known are "capacity_type", "cloud_provider", "host_type", "region", "usd_per_core_hour"`},
		{"misspelt key", `{region: a, hosttype: b, usd_per_core_hour: 1}`, `prices[0] (line 2): unknown key "hosttype": did you mean "host_type"?`},
		{"key said twice", `{region: a, region: b, usd_per_core_hour: 1}`, `prices[0] (line 2): duplicate key "region": first in line 2`},
		{"key of another type", `{[a]: b, region: a, usd_per_core_hour: 1}`, `prices[0] (line 2): unknown key "a list": known are "capacity_type", "cloud_provider", "host_type", "region", "usd_per_core_hour"`},
		{"number as name", `{host_type: 96, usd_per_core_hour: 1}`, `prices[0].host_type (line 2): must be a string, found 96: put it in quotes, or leave the key out to match any`},
		{"null as name", `{host_type: , usd_per_core_hour: 1}`, `prices[0].host_type (line 2): must be a string, found null: put it in quotes, or leave the key out to match any`},
		{"empty name", `{host_type: "", usd_per_core_hour: 1}`, `prices[0].host_type (line 2): must have 1 to 256 bytes, found ""`},
		{"mapping as name", `{host_type: {a: b}, usd_per_core_hour: 1}`, `prices[0].host_type (line 2): must be a string, found an object`},
		{"control characters", `{host_type: "a", "\e[2J": 1, usd_per_core_hour: 1}`, `prices[0] (line 2): unknown key "\x1b[2J": known are "capacity_type", "cloud_provider", "host_type", "region", "usd_per_core_hour"`},
		{"no mapping", `aws`, `prices[0] (line 2): must be an object, found "aws"`},
		{"merge key", `{<<: {region: a}, usd_per_core_hour: 1}`, `prices[0] (line 2): unknown key "<<": known are "capacity_type", "cloud_provider", "host_type", "region", "usd_per_core_hour"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, warnings := parse(t, "prices:\n- "+c.entry+"\n- {cloud_provider: good, usd_per_core_hour: 0.25}\n")
			assert.Equal(t, []string{c.want}, warnings)
			assert.Len(t, b.entries, 1)
			assert.Equal(t, Found{USD: 0.25, Source: "prices[1] good/*/*/*", Outcome: ByEntry}, *b.Lookup(Place{CloudProvider: "good"}))
		})
	}
}

func TestParse_AllFaultsReported(t *testing.T) {
	b, warnings := parse(t, `
currency: dollars
default: 0.04
price: []
prices:
  - {region: a, usd_per_core_hour: 1}
  - {region: a, usd_per_core_hour: 2}
  - {region: b, usd_per_core_hour: -1}
`)
	assert.Equal(t, []string{
		`currency (line 2): must be three capital letters, as in USD, found "dollars"`,
		`default (line 3): must be an object, found 0.04: write {usd_per_core_hour: ...}`,
		`line 4: unknown key "price": did you mean "prices"?`,
		`prices[2].usd_per_core_hour (line 8): must be a finite number above 0, found -1`,
		`prices[0]: must be the only entry for its attributes, found prices[1] for "*/a/*/*" too: the later, prices[1], is used: remove one`,
	}, warnings)
	assert.Equal(t, 2.0, b.Lookup(Place{Region: "a"}).USD)

	_, warnings = parse(t, "default: {}\nprices: {a: b}\ncurrency: 3")
	assert.Equal(t, []string{
		`default (line 1): missing key "usd_per_core_hour"`,
		"prices (line 2): must be a list, found an object",
		`currency (line 3): must be three capital letters, as in USD, found 3`,
	}, warnings)
}

func TestBook_Currency(t *testing.T) {
	b, warnings := parse(t, "currency: EUR\ndefault: {usd_per_core_hour: 2}\nprices: [{region: a, usd_per_core_hour: 1}]")
	assert.Empty(t, warnings)
	assert.Equal(t, Found{USD: 1, Source: "prices[0] */a/*/* EUR", Outcome: ByEntry}, *b.Lookup(Place{Region: "a"}))
	assert.Equal(t, Found{USD: 2, Source: "default EUR", Outcome: ByDefault}, *b.Lookup(Place{}))
}

func TestParse_AnchorsAndAliases(t *testing.T) {
	b, warnings := parse(t, "default: &d {usd_per_core_hour: &p 2}\nprices: [{region: &r a, usd_per_core_hour: *p}, {region: b, host_type: *r, usd_per_core_hour: 3}]")
	assert.Empty(t, warnings)
	assert.Equal(t, 2.0, b.Lookup(Place{Region: "a"}).USD)
	assert.Equal(t, 3.0, b.Lookup(Place{Region: "b", HostType: "a"}).USD)
}

func TestLookup_Unpriced(t *testing.T) {
	assert.Equal(t, Found{Source: "unpriced: no_prices", Outcome: NoPrices}, *Empty().Lookup(Place{Region: "a"}))
	assert.Equal(t, Found{Source: "unpriced: no_prices", Outcome: NoPrices}, *Empty().Lookup(Place{}))
	b, _ := parse(t, "prices: [{region: a, usd_per_core_hour: 1}]")
	assert.Equal(t, Found{Source: "unpriced: no_entry", Outcome: NoEntry}, *b.Lookup(Place{Region: "b"}))
	assert.Equal(t, Found{Source: "unpriced: no_attributes", Outcome: NoAttributes}, *b.Lookup(Place{}))
}

func TestParse_TooManyEntries(t *testing.T) {
	var text strings.Builder
	text.WriteString("prices:\n")
	for i := range MaxEntries + 1 {
		fmt.Fprintf(&text, "- {region: r%d, usd_per_core_hour: 1}\n", i)
	}
	b, warnings := parse(t, text.String())
	assert.Equal(t, []string{"prices (line 10002): must have at most 10000 entries, found 10001"}, warnings)
	assert.Len(t, b.entries, MaxEntries)
}

// Lookup finds the same entry as a search of all entries in the documented order.
func TestLookup_EqualsSearchOfAllEntries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string { return []string{"", "a", "b"}[random.IntN(3)] }
	where := func() Place { return Place{word(), word(), word(), word()} }
	for range 500 {
		var entries []Entry
		for i := range random.IntN(12) {
			if p := where(); p.parts() != 0 {
				entries = append(entries, Entry{Place: p, Index: i, USD: 1})
			}
		}
		b, _ := New("", 0, entries)
		for range 20 {
			p := where()
			want := "unpriced: no_entry"
			if p.parts() == 0 {
				want = "unpriced: no_attributes"
			}
			best := -1
			for _, e := range entries {
				// host_type, capacity_type, region, cloud_provider, by falling rank.
				score, matches := 0, true
				for rank, pair := range [][2]string{{e.CloudProvider, p.CloudProvider}, {e.Region, p.Region}, {e.CapacityType, p.CapacityType}, {e.HostType, p.HostType}} {
					if pair[0] != "" {
						score |= 1 << rank
						matches = matches && pair[0] == pair[1]
					}
				}
				if score += 100 * bits.OnesCount(uint(score)); matches && score >= best {
					best, want = score, fmt.Sprintf("prices[%d] %s", e.Index, e.Place)
				}
			}
			require.Equal(t, want, b.Lookup(p).Source, "%v in %v", p, entries)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"currency: EUR\ndefault: {usd_per_core_hour: 0.04}\nprices:\n- {cloud_provider: aws, region: r, host_type: h, capacity_type: c, usd_per_core_hour: 1}",
		"prices: [{region: a, usd_per_core_hour: 1}, {region: a, usd_per_core_hour: 2}, {}, [], 3, null]",
		"a: &a [*a]\nprices: *a", "default: &d {usd_per_core_hour: 1}\nprices: [*d]", "? [a]\n: b", "{", "!!binary a", "default: !!float x",
		"prices: [{<<: {region: a}}]", "\xef\xbb\xbfdefault: {usd_per_core_hour: 0x10}", "default: {usd_per_core_hour: 1_000}", "---\n---\n",
	} {
		f.Add(seed, "a", "b")
	}
	f.Fuzz(func(t *testing.T, text, region, hostType string) {
		b, warnings, err := Parse([]byte(text))
		if err != nil {
			require.Nil(t, b)
			require.False(t, strings.ContainsFunc(err.Error(), unicode.IsControl), "%q", err)
			return
		}
		for _, w := range warnings {
			require.False(t, strings.ContainsFunc(w.Error(), unicode.IsControl), "%q", w.Error())
		}
		v := b.Lookup(Place{Region: region, HostType: hostType})
		require.Equal(t, v.Outcome > ByDefault, v.USD == 0)
		require.True(t, v.USD == 0 || PriceFault(v.USD) == "")
		require.NotEmpty(t, v.Source)
	})
}
