// Command benchinstrument measures what probes cost that `corehour go build` compiles in: goldmark,
// from the module proxy, converts a document of 200 kB plainly, with probes by the command, and with
// the same probes written by hand. The programs run in turn.
//
//	benchinstrument --corehour bin/corehour --sdk sdk --rounds 10
//
// It prints figures as JSON, for test/figures/show. The time of a run is the tenth percentile of its
// conversions, which other work on the machine disturbs least; a ratio is the median of the rounds.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// goldmark is pinned: ratios of other versions are not comparable.
const goldmark = "github.com/yuin/goldmark@v1.7.13"

// figure is one line of the table.
type figure struct {
	Name      string   `json:"name"`
	Value     float64  `json:"value"`
	Unit      string   `json:"unit"`
	Peer      string   `json:"peer,omitempty"`
	PeerValue float64  `json:"peer_value,omitempty"`
	Ratio     float64  `json:"ratio,omitempty"`
	Goal      *float64 `json:"goal,omitempty"`
	Better    string   `json:"better"`
}

func main() {
	corehour := flag.String("corehour", "bin/corehour", "the `command`")
	sdk := flag.String("sdk", "sdk", "`directory` of the SDK")
	rounds := flag.Int("rounds", 10, "rounds")
	flag.Parse()
	if err := measure(os.Stdout, *corehour, *sdk, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "benchinstrument:", err)
		os.Exit(1)
	}
}

// program converts for a second and prints how often, and the tenth percentile in ns.
const program = `package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/yuin/goldmark"
)

func main() {
	start()
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	md := goldmark.New()
	var out bytes.Buffer
	var all []time.Duration
	for begin := time.Now(); time.Since(begin) < time.Second; {
		at := time.Now()
		out.Reset()
		if err := md.Convert(text, &out); err != nil {
			panic(err)
		}
		all = append(all, time.Since(at))
	}
	slices.Sort(all)
	fmt.Println(len(all), all[len(all)/10].Nanoseconds())
}
`

const (
	startNothing = "package main\n\nfunc start() {}\n"
	startSDK     = `package main

import (
	"context"

	"github.com/corehour/corehour/sdk"
)

func start() {
	if _, err := corehour.Start(context.Background()); err != nil {
		panic(err)
	}
}
`
)

// bench is where everything is built.
type bench struct {
	dir, corehour, sdk string
	document           string
}

func measure(to io.Writer, corehour, sdk string, rounds int) error {
	b := &bench{}
	var err error
	if b.corehour, err = filepath.Abs(corehour); err != nil {
		return err
	}
	if b.sdk, err = filepath.Abs(sdk); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "benchinstrument-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	fmt.Fprintln(os.Stderr, "fetching and building", goldmark)
	tree, err := b.fetch("plain", startNothing)
	if err != nil {
		return err
	}
	b.document = filepath.Join(tree, "_benchmark", "cmark", "_data.md")
	if _, _, err := b.warm(tree); err != nil { // the first time fills the build cache
		return err
	}
	if err := b.byHand(tree); err != nil {
		return err
	}
	plainWarm, probedWarm, err := b.warm(tree)
	if err != nil {
		return err
	}
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
	}))
	defer collector.Close()
	here := "COREHOUR_ENDPOINTS=" + collector.URL
	per, err := b.probesPerRun()
	if err != nil {
		return err
	}
	runs := []struct {
		name, binary string
		goal         float64
		env          []string
	}{
		{"plain", "plain.bin", 0, nil},
		{"probes off", "probed.bin", 1.08, nil},
		{"1% with CPU", "probed.bin", 1.25, []string{"COREHOUR_SAMPLE=0.01", here}},
		{"1% by the wall", "probed.bin", 0, []string{"COREHOUR_SAMPLE=0.01", "COREHOUR_CPU=off", here}},
		{"0.1% with CPU", "probed.bin", 0, []string{"COREHOUR_SAMPLE=0.001", here}},
		{"by hand, off", "hand.bin", 0, []string{"COREHOUR_SAMPLE=off", here}},
		{"by hand, 1% with CPU", "hand.bin", 0, []string{"COREHOUR_SAMPLE=0.01", here}},
	}
	times := make([][]float64, len(runs))
	for round := range rounds {
		for i, r := range runs {
			_, ns, _, err := b.convert(r.binary, r.env)
			if err != nil {
				return err
			}
			times[i] = append(times[i], ns)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d: plain %.1f ms, off %.1f ms, 1%% %.1f ms\n", round+1, rounds, times[0][round]/1e6, times[1][round]/1e6, times[2][round]/1e6)
	}
	var figures []figure
	for i, r := range runs {
		f := figure{Name: "Convert, " + r.name, Value: median(times[i]) / 1e6, Unit: "ms", Better: "lower"}
		if i > 0 {
			f.against("plain", times[i], times[0], r.goal)
		}
		figures = append(figures, f)
	}
	for _, pair := range []struct {
		name        string
		ours, peers int
	}{{"off", 1, 5}, {"1% with CPU", 2, 6}} {
		f := figure{Name: "Convert, " + pair.name + ", next to by hand", Value: median(times[pair.ours]) / 1e6, Unit: "ms", Better: "lower"}
		f.against("by hand", times[pair.ours], times[pair.peers], 1.05)
		figures = append(figures, f)
	}
	figures = append(figures, figure{Name: "probes executed in a Convert", Value: per, Unit: "calls", Better: "lower"})
	warm := figure{Name: "build after a change, user and system time", Value: probedWarm, Unit: "s", Better: "lower"}
	warm.against("plain", []float64{probedWarm}, []float64{plainWarm}, 1.1)
	size := figure{Name: "binary", Value: sizeOf(b.path("probed.bin")), Unit: "MB", Better: "lower"}
	size.against("plain", []float64{sizeOf(b.path("probed.bin"))}, []float64{sizeOf(b.path("plain.bin"))}, 0)
	figures = append(figures, warm, size)
	return json.NewEncoder(to).Encode(struct {
		Name    string   `json:"name"`
		Results []figure `json:"results"`
	}{"instrument", figures})
}

func (f *figure) against(peer string, ours, peers []float64, goal float64) {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / peers[i]
	}
	f.Peer, f.PeerValue, f.Ratio = peer, median(peers)/1e6, median(ratios)
	if f.Unit != "ms" {
		f.PeerValue *= 1e6
	}
	if goal > 0 {
		f.Goal = &goal
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func sizeOf(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size()) / 1e6
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// fetch copies goldmark from the module cache and adds the program.
func (b *bench) fetch(name, start string) (string, error) {
	text, err := exec.Command("go", "mod", "download", "-json", goldmark).Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", goldmark, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(text, &module); err != nil {
		return "", err
	}
	tree := b.path(name)
	if err := os.CopyFS(tree, os.DirFS(module.Dir)); err != nil {
		return "", err
	}
	for file, text := range map[string]string{"main.go": program, "start.go": start} {
		if err := write(filepath.Join(tree, "cmd", "convert", file), text); err != nil {
			return "", err
		}
	}
	return tree, nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

var (
	injected = regexp.MustCompile(`if _corehourM\[(\d+)\]\.On\(\) \{ defer _corehourM\[\d+\]\.Begin\(\)\.End\(\) \}`)
	hunk     = regexp.MustCompile(`^@@ -(\d+) \+\d+ @@$`)
)

// byHand builds the program with the same probes as if they had been written.
func (b *bench) byHand(plain string) error {
	list, err := output(plain, b.corehour, "go", "--dry-run", "build", "./cmd/convert")
	if err != nil {
		return err
	}
	diff, err := output(plain, b.corehour, "go", "--diff", "build", "./cmd/convert")
	if err != nil {
		return err
	}
	tree, err := b.fetch("hand", startSDK)
	if err != nil {
		return err
	}
	if err := rewrite(plain, tree, diff); err != nil {
		return err
	}
	names := map[string][]string{}
	for l := range strings.Lines(list) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(l), ": probe"); ok {
			slash := strings.LastIndexByte(name, '/')
			path := name[:slash+strings.IndexByte(name[slash:], '.')]
			names[path] = append(names[path], name)
		}
	}
	for path, methods := range names {
		dir := filepath.Join(tree, strings.TrimPrefix(path, "github.com/yuin/goldmark"))
		text := fmt.Sprintf("package %s\n\nimport \"github.com/corehour/corehour/sdk\"\n\nvar corehourM = [...]*corehour.Method{\n", packageOf(path))
		for _, name := range methods {
			text += fmt.Sprintf("\tcorehour.NewMethod(%q),\n", name)
		}
		if err := write(filepath.Join(dir, "probes.go"), text+"}\n"); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"mod", "edit", "-go=1.25.0", "-require=github.com/corehour/corehour/sdk@v0.0.0", "-replace=github.com/corehour/corehour/sdk=" + b.sdk},
		{"build", "-mod=mod", "-o", b.path("hand.bin"), "./cmd/convert"},
	} {
		if _, err := output(tree, "go", args...); err != nil {
			return err
		}
	}
	return nil
}

func packageOf(path string) string {
	if strings.HasSuffix(path, "/cmd/convert") {
		return "main"
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// rewrite changes the lines that a diff changes, with probes as they are written by hand.
func rewrite(from, to, diff string) error {
	var path string
	var lines []string
	save := func() error {
		if path == "" {
			return nil
		}
		return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
	}
	at := 0
	for l := range strings.Lines(diff) {
		l = strings.TrimSuffix(l, "\n")
		if name, ok := strings.CutPrefix(l, "+++ "); ok {
			if err := save(); err != nil {
				return err
			}
			path = filepath.Join(to, strings.TrimPrefix(name, from))
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			lines = strings.Split(string(text), "\n")
		} else if m := hunk.FindStringSubmatch(l); m != nil {
			at, _ = strconv.Atoi(m[1])
		} else if strings.HasPrefix(l, "+") {
			l = strings.Replace(l[1:], " defer _corehourAtEnd();", "", 1)
			lines[at-1] = injected.ReplaceAllString(l, "defer corehourM[$1].Begin().End()")
		}
	}
	return save()
}

// warm returns the CPU time of building after a file has changed, plainly and with probes.
func (b *bench) warm(tree string) (plain, probed float64, err error) {
	file := filepath.Join(tree, "parser", "parser.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	var all, with []float64
	for i := range 3 {
		changed := append(text[:len(text):len(text)], fmt.Sprintf("\nvar changed%d = %d\n", i, time.Now().UnixNano())...)
		if err := os.WriteFile(file, changed, 0o644); err != nil {
			return 0, 0, err
		}
		a, err := timed(tree, "go", "build", "-o", b.path("plain.bin"), "./cmd/convert")
		if err != nil {
			return 0, 0, err
		}
		c, err := timed(tree, b.corehour, "go", "build", "-o", b.path("probed.bin"), "./cmd/convert")
		if err != nil {
			return 0, 0, err
		}
		all, with = append(all, a), append(with, c)
	}
	return median(all), median(with), os.WriteFile(file, text, 0o644)
}

// timed runs a command in a directory and returns the CPU time of it and what it starts.
func timed(dir, name string, args ...string) (float64, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(text), nil
}

// convert runs a program and returns how often it converted, in which time, and what it printed.
func (b *bench) convert(binary string, env []string) (n, ns float64, stderr string, err error) {
	cmd := exec.Command(b.path(binary), b.document)
	cmd.Env = append(os.Environ(), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return 0, 0, "", fmt.Errorf("%s: %w: %s", binary, err, errs.String())
	}
	if _, err := fmt.Sscan(string(text), &n, &ns); err != nil {
		return 0, 0, "", fmt.Errorf("%s printed %q: %w", binary, text, err)
	}
	return n, ns, errs.String(), nil
}

var counted = regexp.MustCompile(`(?m)^corehour counts .* calls=(\d+)$`)

// probesPerRun counts the calls of a conversion.
func (b *bench) probesPerRun() (float64, error) {
	n, _, stderr, err := b.convert("probed.bin", []string{"COREHOUR_SAMPLE=0.000001", "COREHOUR_EXPORT=stderr"})
	if err != nil {
		return 0, err
	}
	calls := 0.0
	for _, m := range counted.FindAllStringSubmatch(stderr, -1) {
		count, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, err
		}
		calls += count
	}
	if calls/n < 60 {
		return 0, fmt.Errorf("a conversion executed %.1f probes: at least 60 are wanted", calls/n)
	}
	return calls / n, nil
}
