package instrument

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// programCopy returns a copy of the program in testdata, because a build must not depend on the directory.
func programCopy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/program")))
	write(t, dir, "shop/where_plan9.go", "package shop\n\nthis does not compile\n")
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// corehourGo runs `corehour go` and returns its exit code and output.
func corehourGo(t *testing.T, s Settings, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code, err := Run(context.Background(), s, args, &out, &errs)
	require.NoError(t, err, errs.String())
	return code, out.String(), errs.String()
}

// built builds the program in dir without and with probes. It returns both binaries, and the summary of
// `corehour go`.
func built(t *testing.T, s Settings, dir string, flags ...string) (plain, probed, summary string) {
	t.Helper()
	plain, probed = filepath.Join(t.TempDir(), "program"), filepath.Join(t.TempDir(), "program")
	args := append([]string{"build", "-C", dir, "-trimpath"}, flags...)
	text, err := exec.Command("go", append(args, "-o", plain, ".")...).CombinedOutput()
	require.NoError(t, err, string(text))
	code, _, summary := corehourGo(t, s, append(args, "-o", probed, ".")...)
	require.Zero(t, code, summary)
	return plain, probed, summary
}

type result struct {
	code           int
	stdout, stderr string
}

func runProgram(t *testing.T, binary, how string, env ...string) result {
	t.Helper()
	cmd := exec.Command(binary, how)
	cmd.Env = append(os.Environ(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

var measured = []string{"COREHOUR_SAMPLE=1", "COREHOUR_EXPORT=stderr"}

var (
	countsLine = regexp.MustCompile(`(?m)^corehour counts .* method=(\S+) calls=(\d+)$`)
	ownLine    = regexp.MustCompile(`(?m)^corehour .*\n`)
	offset     = regexp.MustCompile(` \+0x[0-9a-f]+`)
)

// counts returns the calls of each method from the output of a program.
func counts(stderr string) map[string]string {
	found := map[string]string{}
	for _, m := range countsLine.FindAllStringSubmatch(stderr, -1) {
		found[strings.TrimPrefix(m[1], "example.com/program")] = m[2]
	}
	return found
}

// A program with probes behaves the same, with the same files and line numbers in its output. Every call is
// counted, however the program ends.
func TestBuild_ProgramBehavesTheSame(t *testing.T) {
	dir := programCopy(t)
	before := hashOf(t, dir)
	plain, probed, summary := built(t, Settings{}, dir)
	assert.Equal(t, before, hashOf(t, dir), "the source tree has changed")
	assert.Contains(t, summary, "corehour go: probes in 14 functions of 4 packages; 0 left to the compiler, which inlines them; without: 1 because a compiler directive forbids it, 1 because it has no body, 1 because it is an init function, or has no name\n")
	assert.Contains(t, summary, "corehour go: example.com/program/native: wall time only, as these call runtime.UnlockOSThread: example.com/program/native.Twice\n")
	assert.Contains(t, summary, "corehour go: probes are off until the program runs with COREHOUR_SAMPLE=0.01")

	for how, code := range map[string]int{"return": 0, "exit": 3, "fatal": 1, "panic": 2} {
		t.Run(how, func(t *testing.T) {
			want := runProgram(t, plain, how)
			require.Equal(t, code, want.code)
			off := runProgram(t, probed, how)
			off.stderr, want.stderr = offset.ReplaceAllString(off.stderr, ""), offset.ReplaceAllString(want.stderr, "")
			assert.Equal(t, want, off)

			on := runProgram(t, probed, how, measured...)
			assert.Equal(t, want.code, on.code)
			assert.Equal(t, want.stdout, on.stdout)
			assert.Equal(t, want.stderr, offset.ReplaceAllString(ownLine.ReplaceAllString(on.stderr, ""), ""))
			calls := map[string]string{
				".main": "1", "/shop.Run": "1", "/shop.List.Add": "101", "/shop.List.Sum": "1", "/shop.Map": "1", "/shop.jump": "1",
				"/shop.Recovered": "1", "/shop.where": "1", "/shop.generated": "1", "/shop.first": "1", "/shop.next": "2",
				"/native.Twice": "1", "/words.Count": "1",
			}
			if how == "panic" {
				calls["/shop.Fail"] = "1"
			}
			assert.Equal(t, calls, counts(on.stderr))
			assert.True(t, strings.Contains(on.stderr, "final=true"))
			assert.False(t, regexp.MustCompile(`method=example.com/program/native.Twice .* cpu=[0-9]`).MatchString(on.stderr), "its thread is not its own")
		})
	}
}

// A signal that the program does not handle still ends it, after the SDK has exported its data.
func TestBuild_SignalEndsProgram(t *testing.T) {
	_, probed, _ := built(t, Settings{}, programCopy(t))
	cmd := exec.Command(probed, "wait")
	cmd.Env = append(os.Environ(), measured...)
	var errs bytes.Buffer
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = &errs
	require.NoError(t, cmd.Start())
	_, err = io.ReadAtLeast(out, make([]byte, 100), 100) // the program waits for the signal
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	go io.Copy(io.Discard, out)
	_ = cmd.Wait()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	assert.True(t, status.Signaled() && status.Signal() == syscall.SIGTERM, cmd.ProcessState.String())
	assert.Equal(t, "101", counts(errs.String())["/shop.List.Add"])
}

func TestBuild_Reproducible(t *testing.T) {
	dir := programCopy(t)
	_, first, _ := built(t, Settings{}, dir, "-buildvcs=false")
	_, second, _ := built(t, Settings{}, programCopy(t), "-buildvcs=false")
	a, err := os.ReadFile(first)
	require.NoError(t, err)
	b, err := os.ReadFile(second)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(a, b), "two builds differ")
	assert.False(t, bytes.Contains(a, []byte(rewritten)), "the name of a directory is in the binary")
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		assert.True(t, bytes.Contains(a, []byte("index.Walk")), "stacks are not walked by frame pointers")
	}

	probes, err := Probes(first)
	require.NoError(t, err)
	require.Len(t, probes, 14)
	assert.Equal(t, Probe{Name: "example.com/program.main", Signature: "()"}, probes[0])
	assert.Equal(t, Probe{Name: "example.com/program/native.Twice", Signature: "(int) int", WallOnly: true}, probes[1])
	assert.Contains(t, probes, Probe{Name: "example.com/program/shop.Map", Signature: "([]T, func(T) U) []U"})
	assert.Contains(t, probes, Probe{Name: "example.com/program/shop.Recovered", Signature: "() (int, error)"})
}

// An entry with a signature applies only to a function with this signature, at build time and at run time.
func TestSignatures(t *testing.T) {
	t.Parallel()
	dir := programCopy(t)
	write(t, dir, "methods.json", `{"version": 1, "methods": [
  {"class": "example.com/program/shop.List", "method": "Sum", "signature": "(func(T) int) int", "rate": 1},
  {"class": "example.com/program/shop", "method": "Recovered", "signature": "(int) (int, error)", "rate": 1},
  {"class": "example.com/program/shop", "method": "Run", "signature": "() string", "scope": "lazy"},
  {"match": "example.com/program/shop.List.*", "mode": "off"}
]}`)
	_, probed, summary := built(t, Settings{Methods: filepath.Join(dir, "methods.json")}, dir)
	for _, line := range []string{
		"corehour go: methods[1] example.com/program/shop.Recovered(int) (int, error) fits no function of this build: its signature is () (int, error)\n",
		"corehour go: methods[2] example.com/program/shop.Run() string has a signature, with which it is no root of scope lazy: leave it out\n",
	} {
		assert.Equal(t, 1, strings.Count(summary, line), "%s\n%s", line, summary)
	}
	r := runProgram(t, probed, "return", "COREHOUR_EXPORT=stderr")
	assert.Equal(t, "1", counts(r.stderr)["/shop.List.Sum"])
	write(t, dir, "other.json", `{"version": 1, "methods": [
  {"class": "example.com/program/shop.List", "method": "Sum", "signature": "(int)", "rate": 1},
  {"class": "example.com/program/shop.List", "method": "Add", "signature": "(T)", "rate": 1}]}`)
	r = runProgram(t, probed, "return", "COREHOUR_EXPORT=stderr", "COREHOUR_METHODS="+filepath.Join(dir, "other.json"))
	assert.Equal(t, map[string]string{"/shop.List.Add": "101"}, counts(r.stderr))
}

// A faulty entry of a method file does not affect the other entries. Each fault is reported once.
func TestMethodFile(t *testing.T) {
	dir := programCopy(t)
	write(t, dir, "methods.json", `{"version": 1, "methods": [
  {"class": "example.com/program/shop.List", "method": "*", "rate": 0.5},
  {"class": "example.com/program/shop", "method": "Rum", "rate": 1},
  {"class": "example.com/program/shop", "method": "leaf", "rate": 1},
  {"class": "example.com/program/shop", "method": "Map", "rate": 7},
  {"class": "example.com/program/words", "method": "Count"},
  {"match": "elsewhere.*", "rate": 1},
  {"class": "com.shop.Cart", "method": "total", "signature": "(int)", "rate": 1},
  {"class": "example.com/program/shop", "method": "jump", "mode": "off"},
  {"class": "example.com/program/shop", "method": "Run", "signature": "(int)", "rate": 1}
]}`)
	path := filepath.Join(dir, "methods.json")
	_, probed, summary := built(t, Settings{Methods: path}, dir)
	for _, line := range []string{
		"corehour go: " + path + ": methods[3].rate",
		"corehour go: probes in 4 functions of 2 packages; 0 left to the compiler, which inlines them; without: ",
		`corehour go: methods[1] example.com/program/shop.Rum fits no function of this build: did you mean "example.com/program/shop.Run"?` + "\n",
		"corehour go: methods[2]: example.com/program/shop.leaf stays without probe: a compiler directive forbids it\n",
		"corehour go: methods[5] elsewhere.* fits no function of this build\n",
		"corehour go: methods[8] example.com/program/shop.Run(int) fits no function of this build: its signature is () string\n",
	} {
		assert.Equal(t, 1, strings.Count(summary, line), "%s\n%s", line, summary)
	}
	assert.NotContains(t, summary, "com.shop.Cart")
	assert.NotContains(t, summary, "probes are off")

	// The method file is part of the binary. COREHOUR_METHODS replaces it.
	r := runProgram(t, probed, "return", "COREHOUR_EXPORT=stderr")
	assert.Equal(t, map[string]string{"/shop.List.Add": "101", "/shop.List.Sum": "1", "/words.Count": "1"}, counts(r.stderr))
	write(t, dir, "other.json", `{"version": 1, "methods": [{"class": "example.com/program/shop", "method": "jump"}]}`)
	r = runProgram(t, probed, "return", "COREHOUR_EXPORT=stderr", "COREHOUR_METHODS="+filepath.Join(dir, "other.json"))
	assert.Equal(t, map[string]string{"/shop.jump": "1"}, counts(r.stderr))
}

// A running program applies changes of its method file.
func TestMethodFile_RunningProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	dir := programCopy(t)
	write(t, dir, "main.go", `package main

import (
	"os"
	"time"

	"example.com/program/shop"
)

func main() {
	for begin := time.Now(); time.Since(begin) < 25*time.Second && os.Getenv("DONE") == ""; time.Sleep(10 * time.Millisecond) {
		shop.Recovered()
	}
}
`)
	_, probed, _ := built(t, Settings{}, dir)
	write(t, dir, "live.json", `{"version": 1}`)
	cmd := exec.Command(probed)
	cmd.Env = append(os.Environ(), "COREHOUR_EXPORT=stderr", "COREHOUR_METHODS="+filepath.Join(dir, "live.json"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.NoError(t, cmd.Start())
	time.Sleep(time.Second)
	write(t, dir, "live.json", `{"version": 1, "methods": [{"class": "example.com/program/shop", "method": "Recovered", "rate": 1},
  {"class": "example.com/program/words", "method": "Count", "rate": 1}]}`)
	time.Sleep(14 * time.Second)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	assert.NotEmpty(t, counts(errs.String())["/shop.Recovered"])
	assert.Equal(t, 1, strings.Count(errs.String(), "entries that fit no method: methods[1] (example.com/program/words.Count): these need a rebuild, by corehour go build with this file"))
}

// A vendored function gets a probe if the method file names it.
func TestBuild_VendoredPackages(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module program\n\ngo 1.21\n\nrequire example.com/dep v1.0.0\n")
	write(t, dir, "main.go", "package main\n\nimport \"example.com/dep\"\n\nfunc main() { dep.Do(); dep.Other() }\n")
	write(t, dir, "vendor/modules.txt", "# example.com/dep v1.0.0\n## explicit; go 1.21\nexample.com/dep\n")
	write(t, dir, "vendor/example.com/dep/dep.go", "package dep\n\nimport \"strings\"\n\nfunc Do() string {\n\treturn strings.Repeat(\"a\", len(strings.ToUpper(\"b\")))\n}\n\nfunc Other() string {\n\treturn strings.Repeat(\"a\", len(strings.ToUpper(\"b\")))\n}\n")
	write(t, dir, "methods.json", `{"version": 1, "defaults": {"rate": 1}, "methods": [{"class": "example.com/dep", "method": "Do", "rate": 1}]}`)
	_, probed, _ := built(t, Settings{Methods: filepath.Join(dir, "methods.json")}, dir)
	r := runProgram(t, probed, "", "COREHOUR_EXPORT=stderr")
	assert.Equal(t, map[string]string{"program.main": "1", "example.com/dep.Do": "1"}, counts(r.stderr))
}

// All modules of a workspace get probes.
func TestBuild_Workspace(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.work", "go 1.21\n\nuse (\n\t./a\n\t./b\n)\n")
	write(t, dir, "a/go.mod", "module example.com/a\n\ngo 1.21\n")
	write(t, dir, "a/a.go", "package a\n\nimport \"strings\"\n\nfunc Do() string { return strings.Repeat(\"a\", len(strings.ToUpper(\"b\"))) }\n")
	write(t, dir, "b/go.mod", "module example.com/b\n\ngo 1.21\n")
	write(t, dir, "b/main.go", "package main\n\nimport \"example.com/a\"\n\nfunc main() { a.Do() }\n")
	_, probed, _ := built(t, Settings{}, filepath.Join(dir, "b"))
	r := runProgram(t, probed, "", measured...)
	assert.Equal(t, map[string]string{"example.com/b.main": "1", "example.com/a.Do": "1"}, counts(r.stderr))
}

// `corehour go test` inserts probes into the tested code, but not into test functions.
func TestBuild_GoTest(t *testing.T) {
	dir := programCopy(t)
	write(t, dir, "shop/shop_test.go", "package shop\n\nimport \"testing\"\n\nfunc TestRun(t *testing.T) {\n\tif Run() == \"\" {\n\t\tt.Fatal(\"nothing\")\n\t}\n}\n")
	for name, value := range map[string]string{"COREHOUR_SAMPLE": "1", "COREHOUR_EXPORT": "stderr"} {
		t.Setenv(name, value)
	}
	code, stdout, stderr := corehourGo(t, Settings{}, "test", "-C", dir, "-trimpath", "-count=1", "-v", "./shop", "-run", "TestRun")
	assert.Zero(t, code, stderr)
	assert.True(t, strings.Contains(stdout, "--- PASS: TestRun"))
	calls := counts(stdout)
	assert.Equal(t, "101", calls["/shop.List.Add"])
	assert.NotContains(t, calls, "/shop.TestRun")
}

// Compile errors are reported as by the go command, at the original file and line.
func TestBuild_Fails(t *testing.T) {
	dir := programCopy(t)
	write(t, dir, "words/broken.go", "package words\n\nfunc broken( {\n")
	code, _, stderr := corehourGo(t, Settings{}, "build", "-C", dir, "-o", os.DevNull, ".")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "words/broken.go:3:14: syntax error")
	assert.Contains(t, stderr, "1 because its file does not parse")

	dir = programCopy(t)
	broken := "func broken(text string) (out string) {\n\tfor _, r := range text {\n" +
		"\t\tout += string(r) + undefinedName\n\t}\n\treturn out\n}\n"
	write(t, dir, "words/broken.go", "package words\n\n"+broken)
	for _, verb := range []string{"build", "test"} {
		code, _, stderr = corehourGo(t, Settings{}, verb, "-C", dir, "./...")
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "words/broken.go:5:22: undefined: undefinedName")
		assert.NotContains(t, stderr, rewritten)
	}
	dir = programCopy(t)
	write(t, dir, "broken.go", "package main\n\n"+broken)
	code, _, stderr = corehourGo(t, Settings{}, "build", "-C", dir, "-o", os.DevNull, ".")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "\n./broken.go:5:22: undefined: undefinedName")
}

func TestBuild_NoModule(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "main.go", "package main\n\nfunc main() {}\n")
	_, err := Run(context.Background(), Settings{}, []string{"build", "-C", dir, "main.go"}, io.Discard, io.Discard)
	assert.ErrorContains(t, err, "corehour go needs a go.mod")
}

func hashOf(t *testing.T, dir string) [sha256.Size]byte {
	t.Helper()
	h := sha256.New()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		io.WriteString(h, path)
		if !d.IsDir() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h.Write(text)
		}
		return nil
	}))
	return [sha256.Size]byte(h.Sum(nil))
}

// The embedded SDK equals the SDK of the repository. go generate updates it.
func TestSDKZip_EqualsRepository(t *testing.T) {
	archive, err := zip.NewReader(bytes.NewReader(sdkZip), int64(len(sdkZip)))
	require.NoError(t, err)
	packed := map[string]bool{}
	for _, f := range archive.File {
		r, err := f.Open()
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join("../../sdk", f.Name))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got), "%s: run make generate", f.Name)
		packed[f.Name] = true
	}
	files, err := exec.Command("go", "list", "-C", "../../sdk", "-f", "{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}", "./...").Output()
	require.NoError(t, err)
	root, err := filepath.Abs("../../sdk")
	require.NoError(t, err)
	for path := range strings.Lines(string(files)) {
		name, err := filepath.Rel(root, strings.TrimSpace(path))
		require.NoError(t, err)
		assert.True(t, strings.TrimSpace(path) == "" || packed[name], "%s is not packed: run make generate", name)
	}
}
