// Command programs runs the tests of third-party programs from the module proxy, both unchanged and with a probe
// in every function that times each call. It compares which tests pass.
//
//	programs --corehour bin/corehour --programs esbuild,caddy
//
// It prints figures as JSON, for test/figures/show, and the name of each test with another outcome. Such a test
// runs twice more in both forms, to exclude tests that fail at random.
//
//	programs --corehour bin/corehour --load 2m
//
// lets caddy serve requests, and compares the CPU time that corehour estimates of its methods from one
// call in a hundred with the profile of the runtime.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/test/bench/results"
)

// programs have pinned versions, because the set of passing tests can change between versions.
var programs = map[string]struct {
	module   string
	patterns []string
}{
	"esbuild": {"github.com/evanw/esbuild@v0.28.2", []string{"./internal/...", "./pkg/..."}},
	"caddy":   {"github.com/caddyserver/caddy/v2@v2.11.9", []string{"./..."}},
}

func main() {
	corehour := flag.String("corehour", "bin/corehour", "the `command`")
	names := flag.String("programs", "esbuild,caddy", "`names` of the programs")
	load := flag.Duration("load", 0, "instead: how `long` caddy serves requests while the runtime profiles it")
	race := flag.String("race", "", "`pattern` of packages of the first program that are tested with the race detector, too")
	flag.Parse()
	if err := measure(os.Stdout, *corehour, strings.Split(*names, ","), *race, *load); err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

func measure(to io.Writer, corehour string, names []string, race string, load time.Duration) error {
	corehour, err := filepath.Abs(corehour)
	if err != nil {
		return err
	}
	var figures []results.Figure
	if load > 0 {
		err = underLoad(corehour, load, &figures)
	} else {
		err = compare(corehour, names, race, &figures)
	}
	if err != nil {
		return err
	}
	return results.Print(to, "programs", figures)
}

func underLoad(corehour string, length time.Duration, figures *[]results.Figure) error {
	dir, err := os.MkdirTemp("", "programs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := fetch(dir, programs["caddy"].module); err != nil {
		return err
	}
	return (&served{corehour: corehour, dir: dir, length: length}).compare(figures)
}

func compare(corehour string, names []string, race string, figures *[]results.Figure) error {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
	}))
	defer collector.Close()
	env := append(os.Environ(), "COREHOUR_SAMPLE=1", "COREHOUR_ENDPOINTS="+collector.URL, "COREHOUR_CPU=on")
	for i, name := range names {
		p, known := programs[name]
		if !known {
			return fmt.Errorf("--programs: want some of %s, found %q", strings.Join(slices.Sorted(maps.Keys(programs)), ", "), name)
		}
		dir, err := os.MkdirTemp("", "programs-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := fetch(dir, p.module); err != nil {
			return err
		}
		s := &suite{dir: dir, corehour: corehour, env: env, patterns: p.patterns}
		if err := s.compare(name, figures); err != nil {
			return err
		}
		if race != "" && i == 0 {
			s.flags, s.patterns = []string{"-race"}, []string{race}
			if err := s.compare(name+" "+race+", race detector", figures); err != nil {
				return err
			}
		}
	}
	return nil
}

// suite is the test suite of a program.
type suite struct {
	dir, corehour string
	env           []string
	flags         []string
	patterns      []string
}

func (s *suite) compare(name string, figures *[]results.Figure) error {
	fmt.Fprintf(os.Stderr, "%s: tests, plain\n", name)
	plain, err := s.outcomes(false, "", s.patterns...)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d tests; the same with probes\n", name, len(plain))
	probed, err := s.outcomes(true, "", s.patterns...)
	if err != nil {
		return err
	}
	different := 0
	all := maps.Clone(plain)
	maps.Copy(all, probed)
	for _, test := range slices.Sorted(maps.Keys(all)) {
		if plain[test] == probed[test] {
			continue
		}
		steady, err := s.steady(test)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: %s: %q plain, %q with probes; again: the same %t\n", name, test, plain[test], probed[test], !steady)
		if steady {
			different++
		}
	}
	passed := 0
	for _, outcome := range probed {
		if outcome == "pass" {
			passed++
		}
	}
	if passed == 0 {
		return fmt.Errorf("%s: no test passes", name)
	}
	*figures = append(*figures,
		results.Higher(name+": tests that pass with probes", float64(passed), "tests"),
		results.Lower(name+": tests with another outcome than plainly", float64(different), "tests", 0))
	return nil
}

// steady runs a test twice more in both forms and reports whether the outcomes differ both times.
func (s *suite) steady(test string) (bool, error) {
	path, name, _ := strings.Cut(test, " ")
	top, _, _ := strings.Cut(name, "/")
	for range 2 {
		plain, err := s.outcomes(false, "^"+regexp.QuoteMeta(top)+"$", path)
		if err != nil {
			return false, err
		}
		probed, err := s.outcomes(true, "^"+regexp.QuoteMeta(top)+"$", path)
		if err != nil {
			return false, err
		}
		if plain[test] == probed[test] {
			return false, nil
		}
	}
	return true, nil
}

// outcomes returns the outcome of each test: pass, fail or skip.
func (s *suite) outcomes(probes bool, only string, patterns ...string) (map[string]string, error) {
	command, args := "go", []string{"test"}
	if probes {
		command, args = s.corehour, []string{"go", "--quiet", "test"}
	}
	args = append(append(args, s.flags...), "-vet=off", "-count=1", "-json")
	if only != "" {
		args = append(args, "-run", only)
	}
	cmd := exec.Command(command, append(args, patterns...)...)
	cmd.Dir, cmd.Env = s.dir, os.Environ()
	if probes {
		cmd.Env = s.env
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output() // also returns an error if a test fails
	outcomes := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Action, Package, Test string }
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			outcomes[e.Package+" "+e.Test] = e.Action
		}
	}
	if len(outcomes) == 0 {
		return nil, fmt.Errorf("%s %s: no test ran: %w: %s", command, strings.Join(args, " "), err, stderr.Bytes())
	}
	return outcomes, lines.Err()
}

// fetch copies a module out of the module cache, because files there are read-only.
func fetch(to, module string) error {
	text, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return fmt.Errorf("go mod download %s: %w", module, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(m.Dir))
}
