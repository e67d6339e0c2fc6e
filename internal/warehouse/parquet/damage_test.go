package parquet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
)

// anyFile returns a raw file of random rows.
func anyFile(t testing.TB, rows int) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	resources := anyResources(rng, 3)
	pointers := make([]*methodspan.Row, rows)
	for i := range pointers {
		r := anyRow(rng, resources)
		pointers[i] = &r
	}
	var file bytes.Buffer
	group := &WriteGroup{Files: []string{"date=2026-11-21/raw-000000000002.parquet"}, Items: map[string]string{}}
	if _, err := NewEncoder().Encode(&file, pointers, group); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// recoded changes the bit in the footer that makes the codec of the column kind LZ4.
func recoded(t testing.TB, file []byte) []byte {
	t.Helper()
	for at := len(file) - 1; at >= 0; at-- {
		if file[at] != 2*byte(format.Zstd) { // the footer's encoding of the codec
			continue
		}
		damaged := bytes.Clone(file)
		damaged[at] = 2 * byte(format.Lz4Raw)
		_, err := openFile(bytes.NewReader(damaged), int64(len(damaged)))
		if err != nil && strings.Contains(err.Error(), "column kind: its codec is LZ4_RAW") {
			return damaged
		}
	}
	t.Fatal("no bit makes the codec another")
	return nil
}

// flipped returns a copy of a file with one bit flipped.
func flipped(file []byte, at, bit int) []byte {
	file = bytes.Clone(file)
	file[at] ^= 1 << bit
	return file
}

// mostForDamage is the maximum allocation in bytes for reading a damaged file of some KB. Most of it is
// for the rows and the library's buffers, which an intact file needs too.
const mostForDamage = 32 << 20

// readDamaged reads a file and returns the bytes allocated for it.
func readDamaged(file []byte) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = ReadContent(file)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// damage returns a copy of a file with a few random bits or bytes changed.
func damage(rng *rand.Rand, file []byte) []byte {
	file = bytes.Clone(file)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(file))
		if rng.IntN(2) == 0 { // most failures are possible in the footer
			at = len(file) - 1 - rng.IntN(len(file)/3)
		}
		switch rng.IntN(3) {
		case 0:
			file[at] ^= 1 << rng.IntN(8)
		case 1:
			file[at] = byte(rng.Uint32())
		default:
			for i := at; i < min(at+4, len(file)); i++ {
				file[i] = 0xff
			}
		}
	}
	return file
}

// Reading a damaged file never panics and allocates at most mostForDamage.
func TestRead_DamagedFiles(t *testing.T) {
	const rounds = 200
	for kind, file := range wholeFiles(t) {
		rng := rand.New(rand.NewPCG(7, uint64(len(file))))
		if n := readDamaged(file); n > mostForDamage/2 {
			t.Fatalf("%s: the whole file takes %d bytes", kind, n)
		}
		var most uint64
		for range rounds {
			most = max(most, readDamaged(damage(rng, file)))
		}
		t.Logf("%s, %d bytes: %d allocated at most", kind, len(file), most)
		if most > mostForDamage {
			t.Errorf("%s: %d bytes allocated for one of %d", kind, most, len(file))
		}
	}
}

// wholeFiles returns intact files by kind: a raw file, a file for other programs, and a file of the
// library's own writer.
func wholeFiles(t testing.TB) map[string][]byte {
	t.Helper()
	rows := make([]*methodspan.Row, 40)
	rng := rand.New(rand.NewPCG(5, 5))
	resources := anyResources(rng, 3)
	for i := range rows {
		r := anyRow(rng, resources)
		rows[i] = &r
	}
	files := map[string][]byte{"raw": anyFile(t, 40)}
	err := NewExchangeEncoder().Encode(rows, func(_ string, _ []*methodspan.Row, file []byte) error {
		files["exchange"] = bytes.Clone(file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var library bytes.Buffer
	w := pq.NewGenericWriter[record](&library, pq.Compression(&pq.Zstd))
	for i := range 40 {
		day := rows[i].EventDay()
		wall := int64(i)
		if _, err := w.Write([]record{{EventDate: day, Kind: "call", Level: "raw", Service: fmt.Sprint(i % 3), StartNS: rows[i].StartNS, WallNS: &wall,
			WallHist: []bin{{1, 1}, {2, float64(i)}}, TraceID: [16]byte{byte(i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files["library"] = library.Bytes()
	for kind, file := range files {
		if c, err := ReadContent(file); err != nil || len(c.Rows) != 40 {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	return files
}

func FuzzReadFile(f *testing.F) {
	file := anyFile(f, 40)
	f.Add(file)
	f.Add(recoded(f, file))
	for _, whole := range wholeFiles(f) {
		f.Add(whole)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			t.Skip("longer than what the bound is for")
		}
		if n := readDamaged(data); n > mostForDamage {
			t.Errorf("%d bytes allocated for one of %d", n, len(data))
		}
	})
}
