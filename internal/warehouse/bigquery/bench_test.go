//go:build unix

package bigquery_test

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// typicalRows returns n measurements of a few methods, as a service sends them.
func typicalRows(n int) []methodspan.Row {
	r := rand.New(rand.NewPCG(1, 2))
	res := &methodspan.Resource{ServiceNamespace: "store", Service: "shop", Version: "1.4.2", Environment: "production",
		Instance: "shop-7d9f", Host: "node-1", Region: "europe-west1", ProcessStartNS: noon.UnixNano()}
	usd := 0.031
	rows := make([]methodspan.Row, n)
	for i := range rows {
		wall := int64(r.ExpFloat64() * 1e5)
		rows[i] = methodspan.Row{
			Resource: res, Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: noon.UnixNano() + int64(i)*1e4, EndNS: noon.UnixNano() + int64(i)*1e4 + wall,
			Class: "shop/cart.Cart", Method: "Total", Caller: "shop/web.Handler.Checkout", Measured: 1, WallNS: wall, P: 0.05, CPUP: 0.5,
			CPUMeasured: 1, CPUNS: wall * 4 / 5, Tier: "inner", WeightBasis: methodspan.BasisExact, CPUState: methodspan.CPUExact,
			USDPerCoreHour: &usd, PriceSource: "price book", BatchID: "0123456789abcdef0123456789abcdef-1", RowSeq: int32(i),
		}
		rows[i].TraceID[0], rows[i].SpanID[0], rows[i].ParentSpanID[0] = byte(i), 1, 2
	}
	return rows
}

// BenchmarkEncode measures how many rows one core encodes for the Storage Write API, with our
// encoder and with a generic client's that is driven by the descriptor.
func BenchmarkEncode(b *testing.B) {
	rows := typicalRows(1000)
	b.Run("own", func(b *testing.B) {
		e := bigquery.NewEncoder()
		var buf []byte
		begin := cpuSeconds(b)
		for b.Loop() {
			buf = buf[:0]
			for i := range rows {
				buf = e.AppendRow(buf, &rows[i])
			}
		}
		b.SetBytes(int64(len(buf)))
		b.ReportMetric(float64(b.N)*float64(len(rows))/(cpuSeconds(b)-begin), "rows/cpu-s")
	})
	b.Run("dynamicpb", func(b *testing.B) {
		file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{Name: proto.String("row.proto"), Syntax: proto.String("proto2"),
			MessageType: []*descriptorpb.DescriptorProto{bigquery.Descriptor()}}, nil)
		if err != nil {
			b.Fatal(err)
		}
		schema := file.Messages().Get(0)
		e := bigquery.NewEncoder()
		plain := make([]*dynamicpb.Message, len(rows))
		for i := range rows {
			plain[i] = dynamicpb.NewMessage(schema)
			if err := proto.Unmarshal(e.Row(&rows[i]), plain[i]); err != nil {
				b.Fatal(err)
			}
		}
		fields := schema.Fields()
		var buf []byte
		begin := cpuSeconds(b)
		for b.Loop() {
			buf = buf[:0]
			for _, from := range plain {
				m := dynamicpb.NewMessage(schema) // the values of a row are set by column
				for i := range fields.Len() {
					if f := fields.Get(i); from.Has(f) && !f.IsList() {
						m.Set(f, from.Get(f))
					}
				}
				if buf, err = (proto.MarshalOptions{}).MarshalAppend(buf, m); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.SetBytes(int64(len(buf)))
		b.ReportMetric(float64(b.N)*float64(len(rows))/(cpuSeconds(b)-begin), "rows/cpu-s")
	})
}

// cpuSeconds returns the CPU time of the process. Other load on the machine does not change it.
func cpuSeconds(b *testing.B) float64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e9
}
