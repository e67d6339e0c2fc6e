//go:build unix

package table

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/corehour/corehour/internal/warehouse/rowtest"
)

// cpuSeconds returns the CPU time used by the process.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkWrite commits batches of rows: it sorts, encodes and syncs them. The difference between rows/s and
// rows/cpu-s is time spent waiting for the disk.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{8_192, 122_880} {
		for _, ids := range []bool{false, true} {
			b.Run(fmt.Sprintf("rows=%d/ids=%v", size, ids), func(b *testing.B) {
				w := openWriter(b, b.TempDir(), Options{disk: osDisk{}})
				items := rowtest.RandomItems(rand.New(rand.NewPCG(1, 2)), size/256, 256, ids)
				var rows, bytes int64
				n := 0
				begin := cpuSeconds()
				for b.Loop() {
					for i := range items {
						n++
						items[i].ID = fmt.Sprintf("p-%d", n)
					}
					res := write(b, w, items...)
					rows += int64(res.Rows)
					bytes += res.Bytes
				}
				b.ReportMetric(float64(rows)/(cpuSeconds()-begin), "rows/cpu-s")
				b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(float64(bytes)/float64(rows), "bytes/row")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
