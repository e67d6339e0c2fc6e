// Package rowtest generates rows for the tests of the warehouse.
package rowtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
)

// Noon is the current time of the tests.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Shop is the resource of the rows of an Item.
var Shop = &methodspan.Resource{Service: "shop", Version: "1.4.2", ServiceNamespace: "eu", Instance: "i-1", ProcessStartNS: 7}

// Item returns an item of n measurements that start one second apart.
func Item(id string, start time.Time, n int) methodspan.Item {
	it := methodspan.Item{ID: id}
	for i := range n {
		wall := int64(1000 + i)
		it.Rows = append(it.Rows, methodspan.Row{
			Resource: Shop, Kind: methodspan.KindCall, Level: methodspan.LevelRaw,
			StartNS: start.Add(time.Duration(i) * time.Second).UnixNano(), EndNS: start.Add(time.Duration(i)*time.Second).UnixNano() + wall,
			Class: "shop/cart.Cart", Method: fmt.Sprintf("M%d", i%3), Measured: 1, WallNS: wall, P: 0.5,
			BatchID: id, RowSeq: int32(i),
		})
	}
	return it
}

// RandomItems returns items with rows like those of a busy installation: 300 methods of 12
// services by a Zipf law, 3 versions, and skewed durations.
func RandomItems(rng *rand.Rand, items, rowsEach int, ids bool) []methodspan.Item {
	zipf := rand.NewZipf(rng, 1.2, 4, 299)
	resources := make([]*methodspan.Resource, 36)
	for i := range resources {
		resources[i] = &methodspan.Resource{
			ServiceNamespace: "shop", Service: fmt.Sprintf("service-%d", i/3), Version: fmt.Sprintf("1.%d.0", i%3),
			Revision: fmt.Sprintf("%040x", i), Environment: "production", Instance: fmt.Sprintf("pod-%d", i),
			Host: fmt.Sprintf("node-%d", i%7), HostType: "c7g.2xlarge", CloudProvider: "aws", Region: "eu-central-1",
			CapacityType: "spot", HostID: "id", ProcessStartNS: Noon.UnixNano() - int64(i)*1e9,
		}
	}
	names := make([]string, 300)
	classes := make([]string, 300)
	for i := range names {
		classes[i], names[i] = fmt.Sprintf("shop/package%d.Type%d", i/30, i/6), fmt.Sprintf("Method%d", i)
	}
	price := 0.0425
	out := make([]methodspan.Item, items)
	for i := range out {
		out[i].ID = fmt.Sprintf("%016x-%d", rng.Uint64()%64, i)
		res := resources[rng.IntN(len(resources))]
		rows := make([]methodspan.Row, rowsEach)
		for j := range rows {
			m := int(zipf.Uint64())
			wall := int64(20_000 * (1 + rng.ExpFloat64()*rng.ExpFloat64()))
			start := Noon.UnixNano() - rng.Int64N(5e9)
			rows[j] = methodspan.Row{
				Resource: res, Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: start, EndNS: start + wall,
				Class: classes[m], Method: names[m], Caller: "shop/web.Handler.Serve",
				Measured: 1, WallNS: wall, WallMaxNS: wall, P: 0.05, WeightBasis: methodspan.BasisExact,
				Tier: "mid", Reason: "tier", ConfiguredRate: 0.05, EffectiveRate: 0.05,
				USDPerCoreHour: &price, PriceSource: "book", CPUState: methodspan.CPUNotSampled,
				BatchID: out[i].ID, RowSeq: int32(j),
			}
			r := &rows[j]
			if rng.IntN(4) == 0 {
				r.CPUMeasured, r.CPUNS, r.CPUMaxNS, r.CPUP, r.CPUState = 1, wall*3/4, wall*3/4, 0.25, methodspan.CPUExact
			}
			if ids || rng.IntN(50) == 0 {
				for k := range 2 {
					u := rng.Uint64()
					for b := range 8 {
						r.TraceID[k*8+b] = byte(u >> (8 * b))
					}
				}
				u, v := rng.Uint64(), rng.Uint64()
				for b := range 8 {
					r.SpanID[b], r.ParentSpanID[b] = byte(u>>(8*b)), byte(v>>(8*b))
				}
			}
		}
		out[i].Rows = rows
	}
	return out
}
