package instrument

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzTables reads malformed tables, which must cause no error.
func FuzzTables(f *testing.F) {
	f.Add("example.com/p\n.F 1\n.G 0 1\n")
	f.Add("\n.F\n . 1 -1 zz 99999999999\n")
	path := filepath.Join(f.TempDir(), "binary")
	f.Fuzz(func(t *testing.T, table string) {
		for _, kind := range []string{probesTable, callsTable} {
			text := string(heading(kind)) + table + tableEnd
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			_, err := Probes(path)
			assert.NoError(t, err)
			_, err = Graph(path)
			assert.NoError(t, err)
		}
	})
}

// A signature is the source text of the parameters and results, without their names.
func TestSignatureOf(t *testing.T) {
	long := "struct{ a " + strings.Repeat("[1]", 200) + "int }"
	for source, want := range map[string]string{
		"()":                          "()",
		"(a, b int, c ...string)":     "(int, int, ...string)",
		"(ctx context.Context) error": "(context.Context) error",
		"(s S) (n int, err error)":    "(S) (int, error)",
		"() (err error)":              "() error",
		"(<-chan int, func(x, y T) (ok bool), map[K][]*pkg.V)": "(<-chan int, func(x, y T) (ok bool), map[K][]*pkg.V)",
		"(_ [len(`a\n\tb`)]int)":                               "([len(`a b`)]int)",
		"(v List[T], i interface{ M() }) any":                  "(List[T], interface{M()}) any",
		"(v " + long + ")":                                     "",
	} {
		s, _, err := parse("p", "f.go", []byte("package p\nfunc F"+source+" {}\n"))
		require.NoError(t, err)
		assert.Equal(t, want, s.functions[0].normal.Signature, source)
	}
}
