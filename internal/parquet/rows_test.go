package parquet

import (
	"fmt"
	"math/rand/v2"

	"github.com/corehour/corehour/internal/methodspan"
)

// randomItems makes rows like those of a busy installation: 300 methods of 12
// services by a Zipf law, 3 versions, log-normal durations.
func randomItems(rng *rand.Rand, items, rowsEach int, ids bool) []methodspan.Item {
	zipf := rand.NewZipf(rng, 1.2, 4, 299)
	resources := make([]*methodspan.Resource, 36)
	for i := range resources {
		resources[i] = &methodspan.Resource{
			ServiceNamespace: "shop", Service: fmt.Sprintf("service-%d", i/3), Version: fmt.Sprintf("1.%d.0", i%3),
			Revision: fmt.Sprintf("%040x", i), Environment: "production", Instance: fmt.Sprintf("pod-%d", i),
			Host: fmt.Sprintf("node-%d", i%7), HostType: "c7g.2xlarge", CloudProvider: "aws", Region: "eu-central-1",
			CapacityType: "spot", HostID: "id", ProcessStartNS: noon.UnixNano() - int64(i)*1e9,
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
			start := noon.UnixNano() - rng.Int64N(5e9)
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
