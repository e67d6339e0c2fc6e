package instrument

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// The complete diff of the program in testdata after instrumentation.
func TestDiff_ChangedLines(t *testing.T) {
	dir := programCopy(t)
	_, stdout, _ := corehourGo(t, Settings{Diff: true}, "build", "-C", dir, ".")
	got := strings.ReplaceAll(stdout, dir+string(filepath.Separator), "")
	const golden = "testdata/changed.diff"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestFind_ReasonPerFunction(t *testing.T) {
	dir := programCopy(t)
	write(t, dir, "methods.json", `{"version": 1, "methods": [{"class": "example.com/program/shop", "method": "*"}]}`)
	_, stdout, _ := corehourGo(t, Settings{DryRun: true, Methods: filepath.Join(dir, "methods.json")}, "build", "-C", dir, "./shop", "./native")
	assert.Equal(t, `example.com/program/native.Twice: the method file does not name it
example.com/program/shop.first: probe
example.com/program/shop.next: probe
example.com/program/shop.init: it is an init function, or has no name
example.com/program/shop.Run: probe
example.com/program/shop.(*List).Add: the method file does not name it
example.com/program/shop.List.Sum: the method file does not name it
example.com/program/shop.Map: probe
example.com/program/shop.jump: probe
example.com/program/shop.Recovered: probe
example.com/program/shop.Fail: probe
example.com/program/shop.leaf: a compiler directive forbids it
example.com/program/shop.nanotime: it has no body
example.com/program/shop.where: probe
example.com/program/shop.generated: probe
`, stdout)
}

var inserted = regexp.MustCompile(` if _corehourM\[\d+\]\.On\(\) \{ defer _corehourM\[\d+\]\.Begin\(\)\.End\(\) \};`)

// checkInserted inserts a probe into every eligible function of text. It checks that lines and declarations
// stay the same, and that removing the probes restores text. It returns the number of probes.
func checkInserted(t *testing.T, path string, text []byte) (functions int) {
	t.Helper()
	s, _, err := parse("p", path, text)
	if err != nil {
		return 0
	}
	for _, f := range s.functions {
		f.isMain = false
		if f.reason == "" {
			f.index = functions
			functions++
		}
	}
	changed := s.insert()
	require.Equal(t, bytes.Count(text, []byte("\n")), bytes.Count(changed, []byte("\n")), path)
	before, after := declarations(t, path, text), declarations(t, path, changed)
	require.Equal(t, before, after, path)
	require.Equal(t, functions, len(inserted.FindAllIndex(changed, -1))-len(inserted.FindAllIndex(text, -1)), path)
	if !inserted.Match(text) {
		require.Equal(t, string(text), string(inserted.ReplaceAll(changed, nil)), path)
	}
	return functions
}

// declarations returns the name and last line of every function, and the number of its statements without
// probes.
func declarations(t *testing.T, path string, text []byte) (all [][3]any) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err, path)
	for _, d := range file.Decls {
		decl, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		statements := 0
		if decl.Body != nil {
			for _, s := range decl.Body.List {
				if i, ok := s.(*ast.IfStmt); ok && strings.HasPrefix(string(text[set.PositionFor(i.Pos(), false).Offset:]), "if _corehourM[") {
					continue
				}
				if _, ok := s.(*ast.EmptyStmt); !ok {
					statements++
				}
			}
		}
		all = append(all, [3]any{decl.Name.Name, set.Position(decl.End()).Line, statements})
	}
	return all
}

// Inserts probes into every tenth file of the standard library, including its tests and the odd sources of
// the compiler's tests. COREHOUR_ALL_SOURCES=1 selects all these files and those of the module cache.
func TestInsert_ForeignSources(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	everyNth := 10
	roots, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	require.NoError(t, err)
	trees := strings.Fields(string(roots))
	if os.Getenv("COREHOUR_ALL_SOURCES") != "" {
		everyNth = 1
	} else {
		trees = trees[:1]
	}
	files, functions := 0, 0
	for _, tree := range trees {
		require.NoError(t, filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".go") {
				if files++; files%everyNth == 0 {
					text, err := os.ReadFile(path)
					require.NoError(t, err)
					functions += checkInserted(t, path, text)
				}
			}
			return err
		}))
	}
	t.Logf("%d functions of %d files", functions, files/everyNth)
	assert.Greater(t, functions, 1000)
}

func FuzzInsert(f *testing.F) {
	for _, text := range []string{
		"package p\nfunc f() {}\n",
		"package p\nfunc f() { /* { */ goto a; a: }\nfunc (t *T[P, Q]) m() (err error) { return }\n",
		"package p\n//line x.y:7\nfunc f(a struct{ b func() }) { //c\n}\nfunc g()\n",
		"package p; func f() int { return 1 }; func _() {}\r\nfunc init() {\r\n}\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkInserted(t, "p.go", text) })
}

// The estimate ignores the bodies of closures, as the compiler does.
func TestInlined_Closures(t *testing.T) {
	dir := t.TempDir()
	body := "{ defer print(n); for n < 9 { n += len(os.Args); print(n, n, n, n) }; return n + cap(os.Args)*len(os.Args) }"
	text := "package p\n\nimport \"os\"\n\nfunc wrapped(n int) func() int { return func() int " + body + " }\n" +
		"func called(n int) int { return func() int " + body + "() }\n" +
		"func two(n int) (a, b, c, d, e func() int) {\n\ta = func() int " + body + "\n\treturn a, func() int { return n }, " +
		"func() int { return -n }, func() int { return 1 }, func() int { return n + 1 }\n}\n"
	write(t, dir, "go.mod", "module p\n\ngo 1.25\n")
	write(t, dir, "p.go", text)
	functions := sameAsCompiler(t, dir)
	assert.True(t, functions["p.wrapped"])
	assert.False(t, functions["p.two"])
}

// sameAsCompiler checks that the estimate of each function in package p equals the compiler's decision. It
// returns the estimates by function.
func sameAsCompiler(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out, err := exec.Command("go", "build", "-C", dir, "-gcflags=-m").CombinedOutput()
	require.NoError(t, err, string(out))
	says := readCompiler(string(out), dir)
	estimated := map[string]bool{}
	for _, s := range find(&pkg{ImportPath: "p", Dir: dir, GoFiles: []string{"p.go"}}, true, newIndirect()).sources {
		for _, f := range s.functions {
			assert.Equal(t, says.can[s.path+":"+strconv.Itoa(f.line)], f.inline, f.name)
			estimated[f.name] = f.inline
		}
	}
	return estimated
}

// If the compiler printed nothing about a package, mark keeps the estimate. It returns false if that
// estimate inlines any function.
func TestInlined_CompilerOutputMissing(t *testing.T) {
	packageOf := func(name, text string) *found {
		dir := t.TempDir()
		write(t, dir, name+".go", "package "+name+"\n"+text)
		return find(&pkg{ImportPath: name, Dir: dir, GoFiles: []string{name + ".go"}}, true, newIndirect())
	}
	printed := packageOf("printed", "func Small() int { return 1 }\nfunc Other() int { return 2 }\n")
	lost := packageOf("lost", "func Small() int { return 1 }\n")
	empty := packageOf("empty", "func Large() { for { select {} } }\n")
	says := readCompiler("# printed\nprinted.go:3:6: can inline Other\n# linker: x\n", printed.pkg.Dir)
	assert.True(t, says.mark(printed))
	assert.False(t, printed.sources[0].functions[0].inline, "the compiler does not say so")
	assert.True(t, printed.sources[0].functions[1].inline)
	assert.False(t, says.mark(lost))
	assert.True(t, lost.sources[0].functions[0].inline)
	assert.True(t, says.mark(empty))
}

// The estimated cost of a call depends on the callee.
func TestInlined_Callees(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module p\n\ngo 1.25\n")
	write(t, dir, "p.go", `package p

import (
	"encoding/binary"
	"math"
	"os"
	"sync/atomic"
	"unsafe"
)

type kind uint8

type place uint64

type shape interface{ area() int }

type square struct{ side int }

type set[T comparable] [14]T

var count int64

func conversions(k kind, n uint32) place { return place(k)<<8 | place(n)<<16 | place(kind(n))<<32 }

func (p place) kind() kind { return kind(p >> 8) }

func (p place) wide() bool { return p.kind() != 0 && kind(p) != 0 && p.kind() < 9 }

func calling(p place) bool { return p.wide() || p.kind() == 3 }

func costly(n int) int {
	for i := range n {
		n += i*n + n%7 + n/3 - (n<<3)*(i+1) + n&i | n>>2 ^ i + (n+4)*(n+5)*(n+6) - len(os.Args)*cap(os.Args)
	}
	return n
}

func callsCostly(n int) int { return costly(n) + 1 }

func callsCostlyTwice(n int) int { return costly(n) + costly(n+1) }

func recursive(n int) int {
	if n == 0 {
		return 1
	}
	return n * recursive(n-1)
}

func callsParameters(f, g, h func() int) int { return f() + g() + h() }

func callsMany(f, g, h, i, j func() int) int { return f() + g() + h() + i() + j() }

func callsInterfaces(a, b shape) int { return a.area() + b.area() }

func (s square) area() int { return s.side * s.side }

func floats(a, b uint32) uint64 { return uint64(math.Float32bits(math.Float32frombits(a) * math.Float32frombits(b))) }

func orders(b []byte) (uint32, uint64) { return binary.LittleEndian.Uint32(b), binary.BigEndian.Uint64(b[4:]) }

func atomics() int64 { return atomic.AddInt64(&count, 1) + atomic.LoadInt64(&count) + atomic.SwapInt64(&count, 2) }

func within(a uintptr, b []byte) bool {
	return uintptr(unsafe.Pointer(&b[0])) <= a && a <= uintptr(unsafe.Pointer(&b[len(b)-1]))
}

func (s *set[T]) each(f func(int, T)) {
	var none T
	for i, x := range s {
		if x != none {
			f(i, x)
		}
	}
}

func (s *set[T]) twice(f func(int, T)) {
	s.each(f)
	for i := range costly(len(s)) + costly(2) + costly(3) {
		f(i, s[0])
	}
}

var Numbers set[int]

func Use() { Numbers.twice(nil) }

//go:noinline
func excluded() int { return 1 }
`)
	functions := sameAsCompiler(t, dir)
	assert.True(t, functions["p.conversions"])
	assert.True(t, functions["p.(*set).each"])
	assert.False(t, functions["p.(*set).twice"])

	_, exact, _ := corehourGo(t, Settings{DryRun: true, Exact: true}, "build", "-C", dir, ".")
	_, estimated, _ := corehourGo(t, Settings{DryRun: true}, "build", "-C", dir, ".")
	assert.Equal(t, estimated, exact)
	assert.Contains(t, exact, "p.(*set).twice: probe\n")
}

// Functions that the compiler could inline get a probe if they have a loop or a call, or if their callers do
// not use their name: then the compiler does not inline them there. Other straight code and accessors are left
// to the compiler.
func TestInlined_OnlyStraightCode(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/p\n\ngo 1.25\n")
	write(t, dir, "text/text.go", `package text

import "sync"

type Joiner interface {
	Join(words []string) string
	Sized
}

type Sized interface{ Size() int }

func Valid(n int) bool { return n > 0 }

func Unused(n int) bool { return n < 0 }

type Base struct {
	sync.Mutex
	kind uint8
}

func (b *Base) Size() int { return 7 * int(b.kind) }

func (b *Base) Kind() int { return 8 * int(b.kind) }
`)
	write(t, dir, "main.go", `package main

import (
	"os"
	"slices"
	"sort"

	"example.com/p/text"
)

type quadratic struct {
	text.Base
	size int
}

func (q *quadratic) Join(words []string) (all string) {
	for _, w := range words {
		all += w
	}
	return all
}

func (q *quadratic) length() int { return q.size }

func (q *quadratic) bound() int { return q.size + 1 }

func (q *quadratic) Close() error { return nil }

func (q *quadratic) Read() int { return q.size }

type ordered []int

func (o ordered) Len() int { return len(o) }

func (o ordered) Less(i, j int) bool { return o[i] < o[j] }

func (o ordered) Swap(i, j int) { o[i], o[j] = o[j], o[i] }

type list []int

func (l list) Len() int { return len(l) }

func odd(n int) bool { return n%2 == 1 }

func plus(n int) int { return n + 1 }

func args() []string { return slices.Clone(os.Args) }

func caller() []string { return args() }

func joined(j text.Joiner) int { return len(j.Join(os.Args)) }

func main() {
	q := &quadratic{size: 9}
	size := q.bound
	sort.Sort(ordered{plus(2), 1})
	println(joined(q), q.length(), size(), slices.ContainsFunc([]int{1}, odd), slices.ContainsFunc([]int{1}, text.Valid), len(caller()), q.Close(), q.Read(), q.Kind(), list{}.Len())
}
`)
	_, text, _ := corehourGo(t, Settings{DryRun: true}, "build", "-C", dir, ".")
	straight := ": " + inlinable
	for name, want := range map[string]string{
		"(*quadratic).Join": ": probe", "(*quadratic).length": straight, "(*quadratic).bound": ": probe",
		"(*quadratic).Close": straight, "(*quadratic).Read": straight, "joined": ": probe",
		"ordered.Len": straight, "ordered.Less": ": probe", "ordered.Swap": ": probe", "list.Len": straight,
		"odd": ": probe", "plus": straight, "args": ": probe", "caller": ": probe",
		"/text.Valid": ": probe", "/text.Unused": straight, "/text.(*Base).Size": ": probe", "/text.(*Base).Kind": straight,
	} {
		if !strings.HasPrefix(name, "/") {
			name = "." + name
		}
		assert.Contains(t, text, "example.com/p"+name+want+"\n")
	}
}

// The estimate equals the compiler's decision for more than 95% of the functions.
func TestInlined_AgreesWithCompiler(t *testing.T) {
	packages := []string{"go/parser", "text/template", "encoding/json", "net/url", "archive/tar"}
	text, err := exec.Command("go", append([]string{"build", "-gcflags=-m"}, packages...)...).CombinedOutput()
	require.NoError(t, err)
	says := readCompiler(string(text), "")
	list, err := exec.Command("go", append([]string{"list", "-json"}, packages...)...).Output()
	require.NoError(t, err)
	agree, all := 0, 0
	for d := json.NewDecoder(bytes.NewReader(list)); d.More(); {
		k := &pkg{}
		require.NoError(t, d.Decode(k))
		for _, s := range find(k, true, newIndirect()).sources {
			for _, f := range s.functions {
				if f.reason != "" {
					continue
				}
				all++
				if f.inline == says.can[s.path+":"+strconv.Itoa(f.line)] {
					agree++
				}
			}
		}
	}
	t.Logf("agrees on %d of %d functions", agree, all)
	assert.Greater(t, all, 400)
	assert.Greater(t, float64(agree)/float64(all), 0.95)
}
