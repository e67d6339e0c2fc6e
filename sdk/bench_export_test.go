package corehour

import (
	"testing"

	"github.com/corehour/corehour/sdk/internal/export"
)

// Encoding and compressing, per record.
func BenchmarkEncode(b *testing.B) {
	var body []byte
	benchExport(b, func(e *engine, r *request) int {
		body = e.encode(body[:0], r)
		return len(body)
	})
}

func BenchmarkEncodeGzip(b *testing.B) {
	p := export.Packer{Gzip: true}
	benchExport(b, func(e *engine, r *request) int {
		return len(p.Pack(func(body []byte) []byte { return e.encode(body, r) }))
	})
}

func benchExport(b *testing.B, export func(*engine, *request) int) {
	e, _ := startWith(b, func(c *config) { c.defaults = settings{rate: 0.5, cpuRate: 1} })
	for e.ring.Length() < 1024 {
		parent(1)
	}
	r := e.buildRequest(false)
	b.ReportAllocs()
	records, size := 0, 0
	for b.Loop() {
		size += export(e, r)
		records += len(r.records)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
	b.ReportMetric(float64(size)/float64(records), "B/record")
}
